// all_reduce_partials: every replica is a contribution; values to the bit in the documented order, every replica and
// rank alike.
#include "kernbench/partials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "distributed/algorithms/levels.h"
#include "distributed/algorithms/reduction.h"
#include "kernbench/kernbench.h"
#include "level_fold.h"
#include "ranks.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::partials {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr MeshExtent kCubes{2, 2}, kPes{4, 2};
constexpr int kPesOfSip = 32;

SimulateOptions machine(int sips) {
  SimulateOptions options = machine_of(sips);
  options.overrides.insert(options.overrides.end(), {"sip.cubes.mesh=[2, 2]", "cube.pes.mesh=[4, 2]"});
  return options;
}

/// The number of a PE in the machine, which decides its contribution.
std::int64_t number_of(std::int64_t sip, std::int64_t cube, std::int64_t pe) {
  return sip * kPesOfSip + cube * kPes.count() + pe;
}
std::int64_t whole_number(std::int64_t pe, std::int64_t element, std::int64_t period) {
  return (7 * pe + element) % period;
}

/// Each PE writes its own replica.
void contribute(tl::Tensor out, std::int64_t period, float scale) {
  for (std::size_t shard = 0; shard < out.local_shard_count(); ++shard) {
    const auto box = out.local_shard(shard);
    if (box.shape[0] == 0) continue;
    const std::int64_t first = 7 * number_of(tl::device_id(), tl::cube_id(), tl::pe_id()) + box.offset[0];
    const auto number = tl::arange(first, first + box.shape[0]) % period;
    tl::store(out, {box.offset[0]}, tl::cast(tl::cast(number, DType::f32) * scale, out.dtype()));
  }
}

struct Case {
  std::int64_t elements = 0;
  DPPolicy policy = {Placement::replicate, Placement::replicate};
  std::vector<int> levels = {8, 4};  // of a box
};

/// Whether the ranks go around backwards at this PE.
bool goes_backwards(const ShardSpec& pe) {
  return (pe.cube.value / kCubes.width * kPes.height + pe.pe.value / kPes.width) % 2 == 1;
}

/// The result of one element of a box.
float folded(const Case& what, int ranks, const std::vector<ShardSpec>& holders, std::int64_t element) {
  const std::int64_t at = element - holders.front().offset[0], length = holders.front().shape[0];
  const auto inside = chunks_of(what.levels, at, length);
  std::int64_t owner = 0;
  for (std::size_t level = what.levels.size(); level-- > 0;) owner = owner * what.levels[level] + inside[level];
  std::vector<int> levels = what.levels;
  levels.push_back(ranks);
  const auto places = std::ssize(holders);
  return fold_over_levels(levels, chunks_of(levels, at, length),
                          goes_backwards(holders[static_cast<std::size_t>(owner)]), [&](std::int64_t place) {
                            const ShardSpec& pe = holders[static_cast<std::size_t>(place % places)];
                            const std::int64_t number = number_of(place / places, pe.cube.value, pe.pe.value);
                            return static_cast<float>(whole_number(number, element, 97)) * 0.1F;
                          });
}

std::vector<float> expected(const Case& what, int ranks) {
  std::map<std::int64_t, std::vector<ShardSpec>> boxes;
  const std::vector<std::int64_t> shape{what.elements};
  for (const auto& shard : resolve_dp_policy(what.policy, shape, 4, kPes.count(), kCubes.count(), SipId{0}))
    boxes[shard.offset[0]].push_back(shard);
  std::vector<float> values(static_cast<std::size_t>(what.elements));
  for (const auto& [begin, holders] : boxes) {
    for (std::int64_t i = 0; i < holders.front().shape[0]; ++i)
      values[static_cast<std::size_t>(begin + i)] = folded(what, ranks, holders, begin + i);
  }
  return values;
}

