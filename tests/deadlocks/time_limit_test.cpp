// A run that ends at its limit of simulated time, because somebody goes on while others wait: the error says both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support.h"
#include "support/source_tree.h"

namespace kernbench::deadlocks_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;

/// The error of a run of 100 us on the shipped machine of two SIPs, with so many of them.
std::string limit_error(int sips, const std::function<void(int rank)>& program) {
  SimulateOptions options;
  options.topology = "ahbm-2sip";
  options.overrides = {"system.sips.count=" + std::to_string(sips)};
  options.max_time = Time::nanoseconds(100'000);
  const RunResult result = try_simulate(options, [&] {
    mp::spawn(
        [&](int rank) {
          torch::ahbm::set_device(rank);
          dist::init_process_group();
          program(rank);
        },
        {}, {.nprocs = sips});
  });
  return outcome(result);
}

torch::Tensor ones(std::int64_t count) {
  return torch::ones({count}, torch::dtype(torch::kFloat).device("ahbm"));
}

void compute_for_ever() {
  for (const auto x = ones(1);;) torch::add(x, x).cpu();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class TimeLimit : public ::testing::TestWithParam<int> {};

TEST_P(TimeLimit, ASenderThatHasEndedIsInTheFirstLine) {
  const std::string error = limit_error(GetParam() + 1, [](int rank) {
    if (rank == 2) compute_for_ever();
    if (rank > 0) return;
    dist::recv(ones(8), 1);
  });
  EXPECT_THAT(first_line(error), StartsWith("TimeLimitError: simulated time would pass the limit of 100 us"));
  EXPECT_THAT(first_line(error), HasSubstr("rank 1 has ended without calling send to rank 0"));
}

TEST_P(TimeLimit, WhoEndedWithoutItsCallIsInTheFirstLine) {
  const std::string error = limit_error(GetParam(), [](int rank) {
    const auto x = ones(8);
    dist::all_reduce(x);
    if (rank == 1) return;
    const auto work = dist::all_reduce(x, dist::ReduceOp::SUM, {}, true);
    if (rank == 0) compute_for_ever();
    x.cpu();
  });
  EXPECT_THAT(first_line(error), StartsWith("TimeLimitError: simulated time would pass the limit of 100 us"));
  EXPECT_THAT(first_line(error), HasSubstr("rank 1 has ended without"));
}

TEST_P(TimeLimit, NobodyWhoIsStillAtItIsSaidToBeMissing) {
  const std::string error = limit_error(GetParam(), [](int rank) {
    const auto x = ones(8);
    dist::all_reduce(x);
    if (rank == 1) compute_for_ever();
    dist::all_reduce(x);
    x.cpu();
  });
  EXPECT_THAT(error, Not(HasSubstr("nobody")));
  EXPECT_THAT(error, Not(HasSubstr("has ended")));
  EXPECT_THAT(error, HasSubstr("waits for rank 1"));
}

INSTANTIATE_TEST_SUITE_P(Sips, TimeLimit, ::testing::Values(2, 16));

}  // namespace
}  // namespace kernbench::deadlocks_test
