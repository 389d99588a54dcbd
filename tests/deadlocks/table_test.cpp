// The table of programs that get stuck: each on a machine as it is shipped, and each with its cause in the first line.
#include "table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace kernbench::deadlocks_test {

std::function<void()> ranks(int count, std::function<void(int rank)> worker) {
  return [count, worker = std::move(worker)] {
    mp::spawn(
        [&](int rank) {
          if (count <= torch::accelerator::device_count()) torch::ahbm::set_device(rank);
          dist::init_process_group("ahbm", rank, count);
          worker(rank);
        },
        {}, {.nprocs = count});
  };
}

torch::Tensor small(std::int64_t elements) {
  return torch::ones({elements}, torch::dtype(DType::f32).device("ahbm").placement({.num_cubes = 1, .num_pes = 1}));
}

torch::Tensor spread(std::int64_t elements) {
  return torch::ones({elements}, torch::dtype(DType::f32).device("ahbm"));
}

void read(const torch::Tensor& tensor) {
  tensor.cpu();
}

/// For gtest.
static void PrintTo(const StuckProgram& stuck, std::ostream* out) {
  *out << stuck.name;
}

namespace {

constexpr std::size_t kMostLines = 40;  // of a text

RunResult run(const StuckProgram& stuck) {
  SimulateOptions options;
  options.topology = stuck.machine.topology;
  options.overrides = {"system.sips.count=" + std::to_string(stuck.machine.sips)};
  options.collectives = source_tree::path("collectives/ccl.yaml");
  options.threads = 1;
  return try_simulate(options, stuck.program);
}

/// Whether the parts of `pattern` between its ~ follow each other in `text`, from its beginning to its end.
bool matches(std::string_view text, std::string_view pattern) {
  const std::size_t first = std::min(pattern.find('~'), pattern.size());
  if (!text.starts_with(pattern.substr(0, first))) return false;
  text.remove_prefix(first);
  pattern.remove_prefix(first);
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::string_view part = pattern.substr(0, pattern.find('~'));
    pattern.remove_prefix(part.size());
    if (pattern.empty() && part.empty()) return true;
    const std::size_t at = pattern.empty() ? text.rfind(part) : text.find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
  }
  return text.empty();
}

class DeadlockTable : public ::testing::TestWithParam<StuckProgram> {};

TEST_P(DeadlockTable, HasItsCauseInTheFirstLine) {
  if (GetParam().name == "LaterAllReduceOf64") NOT_UNDER_SANITIZERS("64 ranks");
  const RunResult result = run(GetParam());
  ASSERT_TRUE(result.error) << "no error";
  EXPECT_EQ(result.error->type, "DeadlockError");
  const std::string& text = result.error->message;
  const std::string first_line = text.substr(0, text.find('\n'));
  EXPECT_TRUE(matches(first_line, "deadlock at ~: " + GetParam().first_line)) << text;
  EXPECT_LE(std::ranges::count(text, '\n') + 1, static_cast<std::ptrdiff_t>(kMostLines)) << text;
  EXPECT_FALSE(result.error->waits.empty());
}

class NotInTheDeadlockTable : public DeadlockTable {};

TEST_P(NotInTheDeadlockTable, Ends) {
  const RunResult result = run(GetParam());
  EXPECT_FALSE(result.error) << result.error->message;
}

std::string name_of(const ::testing::TestParamInfo<StuckProgram>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(MissingRanks, DeadlockTable, ::testing::ValuesIn(missing_ranks()), name_of);
INSTANTIATE_TEST_SUITE_P(CrossedRanks, DeadlockTable, ::testing::ValuesIn(crossed_ranks()), name_of);
INSTANTIATE_TEST_SUITE_P(Messages, DeadlockTable, ::testing::ValuesIn(messages_between_ranks()), name_of);
INSTANTIATE_TEST_SUITE_P(Messages, NotInTheDeadlockTable, ::testing::ValuesIn(messages_that_arrive()), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, DeadlockTable, ::testing::ValuesIn(stuck_kernels()), name_of);

TEST(DeadlockTableItself, HoldsPatternsToTheWholeLine) {
  EXPECT_TRUE(matches("cycle: rank 0 -> rank 1", "cycle: ~rank 1"));
  EXPECT_TRUE(matches("cycle: rank 0 -> rank 1", "~"));
  EXPECT_FALSE(matches("cycle: rank 0 -> rank 1", "cycle: ~rank 0"));
  EXPECT_FALSE(matches("cycle: rank 0 -> rank 1", "rank 0~"));
  EXPECT_FALSE(matches("cycle: rank 0 -> rank 1", "cycle: rank 0"));
}

}  // namespace
}  // namespace kernbench::deadlocks_test
