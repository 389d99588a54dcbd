// The order in which reductions fold: direct exchange as the ring, and the ring in both directions as documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/double_tree.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/sanitizers.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using Values = std::vector<float>;

constexpr int kRoot = 1;

/// PEs in several rows, of which every other one goes the other way.
SimulateOptions machine(int ranks) {
  SimulateOptions options = machine_of(ranks);
  options.overrides.insert(options.overrides.end(), {"sip.cubes.mesh=[2, 2]", "cube.pes.mesh=[2, 4]"});
  return options;
}

Values elements_of(int rank, std::int64_t elements) {
  std::mt19937 random(static_cast<std::uint32_t>(rank + 1));
  Values values(static_cast<std::size_t>(elements));
  for (float& value : values) value = std::normal_distribution<float>()(random);
  return values;
}

Values values_of(const torch::Tensor& tensor) {
  const auto host = tensor.cpu().to(torch::kFloat);
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}

using Reduction = std::function<torch::Tensor(const torch::Tensor& mine, int ranks)>;

/// What rank kRoot has in the end.
Values reduced(const std::string& algorithm, int ranks, std::int64_t elements, DType dtype,
               const Reduction& reduction) {
  Values result;
  const auto outcome = run_ranks(machine(ranks), ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    const auto mine = reduction(torch::tensor(elements_of(rank, elements)).to(dtype).to("ahbm"), ranks);
    if (rank == kRoot) result = values_of(mine);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each(""));
  return result;
}

torch::Tensor reduce(const torch::Tensor& mine, int /*ranks*/) {
  dist::reduce(mine, kRoot);
  return mine;
}
torch::Tensor reduce_scatter(const torch::Tensor& mine, int ranks) {
  const auto block = torch::empty({mine.numel() / ranks}, torch::dtype(mine.scalar_type()).device("ahbm"));
  dist::reduce_scatter_tensor(block, mine);
  return block;
}

/// ((x[kRoot + step] + x[kRoot + 2 step]) + …) + x[kRoot] of the elements of a range.
Values folded(int ranks, std::int64_t elements, int step, std::int64_t begin, std::int64_t count) {
  Values sum;
  for (int i = 1; i <= ranks; ++i) {
    const Values x = elements_of(((kRoot + i * step) % ranks + ranks) % ranks, elements);
    const Values part(x.begin() + begin, x.begin() + begin + count);
    if (sum.empty()) {
      sum = part;
      continue;
    }
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += part[at];
  }
  return sum;
}

TEST(FoldOrder, OfDirectExchangeIsThatOfTheRing) {
  for (const int ranks : {2, 3, 5, 8}) {
    if (kSanitized && ranks > 3) continue;
    for (const DType dtype : {DType::f32, DType::f16}) {
      if (kSanitized && (dtype == DType::f32) != (ranks == 2)) continue;
      for (const auto& reduction : {reduce, reduce_scatter}) {
        const std::int64_t elements = std::int64_t{9001} * ranks;
        const Values direct = reduced("direct", ranks, elements, dtype, reduction);
        const Values ring = reduced("ring", ranks, elements, dtype, reduction);
        ASSERT_EQ(direct.size(), ring.size());
        EXPECT_EQ(std::memcmp(direct.data(), ring.data(), ring.size() * sizeof(float)), 0) << ranks << " ranks";
      }
    }
  }
}

void expect_both_orders(const Values& result, const Values& forwards, const Values& backwards) {
  ASSERT_EQ(result.size(), forwards.size());
  std::size_t only_forwards = 0, only_backwards = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    ASSERT_TRUE(result[i] == forwards[i] || result[i] == backwards[i]) << "element " << i;
    if (result[i] != backwards[i]) ++only_forwards;
    if (result[i] != forwards[i]) ++only_backwards;
  }
  EXPECT_GT(only_forwards, 0u);
  EXPECT_GT(only_backwards, 0u);
}

TEST(FoldOrder, OfARingInBothDirectionsIsTheOppositeOneOnEveryOtherRow) {
  for (const int ranks : {4, 5}) {  // of three, both orders have the same sums
    if (kSanitized && ranks == 5) continue;
    const std::int64_t elements = std::int64_t{4096} * ranks, block = elements / ranks;
    constexpr DType dtype = DType::f32;
    const auto expected = [&](int step, std::int64_t begin, std::int64_t count) {
      return folded(ranks, elements, step, begin, count);
    };
    expect_both_orders(reduced("bidirectional_ring", ranks, elements, dtype, reduce), expected(1, 0, elements),
                       expected(-1, 0, elements));
    expect_both_orders(reduced("bidirectional_ring", ranks, elements, dtype, reduce_scatter),
                       expected(1, kRoot * block, block), expected(-1, kRoot * block, block));
    EXPECT_EQ(reduced("ring", ranks, elements, dtype, reduce), expected(1, 0, elements));
    EXPECT_EQ(reduced("ring", ranks, elements, dtype, reduce_scatter), expected(1, kRoot * block, block));
  }
}

torch::Tensor reduce_to_all(const torch::Tensor& mine, int /*ranks*/) {
  dist::all_reduce(mine);
  return mine;
}

/// ((x[order[c + 1]] + x[order[c + 2]]) + …) + x[order[c]] of one element.
float fold_around(const std::vector<int>& order, std::size_t c, const std::vector<Values>& x, std::size_t at) {
  float sum = x[static_cast<std::size_t>(order[(c + 1) % order.size()])][at];
  for (std::size_t i = 2; i <= order.size(); ++i) sum += x[static_cast<std::size_t>(order[(c + i) % order.size()])][at];
  return sum;
}

