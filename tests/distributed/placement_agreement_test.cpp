// Tensors of one shape that lie differently on two ranks: an error that says how, never permuted values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "layouts.h"
#include "spawning.h"
#include "support/all_cases.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using ::testing::HasSubstr;

/// Four PEs in two cubes.
SimulateOptions machine() {
  return devices(2, {"sip.cubes.mesh=[2, 1]"});
}

using Operation = std::function<void(int rank, const torch::Tensor& x)>;

struct Outcome {
  std::string error;  // of the run
  std::array<bool, 2> right = {false, false};
};

/// Runs `operation` on two ranks that hold `h` and 2 h; `expected`: h times this must be in the tensor of each.
Outcome run(const SimulateOptions& options, const Layouts& layouts, const Operation& operation,
            std::array<float, 2> expected) {
  Outcome outcome;
  const auto result = try_simulate(options, [&] {
    mp::spawn(
        [&](int rank) {
          const auto place = static_cast<std::size_t>(rank);
          torch::ahbm::set_device(rank);
          dist::init_process_group();
          const auto h = torch::arange(layouts[place].numel(), torch::kFloat).reshape(layouts[place].shape);
          const auto x = layouts[place].make(h * static_cast<float>(rank + 1));
          operation(rank, x);
          outcome.right[place] = torch::equal(x.cpu(), h * expected[place]);
        },
        {}, {.nprocs = 2});
  });
  if (result.error) outcome.error = result.error->message;
  return outcome;
}

struct NamedOperation {
  const char* name;
  Operation call;
  std::array<float, 2> expected;
};

std::vector<NamedOperation> operations() {
  return {
      {"all_reduce", [](int, const torch::Tensor& x) { dist::all_reduce(x); }, {3, 3}},
      {"broadcast", [](int, const torch::Tensor& x) { dist::broadcast(x, 1); }, {2, 2}},
      {"reduce", [](int, const torch::Tensor& x) { dist::reduce(x, 0); }, {3, 2}},
      {"send and recv",
       [](int rank, const torch::Tensor& x) {
         if (rank == 0) dist::send(x, 1);
         if (rank == 1) dist::recv(x, 0);
       },
       {1, 1}},
  };
}

TEST(PlacementAgreement, ASquareByRowsDoesNotMeetASquareByColumns) {
  for (const char* topology : {"tiny", "ahbm-2sip"}) {
    for (const bool of_cubes : {false, true}) {
      SimulateOptions options = of_cubes ? SimulateOptions() : devices(2);
      options.topology = topology;
      if (std::string(topology) == "tiny") options.overrides = machine().overrides;
      const std::int64_t n = std::string(topology) == "tiny" ? 16 : 256;
      Layouts layouts{Layout{{n, n}}, Layout{{n, n}}};
      (of_cubes ? layouts[1].policy.cube : layouts[1].policy.pe) = Placement::column_wise;
      for (const auto& operation : operations()) {
        const auto outcome = run(options, layouts, operation.call, operation.expected);
        EXPECT_THAT(outcome.error, HasSubstr("Tensor placement: ")) << topology << ", " << operation.name;
      }
    }
  }
}

TEST(PlacementAgreement, TheErrorSaysBothPlacementsInTheWordsOfTheProgram) {
  Layouts layouts{Layout{{8, 8}}, Layout{{8, 8}, {.pe = Placement::column_wise}}};
  const auto error = [&] { return run(machine(), layouts, operations()[0].call, {3, 3}).error; };
  EXPECT_THAT(error(),
              HasSubstr("Tensor placement: balanced over 2 cubes, balanced over 2 PEs of each vs balanced over "
                        "2 cubes, column_wise over 2 PEs of each"));
  layouts[1].policy = {.cube = Placement::replicate, .num_pes = 1};
  EXPECT_THAT(error(), HasSubstr("vs replicate over 2 cubes, balanced over 1 PE of each"));
  layouts[1].policy = {.num_cubes = 1};
  EXPECT_THAT(error(), HasSubstr("vs balanced over 1 cube, balanced over 2 PEs of each"));
  layouts[1].policy = {.cube = Placement::interleaved, .pe = Placement::interleaved, .granule = Bytes(64)};
  EXPECT_THAT(error(), HasSubstr("vs interleaved over 2 cubes, interleaved over 2 PEs of each in granules of 64B"));
  layouts[1].policy = {.pe = Placement::interleaved};
  EXPECT_THAT(error(), HasSubstr("vs balanced over 2 cubes, interleaved over 2 PEs of each"));
  layouts[1] = {{8, 8}, {}, 3, 8};
  EXPECT_THAT(error(), HasSubstr("vs balanced over 2 cubes, balanced over 2 PEs of each (of a tensor of shape [16, 8], "
                                 "from element 24)"));
}

// The same elements in the same order, but by other granules, on other PEs, or in other slices.
TEST(PlacementAgreement, InterleavedTensorsMeetThoseThatAreInterleavedAlike) {
  const DPPolicy all{.cube = Placement::interleaved, .pe = Placement::interleaved, .granule = Bytes(64)};
  DPPolicy small = all, narrow = all;
  small.granule = Bytes(128);
  narrow.num_cubes = 1;
  for (const auto& operation : operations()) {
    const auto alike = run(machine(), {Layout{{6, 37}, all}, Layout{{6, 37}, all}}, operation.call, operation.expected);
    EXPECT_EQ(alike.error, "") << operation.name;
    EXPECT_TRUE(alike.right[0] && alike.right[1]) << operation.name;
    for (const DPPolicy& other : {small, narrow, DPPolicy{}, DPPolicy{.pe = Placement::interleaved}}) {
      const Layouts layouts{Layout{{6, 37}, all}, Layout{{6, 37}, other}};
      EXPECT_THAT(run(machine(), layouts, operation.call, operation.expected).error,
                  HasSubstr("Tensor placement: interleaved over 2 cubes, "))
          << operation.name;
    }
  }
}

TEST(PlacementAgreement, ReplicasMeetReplicasOnlyWhereTheOtherRankHasThemToo) {
  const DPPolicy replicated{.cube = Placement::replicate, .pe = Placement::replicate};
  const Layouts layouts{Layout{{6, 6}, replicated}, Layout{{6, 6}, replicated}};
  for (const auto& operation : operations()) {
    const auto outcome = run(machine(), layouts, operation.call, operation.expected);
    EXPECT_EQ(outcome.error, "") << operation.name;
    EXPECT_TRUE(outcome.right[0] && outcome.right[1]) << operation.name;
  }
}

TEST(PlacementAgreement, RandomPairsGiveRightValuesOrAnError) {
  constexpr std::uint64_t kSeed = 20260611;
  const int pairs = number_of_cases(400, 50, 15);
  RandomLayouts random(kSeed);
  int right = 0, refused = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const auto layouts = random.next();
    for (const auto& operation : operations()) {
      const auto outcome = run(machine(), layouts, operation.call, operation.expected);
      const std::string where = "seed " + std::to_string(kSeed) + ", pair " + std::to_string(pair) + ", " +
                                operation.name + ": " + outcome.error;
      if (outcome.error.empty()) {
        ++right;
        ASSERT_TRUE(outcome.right[0] && outcome.right[1]) << where;
      } else {
        ++refused;
        ASSERT_THAT(outcome.error, HasSubstr("Tensor placement: ")) << where;
      }
    }
  }
  EXPECT_GT(right, pairs / 2);
  EXPECT_GT(refused, pairs / 2);
}

}  // namespace
}  // namespace kernbench::testing