void expect_exact(const std::vector<Case>& cases, int ranks, const SimulateOptions& options) {
  std::vector<std::vector<float>> wanted;
  for (const Case& each : cases) wanted.push_back(expected(each, ranks));
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& each = cases[i];
      const auto x = torch::empty({each.elements}, torch::dtype(torch::kFloat).device("ahbm").placement(each.policy));
      if (each.elements > 0) torch::launch("contribute", contribute, x, std::int64_t{97}, 0.1F);
      torch::ahbm::all_reduce_partials(x);
      const auto host = x.cpu();  // an error if replicas differ
      const std::vector<float> values(host.data_ptr<float>(), host.data_ptr<float>() + each.elements);
      EXPECT_EQ(values, wanted[i]) << each.elements << " elements, case " << i << ", rank " << rank << " of " << ranks;
    }
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(Partials, AllReplicasOfAllRanksAreAddedInTheDocumentedOrder) {
  const DPPolicy everywhere{Placement::replicate, Placement::replicate};
  std::vector<Case> cases;
  for (const std::int64_t elements : {0, 1, 7, 31, 1023, 4096}) cases.push_back({elements});
  for (const std::int64_t elements : {1, 7, 1023}) {
    cases.push_back({elements, {.cube = Placement::replicate, .pe = Placement::row_wise}, {4}});
    cases.push_back({elements, {.cube = Placement::row_wise, .pe = Placement::replicate}, {8}});
    cases.push_back({elements, {everywhere.cube, everywhere.pe, 3, 0}, {8, 3}});
    cases.push_back({elements, {everywhere.cube, everywhere.pe, 1, 3}, {3}});
    cases.push_back({elements, {everywhere.cube, everywhere.pe, 2, 6}, {6, 2}});
    cases.push_back({elements, {everywhere.cube, everywhere.pe, 1, 2}, {2}});
  }
  for (const int ranks : {1, 2, 3, 4, 5}) {
    if (kSanitized && ranks != 3) continue;
    std::vector<Case> taken;
    const std::size_t step = one_case_in(3, 5);
    for (std::size_t i = static_cast<std::size_t>(ranks) % step; i < cases.size(); i += step) taken.push_back(cases[i]);
    expect_exact(taken, ranks, machine(ranks));
  }
}