/// Of four ranks six orders, of 5 or 6 of the 32 PEs each; of five, four strides, of 8 PEs each; of six, two strides.
TEST(FoldOrder, OfSeveralRingsIsThatOfTheRingOfThePe) {
  const std::map<int, std::vector<std::vector<int>>> rings{
      {4, {{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 2, 3, 1}, {0, 1, 3, 2}, {0, 3, 1, 2}, {0, 2, 1, 3}}},
      {5, {{0, 1, 2, 3, 4}, {0, 4, 3, 2, 1}, {0, 2, 4, 1, 3}, {0, 3, 1, 4, 2}}},
      {6, {{0, 1, 2, 3, 4, 5}, {0, 5, 4, 3, 2, 1}}}};
  constexpr std::int64_t kEach = 64, kPes = 32;
  for (const auto& [ranks, orders] : rings) {
    const std::int64_t elements = kEach * kPes, chunk = (kEach + ranks - 1) / ranks;
    const Values sums = reduced("multi_ring_allreduce", ranks, elements, DType::f32, reduce_to_all);
    std::vector<Values> x;
    for (int rank = 0; rank < ranks; ++rank) x.push_back(elements_of(rank, elements));
    std::vector<int> pes(orders.size());  // whose elements all are folded around it
    for (std::int64_t pe = 0; pe < kPes; ++pe) {
      for (std::size_t ring = 0; ring < orders.size(); ++ring) {
        bool all = true;
        for (std::int64_t i = 0; i < kEach && all; ++i) {
          const auto at = static_cast<std::size_t>(pe * kEach + i), c = static_cast<std::size_t>(i / chunk);
          all = fold_around(orders[ring], c, x, at) == sums[at];
        }
        pes[ring] += all ? 1 : 0;
      }
    }
    if (ranks == 4) {
      EXPECT_THAT(pes, ::testing::ElementsAre(6, 6, 5, 5, 5, 5));
    } else {
      EXPECT_THAT(pes, ::testing::Each(kPes / std::ssize(orders))) << ranks;
    }
  }
}

TEST(FoldOrderOfARun, IsInTheResultOfEachLaunchThatFolds) {
  using distributed::CollectiveOperation;
  for (const auto& [entry, chosen] : {std::pair{"auto", "least cost"}, std::pair{"ring", "named"}}) {
    const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3, {.algorithm = entry});
      const auto x = torch::zeros({12}, torch::device("ahbm")), part = torch::zeros({4}, torch::device("ahbm"));
      dist::all_reduce(x);
      dist::reduce(x, 0);
      dist::reduce_scatter_tensor(part, x);
      dist::broadcast(x, 0);
      dist::all_gather_into_tensor(x, part);
    });
    EXPECT_THAT(outcome.errors, ::testing::Each(""));
    int folding = 0;
    for (const LaunchResult& launch : outcome.run.launches) {
      const auto* algorithm = distributed::shipped_algorithms()->named(launch.kernel);
      if (algorithm == nullptr) continue;  // of a fill
      ASSERT_EQ(launch.plan.has_value(), !algorithm->fold_order.empty()) << launch.name;
      if (!launch.plan) continue;
      ++folding;
      EXPECT_EQ(launch.plan->of, "collective");
      ASSERT_EQ(launch.plan->choices.size(), 2u);
      EXPECT_EQ(launch.plan->choices[0], std::pair(std::string("fold order"), std::string(algorithm->fold_order)));
      EXPECT_EQ(launch.plan->choices[1].second, chosen) << launch.name;
    }
    EXPECT_EQ(folding, 3 * 3);
  }
}

/// (x[r] + first child) + second child, of a range.
Values folded_below(distributed::TreePlace (*tree)(int, int), int ranks, int rank, std::int64_t elements,
                    std::int64_t begin, std::int64_t end) {
  const Values x = elements_of(rank, elements);
  Values sum(x.begin() + begin, x.begin() + end);
  for (const int child : tree(ranks, rank).children) {
    if (child < 0) continue;
    const Values below = folded_below(tree, ranks, child, elements, begin, end);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += below[i];
  }
  return sum;
}

int root_of(distributed::TreePlace (*tree)(int, int), int ranks) {
  int rank = 0;
  while (tree(ranks, rank).parent >= 0) rank = tree(ranks, rank).parent;
  return rank;
}

// Up to 2 KiB of a PE go over one tree.
TEST(FoldOrder, OfTreesIsThatOfTheRanksBelow) {
  const DPPolicy one_pe{.num_cubes = 1, .num_pes = 1};
  const auto all_reduce = [&](const torch::Tensor& mine, int /*ranks*/) {
    const auto placed = mine.cpu().to(torch::device("ahbm").placement(one_pe));
    dist::all_reduce(placed);
    return placed;
  };
  for (const int ranks : {2, 5, 8}) {
    for (const std::int64_t elements : {1, 511, 512, 513, 1400}) {
      const std::int64_t middle = elements <= 512 ? elements : (elements + 1) / 2;
      const auto first = distributed::first_tree, second = distributed::second_tree;
      Values expected = folded_below(first, ranks, root_of(first, ranks), elements, 0, middle);
      const Values rest = folded_below(second, ranks, root_of(second, ranks), elements, middle, elements);
      expected.insert(expected.end(), rest.begin(), rest.end());
      EXPECT_EQ(reduced("double_tree_allreduce", ranks, elements, DType::f32, all_reduce), expected)
          << ranks << " ranks, " << elements;
    }
  }
}

}  // namespace
}  // namespace kernbench::testing
