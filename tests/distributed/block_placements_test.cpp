// Collectives of blocks whose inputs and outputs lie differently, on two ranks that may differ, too: the right values
// or an error that says how they lie, never permuted values.
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

namespace kernbench::testing::block_placements_test {
namespace {

namespace dist = torch::distributed;
using ::testing::HasSubstr;
using torch::Tensor;

/// Of one rank: two blocks in and two out, each placed in its own way, and a tensor of two blocks in and out.
struct Blocks {
  int rank;
  std::array<Layout, 2> in, out;
  Tensor h;  // the values of a block are multiples of these

  Tensor input(int block, float factor) const { return in[static_cast<std::size_t>(block)].make(h * factor); }
  Tensor output(int block) const { return out[static_cast<std::size_t>(block)].make(h * -1.0f); }
  Tensor whole_input(float first, float second) const {
    return in[0].times(2).make(torch::cat({h * first, h * second}));
  }
  Tensor whole_output() const { return out[0].times(2).make(torch::cat({h * -1.0f, h * -1.0f})); }

  bool holds(const Tensor& tensor, float factor) const { return torch::equal(tensor.cpu(), h * factor); }
  bool holds(const Tensor& whole, float first, float second) const {
    return torch::equal(whole.cpu(), torch::cat({h * first, h * second}));
  }
};

struct BlockOperation {
  const char* name;
  std::function<bool(const Blocks& mine)> call;  // whether the values are right
};

// Block b of rank r is 2 r + b + 1 times h; where a rank gives one block, that is its block 0.
std::vector<BlockOperation> block_operations() {
  const auto factor = [](int rank, int block) { return static_cast<float>(2 * rank + block + 1); };
  const auto inputs = [=](const Blocks& mine) {
    return std::vector{mine.input(0, factor(mine.rank, 0)), mine.input(1, factor(mine.rank, 1))};
  };
  const auto whole = [=](const Blocks& mine) { return mine.whole_input(factor(mine.rank, 0), factor(mine.rank, 1)); };
  const auto outputs = [](const Blocks& mine) { return std::vector{mine.output(0), mine.output(1)}; };
  return {
      {"all_gather",
       [=](const Blocks& mine) {
         const auto out = outputs(mine);
         dist::all_gather(out, mine.input(0, factor(mine.rank, 0)));
         return mine.holds(out[0], 1) && mine.holds(out[1], 3);
       }},
      {"all_gather_into_tensor",
       [=](const Blocks& mine) {
         const auto out = mine.whole_output();
         dist::all_gather_into_tensor(out, mine.input(0, factor(mine.rank, 0)));
         return mine.holds(out, 1, 3);
       }},
      {"reduce_scatter",
       [=](const Blocks& mine) {
         const auto out = mine.output(0);
         dist::reduce_scatter(out, inputs(mine));
         return mine.holds(out, mine.rank == 0 ? 4 : 6);
       }},
      {"reduce_scatter_tensor",
       [=](const Blocks& mine) {
         const auto out = mine.output(0);
         dist::reduce_scatter_tensor(out, whole(mine));
         return mine.holds(out, mine.rank == 0 ? 4 : 6);
       }},
      {"gather",
       [=](const Blocks& mine) {
         const auto out = mine.rank == 1 ? outputs(mine) : std::vector<Tensor>();
         dist::gather(mine.input(0, factor(mine.rank, 0)), out, 1);
         return mine.rank == 0 || (mine.holds(out[0], 1) && mine.holds(out[1], 3));
       }},
      {"scatter",
       [=](const Blocks& mine) {
         const auto out = mine.output(0);
         dist::scatter(out, mine.rank == 1 ? inputs(mine) : std::vector<Tensor>(), 1);
         return mine.holds(out, mine.rank == 0 ? 3 : 4);
       }},
      {"all_to_all",
       [=](const Blocks& mine) {
         const auto out = outputs(mine);
         dist::all_to_all(out, inputs(mine));
         return mine.holds(out[0], factor(0, mine.rank)) && mine.holds(out[1], factor(1, mine.rank));
       }},
      {"all_to_all_single",
       [=](const Blocks& mine) {
         const auto out = mine.whole_output();
         dist::all_to_all_single(out, whole(mine));
         return mine.holds(out, factor(0, mine.rank), factor(1, mine.rank));
       }},
  };
}

struct BlockOutcome {
  std::string error;
  bool right = true;
};

BlockOutcome run(const std::array<Layouts, 2>& in, const std::array<Layouts, 2>& out, const BlockOperation& operation) {
  BlockOutcome outcome;
  const auto result = try_simulate(devices(2, {"sip.cubes.mesh=[2, 1]"}), [&] {
    mp::spawn(
        [&](int rank) {
          const auto place = static_cast<std::size_t>(rank);
          torch::ahbm::set_device(rank);
          dist::init_process_group();
          const Layout& like = in[0][place];
          const Blocks mine{rank,
                            {in[0][place], in[1][place]},
                            {out[0][place], out[1][place]},
                            (torch::arange(like.numel(), torch::kFloat) + 1.0f).reshape(like.shape)};
          if (!operation.call(mine)) outcome.right = false;
        },
        {}, {.nprocs = 2});
  });
  if (result.error) outcome.error = result.error->message;
  return outcome;
}

TEST(BlockPlacements, RandomPairsGiveRightValuesOrAnError) {
  constexpr std::uint64_t kSeed = 20260711;
  const int pairs = number_of_cases(300, 30, 12);
  RandomLayouts random(kSeed);
  int right = 0, refused = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const auto first = random.next();
    constexpr int kAgreeing = 2;  // of all four tensors that meet
    const std::array<Layouts, 2> in{random.next(first[0], kAgreeing), random.next(first[0], kAgreeing)};
    const std::array<Layouts, 2> out{random.next(first[0], kAgreeing), random.next(first[0], kAgreeing)};
    for (const auto& operation : block_operations()) {
      const auto outcome = run(in, out, operation);
      const std::string where = "seed " + std::to_string(kSeed) + ", pair " + std::to_string(pair) + ", " +
                                operation.name + ": " + outcome.error;
      if (outcome.error.empty()) {
        ++right;
        ASSERT_TRUE(outcome.right) << where;
      } else {
        ++refused;
        ASSERT_THAT(outcome.error, HasSubstr("Tensor placement: ")) << where;
      }
    }
  }
  EXPECT_GT(right, pairs);
  EXPECT_GT(refused, pairs);
}

}  // namespace
}  // namespace kernbench::testing::block_placements_test
