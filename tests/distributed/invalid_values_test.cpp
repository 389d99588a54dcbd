// What made a value invalid is known on the other ranks too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "spawning.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::HasSubstr;

void in_two_ranks(const std::function<void(int rank)>& worker) {
  mp::spawn(
      [&](int rank) {
        torch::ahbm::set_device(rank);
        dist::init_process_group("ahbm", rank, 2);
        worker(rank);
      },
      {}, {.nprocs = 2});
}

void divide_by_zero(tl::Tensor t) {
  const auto ones = tl::load(t, {0}, {t.numel()});
  tl::store(t, {0}, tl::idiv(ones, ones - 1));
}
const std::string kDivision = "the integer division by 0 at invalid_values_test.cpp:" + std::to_string(__LINE__ - 2) +
                              " (kernel makes#1.0) made it";

/// Rank 1 has quotients by 0, and rank 0 reads what `exchange` gives it.
std::string error_of_exchange(const std::function<void(int rank, torch::Tensor x)>& exchange) {
  return error_of([&] {
    in_two_ranks([&](int rank) {
      const auto x = torch::ones({64}, one_pe(DType::i32).name("x"));
      if (rank == 1) torch::launch("makes", divide_by_zero, x);
      exchange(rank, x);
      if (rank == 0) x.cpu();
    });
  });
}

TEST(InvalidValuesOfRanks, ThroughAllReduce) {
  const auto all_reduce = [](int, torch::Tensor x) { dist::all_reduce(x); };
  EXPECT_THAT(error_of_exchange(all_reduce),
              HasSubstr("cpu read element [0] of tensor x, which is invalid: " + kDivision));
}

TEST(InvalidValuesOfRanks, ThroughSendAndReceive) {
  const auto send = [](int rank, torch::Tensor x) {
    if (rank == 1) return dist::send(x, 0);
    dist::recv(x, 1);
  };
  EXPECT_THAT(error_of_exchange(send), HasSubstr("cpu read element [0] of tensor x, which is invalid: " + kDivision));
}

// The kernel of a collective is not the user's: its call says more.
TEST(InvalidValuesOfRanks, MemoryThatNobodyHasWrittenIsNamedWithTheCallThatReadIt) {
  int line = 0;
  const std::string text = error_of([&] {
    in_two_ranks([&](int) {
      const auto x = torch::empty({64}, one_pe().name("x"));
      dist::all_reduce(x), line = __LINE__;
      x.cpu();
    });
  });
  EXPECT_THAT(text, HasSubstr(" at invalid_values_test.cpp:" + std::to_string(line) + " (kernel "));
  EXPECT_THAT(text, HasSubstr("read memory that nobody had written (element [0] of x); initialise it"));
}

}  // namespace
}  // namespace kernbench::testing