TEST(Partials, ManyRanksAndManyTiles) {
  const DPPolicy three{Placement::replicate, Placement::replicate, 3, 1};
  if (!kSanitized) expect_exact({{70'001}}, 2, machine(2));
  for (const int ranks : {8, 13, 16}) {
    if (!kSanitized || ranks == 8) expect_exact({{7, three, {3}}, {1023, three, {3}}}, ranks, machine(ranks));
  }
}

double combined(ReduceOp op, double a, double b) {
  const auto bits = [](double x) { return static_cast<std::int64_t>(x); };
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return std::fmin(a, b);
    case ReduceOp::MAX:
      return std::fmax(a, b);
    case ReduceOp::BAND:
      return static_cast<double>(bits(a) & bits(b));
    case ReduceOp::BOR:
      return static_cast<double>(bits(a) | bits(b));
    case ReduceOp::BXOR:
      return static_cast<double>(bits(a) ^ bits(b));
    default:
      return a + b;
  }
}

TEST(Partials, EveryTypeWithEveryReduction) {
  constexpr int kRanks = 2;
  constexpr std::int64_t kElements = 37;
  const DPPolicy policy{Placement::replicate, Placement::replicate, 2, 2};  // 8 contributions
  const auto outcome = run_ranks(machine(kRanks), kRanks, [&](int rank) {
    dist::init_process_group("ahbm", rank, kRanks);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8, DType::u8}) {
      for (auto op = ReduceOp::SUM; op < ReduceOp::PREMUL_SUM; op = static_cast<ReduceOp>(static_cast<int>(op) + 1)) {
        if (!distributed::can_reduce(op, dtype)) continue;
        const std::int64_t period = op == ReduceOp::PRODUCT ? 2 : 5;
        const float scale = op == ReduceOp::AVG && is_floating_point(dtype) ? 8 : 1;
        const auto x = torch::empty({kElements}, torch::dtype(dtype).device("ahbm").placement(policy));
        torch::launch("contribute", contribute, x, period, scale);
        torch::ahbm::all_reduce_partials(x, op);
        const auto host = x.cpu().to(torch::kDouble);
        for (std::int64_t i = 0; i < kElements; ++i) {
          double sum = 0;
          for (int at = 0; at < 8; ++at) {
            const std::int64_t pe = number_of(at / 4, at / 2 % 2, at % 2);
            const double value = scale * static_cast<double>(whole_number(pe, i, period));
            sum = at == 0 ? value : combined(op, sum, value);
          }
          if (op == ReduceOp::AVG) sum = is_floating_point(dtype) ? sum / 8 : std::trunc(sum / 8);
          ASSERT_EQ(host.data_ptr<double>()[i], sum) << name(dtype) << ", reduction " << static_cast<int>(op);
        }
      }
    }
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(""));
}

// What has one replica on each rank is reduced over the ranks, as are the tensors of ranks that are PEs.
TEST(Partials, OfOneReplicaTheyAreThoseOfTheRanks) {
  for (const int sips : {1, 2}) {
    const int ranks = sips == 1 ? 3 : 2;
    const auto outcome = run_ranks(machine(sips), ranks, [&](int rank) {
      dist::init_process_group("ahbm", rank, ranks);
      const auto x = torch::full({1000}, rank + 1.0).to("ahbm");
      const auto work = torch::ahbm::all_reduce_partials(x, ReduceOp::SUM, {}, true);
      work->wait();
      EXPECT_TRUE(torch::equal(x.cpu(), torch::full({1000}, ranks * (ranks + 1) / 2.0)));
    });
    EXPECT_THAT(outcome.errors, Each(""));
  }
}

TEST(Partials, InTheirOwnGroupAndTwoPlacementsByTurns) {
  const auto outcome = run_ranks(machine(4), 4, [&](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto even = dist::new_group({0, 2}), odd = dist::new_group({1, 3});
    const auto& mine = rank % 2 == 0 ? even : odd;
    for (int i = 0; i < 4; ++i) {
      const DPPolicy policy{Placement::replicate, Placement::replicate, i % 2 == 0 ? 0 : 3, 1};
      const auto x = torch::full({100}, rank + 1.0).to(torch::TensorOptions().device("ahbm").placement(policy));
      torch::ahbm::all_reduce_partials(x, ReduceOp::SUM, mine);
      const double sum = (rank % 2 == 0 ? 1 + 3 : 2 + 4) * (i % 2 == 0 ? 4.0 : 3.0);
      EXPECT_TRUE(torch::equal(x.cpu(), torch::full({100}, sum))) << "rank " << rank << ", call " << i;
    }
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(Partials, CallsThatDifferAreAnErrorOfAllRanks) {
  const auto outcome = run_ranks(machine(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    const auto x = torch::zeros(
        {64}, torch::dtype(torch::kFloat).device("ahbm").placement({Placement::replicate, Placement::replicate}));
    if (rank == 0)
      torch::ahbm::all_reduce_partials(x);
    else
      dist::all_reduce(x);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(outcome.errors, Each(HasSubstr("Op type: ALLREDUCE_PARTIALS vs ALLREDUCE")));
}

TEST(Partials, WhatCannotBeReducedIsRefused) {
  const auto outcome = run_ranks(machine(1), 1, [&](int rank) {
    dist::init_process_group("ahbm", rank, 1);
    torch::ahbm::all_reduce_partials(torch::zeros({4}, torch::dtype(torch::kBool).device("ahbm")), ReduceOp::AVG);
  });
  EXPECT_THAT(outcome.errors, ElementsAre(HasSubstr("all_reduce_partials: Cannot use ReduceOp.AVG")));
}

TEST(Levels, ArePesOfACubeCubesAndSipsWhereTheyAreEven) {
  const auto pes = [](int sips, const std::vector<int>& cubes, const std::vector<int>& each) {
    std::vector<PeCoordinate> all;
    for (int sip = 0; sip < sips; ++sip) {
      for (const int cube : cubes) {
        for (const int pe : each) all.push_back({SipId{sip}, CubeId{cube}, PeId{pe}});
      }
    }
    return all;
  };
  using distributed::levels_of;
  EXPECT_THAT(levels_of(pes(3, {0, 1, 4}, {0, 1, 2, 5})), ElementsAre(4, 3, 3));
  EXPECT_THAT(levels_of(pes(2, {3}, {5, 6})), ElementsAre(2, 2)) << "none of one";
  EXPECT_THAT(levels_of(pes(4, {3}, {5})), ElementsAre(4));
  EXPECT_THAT(levels_of(pes(1, {3}, {5})), ElementsAre(1));
  for (const std::size_t missing : {0, 1, 5, 8, 17}) {
    auto ragged = pes(2, {0, 1, 2}, {0, 1, 2});
    ragged.erase(ragged.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_TRUE(levels_of(ragged).empty()) << missing;
  }
  EXPECT_TRUE(levels_of(pes(1, {1, 0}, {0, 1})).empty()) << "not in their order";
  EXPECT_TRUE(levels_of(pes(1, {0, 0}, {0, 1})).empty()) << "twice";
}

}  // namespace
}  // namespace kernbench::testing::partials
