// Programs of several ranks show here what they show on PyTorch's gloo backend; where that never ends, an error names
// the culprit. And the order in which ranks start changes nothing about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "answers.h"
#include "distributed/ranks/spawn.h"
#include "programs.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace kernbench::testing::gloo {

static void PrintTo(const Program& program, std::ostream* out) {  // NOLINT(readability-identifier-naming): gtest's
  *out << program.name;
}

namespace {

using ::testing::HasSubstr;

/// All that a program leaves behind.
struct Outcome {
  std::string shown;  // "0: Float 3: 1 2 3\n", by rank
  std::string error;  // "" or "Type: message"
  Time end;
  std::uint64_t events = 0, times = 0, values = 0;
  std::vector<std::string> traffic;  // busy resources with their bytes
  bool operator==(const Outcome&) const = default;
};

/// What a rank is.
enum class RanksAre : std::uint8_t { sips, pes };

Outcome run_program(const Program& program, int world, RanksAre ranks_are, const std::vector<int>& order = {}) {
  SimulateOptions options;
  options.topology = "tiny";
  if (ranks_are == RanksAre::sips) {
    options.overrides = {"system.sips.count=" + std::to_string(world)};
  } else {
    options.overrides = {"sip.cubes.mesh=[2, 1]", "cube.pes.mesh=[2, 2]"};
  }
  options.collectives = source_tree::path("collectives/ccl.yaml");
  options.print = [](std::string_view) {};
  std::vector<std::vector<std::string>> shown(static_cast<std::size_t>(world));
  const auto worker = [&](int number) {
    if (ranks_are == RanksAre::sips) torch::accelerator::set_device_index(number);
    Rank me(number, world);
    if (program.in_a_world) dist::init_process_group();
    program.run(me);
    shown[static_cast<std::size_t>(number)] = me.lines();
  };
  const auto result = try_simulate(options, [&] {
    const auto ranks = distributed::Spawn::start(worker, {.nprocs = world}, order);
    while (!ranks->join(std::nullopt)) {
    }
  });
  Outcome outcome{{}, {}, result.simulated_time, result.events, result.times_fingerprint, result.values_fingerprint,
                  {}};
  if (result.error) outcome.error = result.error->type + ": " + result.error->message;
  for (std::size_t rank = 0; rank < shown.size(); ++rank) {
    for (const auto& line : shown[rank]) outcome.shown += std::to_string(rank) + ": " + line + "\n";
  }
  for (const auto& resource : result.resources) {
    outcome.traffic.push_back(resource.name + " " + std::to_string(resource.bytes.count()) + " " +
                              std::to_string(resource.busy.count()));
  }
  return outcome;
}

class OnGloo : public ::testing::TestWithParam<Program> {};

TEST_P(OnGloo, IsTheSameHere) {
  const Program& program = GetParam();
  const Answers& theirs = answers();
  if (!theirs.absent.empty()) {
    GTEST_SKIP() << "PyTorch is not installed (Debian: python3-torch), so nothing was compared: " << theirs.absent;
  }
  int compared = 0;
  for (const auto& [key, expected] : theirs.by_name) {
    if (key.first != program.name) continue;
    SCOPED_TRACE(key.second);
    ++compared;
    for (const RanksAre ranks_are : {RanksAre::sips, RanksAre::pes}) {
      if (kSanitized && (compared % 2 == 0) != (ranks_are == RanksAre::sips)) continue;
      SCOPED_TRACE(ranks_are == RanksAre::sips ? "a SIP each" : "a PE each");
      const Outcome outcome = run_program(program, key.second, ranks_are);
      if (program.error.empty()) {
        EXPECT_EQ(outcome.error, "");
        EXPECT_EQ(outcome.shown, expected);
        continue;
      }
      EXPECT_TRUE(expected == "hangs\n" || expected.find("throws") != std::string::npos) << expected;
      for (const auto& text : program.error) EXPECT_THAT(outcome.error, HasSubstr(text));
    }
  }
  EXPECT_GT(compared, 0) << "there is no such program in Python";
}

INSTANTIATE_TEST_SUITE_P(Programs, OnGloo, ::testing::ValuesIn(programs()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(OnGlooToo, EveryProgramOfOneSideIsOnTheOther) {
  const Answers& theirs = answers();
  if (!theirs.absent.empty()) GTEST_SKIP() << "PyTorch is not installed (Debian: python3-torch): " << theirs.absent;
  std::set<std::string> python, here;
  for (const auto& answer : theirs.by_name) python.insert(answer.first.first);
  for (const auto& program : programs()) here.insert(program.name);
  EXPECT_EQ(here, python);
  EXPECT_GE(here.size(), 100u);
}

struct Ordered {
  const char* program;
  int world;
  RanksAre ranks_are = RanksAre::sips;
};

class InAnyOrder : public ::testing::TestWithParam<Ordered> {};

/// All orders of up to four ranks, 24 random ones of more; six under sanitizers.
std::vector<std::vector<int>> orders_of(int world) {
  std::vector<int> order(static_cast<std::size_t>(world));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  std::mt19937 random(5);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same orders in every run
  while (orders.size() < (kSanitized ? 2 : 24)) {
    if (world > 4) {
      std::ranges::shuffle(order, random);
    } else if (!std::ranges::next_permutation(order).found) {
      break;
    }
    orders.push_back(order);
  }
  return orders;
}

TEST_P(InAnyOrder, RanksStartWithoutAnyChange) {
  const auto& [name, world, ranks_are] = GetParam();
  const auto all = programs();
  const auto program =
      std::ranges::find_if(all, [wanted = name](const Program& each) { return wanted == std::string(each.name); });
  ASSERT_NE(program, all.end());
  const Outcome expected = run_program(*program, world, ranks_are);
  EXPECT_EQ(expected.error.empty(), program->error.empty()) << expected.error;
  for (const auto& order : orders_of(world)) {
    const Outcome outcome = run_program(*program, world, ranks_are, order);
    EXPECT_EQ(outcome.shown, expected.shown);
    EXPECT_EQ(outcome.error, expected.error);
    EXPECT_EQ(outcome.end, expected.end);
    EXPECT_EQ(outcome.events, expected.events);
    EXPECT_EQ(outcome.times, expected.times);
    EXPECT_EQ(outcome.values, expected.values);
    EXPECT_EQ(outcome.traffic, expected.traffic);
    ASSERT_FALSE(HasFailure()) << "order " << ::testing::PrintToString(order);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, InAnyOrder,
    ::testing::Values(
        Ordered{"all_reduce_sum", 5}, Ordered{"all_reduce_of_prime_sizes", 3}, Ordered{"broadcast_from_every_root", 4},
        Ordered{"works_of_all_kinds", 4}, Ordered{"works_in_an_order_of_each_rank", 5},
        Ordered{"a_long_mixed_sequence", 4}, Ordered{"overlapping_groups", 5}, Ordered{"rows_and_columns", 8},
        Ordered{"many_groups", 5}, Ordered{"works_of_two_groups", 4}, Ordered{"ring_of_isend_and_irecv", 8},
        Ordered{"everybody_to_everybody", 4}, Ordered{"pipeline", 5}, Ordered{"recv_from_anybody_of_all", 4},
        Ordered{"messages_beside_collectives", 3}, Ordered{"init_again_after_destroy", 3},
        Ordered{"monitored_barrier_without_two_ranks", 4}, Ordered{"groups_in_a_circle", 3},
        Ordered{"a_rank_that_throws", 2}, Ordered{"a_mixed_sequence_of_blocks", 3},
        Ordered{"all_to_all_of_rows_by_sizes", 5}, Ordered{"gather_at_every_root", 5},
        Ordered{"blocks_in_a_group", 4, RanksAre::pes}, Ordered{"all_reduce_sum", 5, RanksAre::pes},
        Ordered{"works_of_all_kinds", 4, RanksAre::pes}, Ordered{"works_of_two_groups", 4, RanksAre::pes},
        Ordered{"ring_of_isend_and_irecv", 8, RanksAre::pes}, Ordered{"messages_beside_collectives", 3, RanksAre::pes},
        Ordered{"overlapping_groups", 5, RanksAre::pes}),
    [](const auto& test) {
      return std::string(test.param.program) + (test.param.ranks_are == RanksAre::pes ? "_of_pes" : "");
    });

}  // namespace
}  // namespace kernbench::testing::gloo
