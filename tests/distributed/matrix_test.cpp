// Operation by algorithm, by number of ranks, elements, type, reduction, placement, form and memory of the queues:
// right in every bit, or refused with the reason that docs/collectives-refusals.md has. Every two values of every two
// of these come together (pairwise.h); with KERNBENCH_WHOLE_TABLE (make test-full) each algorithm and number of ranks
// runs all types with all placements and numbers of elements, and a million elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "distributed/algorithm_choice.h"
#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/argument_checks.h"
#include "every_algorithm.h"
#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "kernbench/partials.h"
#include "pairwise.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::matrix {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using distributed::CollectiveAlgorithm;
using distributed::CollectiveOperation;
using ::testing::Each;
using ::testing::HasSubstr;
using Values = std::function<double(std::int64_t)>;

const std::vector<int> kRanks{1, 2, 3, 4, 5, 8, 13, 16};
const std::vector<std::int64_t> kCounts{0, 1, 7, 1023, 4096};  // of a block, or of the tensor
const std::vector<DType> kTypes{DType::f32, DType::f16, DType::bf16,   DType::i32,    DType::i64,
                                DType::i8,  DType::u8,  DType::f8e4m3, DType::f8e5m2, DType::boolean};
const std::vector<ReduceOp> kReductions{ReduceOp::SUM, ReduceOp::AVG,  ReduceOp::PRODUCT, ReduceOp::MIN,
                                        ReduceOp::MAX, ReduceOp::BAND, ReduceOp::BOR,     ReduceOp::BXOR};
const std::vector<DPPolicy> kPlacements{
    {},
    {.cube = Placement::replicate, .pe = Placement::row_wise},
    {.cube = Placement::row_wise, .pe = Placement::replicate},
    {.num_cubes = 1, .num_pes = 1},
    {.cube = Placement::interleaved, .pe = Placement::interleaved},
    {.cube = Placement::replicate, .pe = Placement::interleaved, .granule = Bytes(64)},
    {.cube = Placement::replicate, .pe = Placement::replicate}};
const std::vector<std::string> kMemories{"tcm", "hbm", "sram"};

struct Cell {
  std::int64_t count = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::SUM;
  DPPolicy policy = {};
  bool in_place = false;
};

/// Element i of rank r: whole numbers so small that every reduction, in whatever order, is exact in every type. Of AVG
/// two ranks have the same power of two and the others 0: its share is rounded once.
double element(ReduceOp op, int ranks, int rank, std::int64_t i) {
  const std::int64_t k = 3 * rank + i;
  if (op == ReduceOp::PRODUCT) return static_cast<double>(rank < 4 ? k % 2 + 1 : 1);
  if (op == ReduceOp::AVG) {
    const bool counts = rank == i % ranks || rank == (i + 1) % ranks;
    return counts ? static_cast<double>(1 << i % 5) : 0;
  }
  return static_cast<double>(k % 5);
}

double folded(ReduceOp op, double a, double b) {
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

torch::Tensor host(std::int64_t elements, DType dtype, const Values& value) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(value(i));
  return torch::tensor(values, torch::dtype(torch::kDouble)).to(dtype);
}

/// One call of an operation on a rank, and whether it gave what it must.
class OneCall {
 public:
  OneCall(int rank, int ranks, const Cell& cell)
      : rank_(rank),
        ranks_(ranks),
        replicas_(runtime::current_context("test").simulation.topology().pes_per_sip()),
        cell_(cell),
        count_(cell.count) {}

  bool is_right(CollectiveOperation operation) const {
    const int root = ranks_ - 1;
    const auto nothing = [](std::int64_t) { return 0.0; };
    const auto own = [this](std::int64_t i) { return value(rank_, i); };
    const auto of_block = [this](std::int64_t i) { return value(static_cast<int>(i / count_), i % count_); };
    switch (operation) {
      case CollectiveOperation::all_reduce: {
        const auto x = device(count_, own);
        dist::all_reduce(x, cell_.op);
        return has(x, [&](std::int64_t i) { return result(i); });
      }
      case CollectiveOperation::broadcast: {
        const auto x = device(count_, own);
        dist::broadcast(x, root);
        return has(x, [&](std::int64_t i) { return value(root, i); });
      }
      case CollectiveOperation::barrier:
        dist::barrier();
        return true;
      case CollectiveOperation::reduce: {
        const auto x = device(count_, own);
        dist::reduce(x, root, cell_.op);
        return has(x, [&](std::int64_t i) { return rank_ == root ? result(i) : value(rank_, i); });
      }
      case CollectiveOperation::reduce_scatter: {
        const auto whole = device(ranks_ * count_, own);
        const auto block = cell_.in_place ? block_of(whole, rank_) : device(count_, nothing);
        dist::reduce_scatter_tensor(block, whole, cell_.op);
        return has(block, [&](std::int64_t i) { return result(rank_ * count_ + i); });
      }
      case CollectiveOperation::all_gather: {
        const auto out = device(ranks_ * count_, nothing);
        const auto x = block_in(out, own);
        dist::all_gather_into_tensor(out, x);
        return has(out, of_block);
      }
      case CollectiveOperation::gather: {
        const auto out = device(ranks_ * count_, nothing);
        const auto x = rank_ == root ? block_in(out, own) : device(count_, own);
        dist::gather(x, rank_ == root ? blocks(out) : std::vector<torch::Tensor>{}, root);
        return rank_ != root || has(out, of_block);
      }
      case CollectiveOperation::scatter: {
        const auto whole = device(ranks_ * count_, own);
        const auto block = cell_.in_place && rank_ == root ? block_of(whole, rank_) : device(count_, nothing);
        dist::scatter(block, rank_ == root ? blocks(whole) : std::vector<torch::Tensor>{}, root);
        return has(block, [&](std::int64_t i) { return value(root, rank_ * count_ + i); });
      }
      case CollectiveOperation::all_to_all: {
        const auto whole = device(ranks_ * count_, own);
        const auto out = cell_.in_place ? whole : device(ranks_ * count_, nothing);
        dist::all_to_all_single(out, whole);
        return has(out,
                   [&](std::int64_t i) { return value(static_cast<int>(i / count_), rank_ * count_ + i % count_); });
      }
      case CollectiveOperation::all_reduce_partials:
        return partials_are_right();
    }
    return false;
  }

 private:
  /// A replica with the rank's elements on each PE of the SIP.
  bool partials_are_right() const {
    const auto y = host(count_, cell_.dtype, [this](std::int64_t i) {
                     return value(rank_, i);
                   }).to(torch::TensorOptions().device("ahbm").placement(kPlacements.back()));
    torch::ahbm::all_reduce_partials(y, cell_.op);
    return torch::equal(y.cpu(), host(count_, cell_.dtype, [&](std::int64_t i) { return of_replicas(i); }));
  }
  double of_replicas(std::int64_t i) const {
    double all = 0;
    bool first = true;
    for (int rank = 0; rank < ranks_; ++rank) {
      for (std::int64_t replica = 0; replica < replicas_; ++replica) {
        all = first ? value(rank, i) : folded(cell_.op, all, value(rank, i));
        first = false;
      }
    }
    return cell_.op == ReduceOp::AVG ? all / static_cast<double>(replicas_ * ranks_) : all;
  }
  double value(int rank, std::int64_t i) const {
    const double whole = element(cell_.op, ranks_, rank, i);
    return cell_.dtype == DType::boolean ? (whole != 0 ? 1 : 0) : whole;
  }
  double result(std::int64_t i) const {
    double all = value(0, i);
    for (int rank = 1; rank < ranks_; ++rank) all = folded(cell_.op, all, value(rank, i));
    return cell_.op == ReduceOp::AVG ? all / ranks_ : all;
  }
  torch::Tensor device(std::int64_t elements, const Values& value) const {
    return host(elements, cell_.dtype, value).to(torch::TensorOptions().device("ahbm").placement(cell_.policy));
  }
  torch::Tensor block_of(const torch::Tensor& all, int rank) const { return all.narrow(0, rank * count_, count_); }
  /// The rank's block of a tensor, filled; out of place a tensor of its own.
  torch::Tensor block_in(const torch::Tensor& all, const Values& value) const {
    if (!cell_.in_place) return device(count_, value);
    auto block = block_of(all, rank_);
    block.copy_(host(count_, cell_.dtype, value));
    return block;
  }
  std::vector<torch::Tensor> blocks(const torch::Tensor& all) const {
    std::vector<torch::Tensor> list;
    for (int rank = 0; rank < ranks_; ++rank) list.push_back(block_of(all, rank));
    return list;
  }
  bool has(const torch::Tensor& found, const Values& value) const {
    return torch::equal(found.cpu(), host(found.numel(), cell_.dtype, value));
  }

  int rank_, ranks_;
  std::int64_t replicas_;  // of a tensor that is on all PEs
  const Cell& cell_;
  std::int64_t count_;
};

/// Why a call is refused; empty: it is right.
std::string refusal_of_call(CollectiveOperation operation, const Cell& cell) {
  if (operation == CollectiveOperation::all_to_all && cell.in_place && cell.count > 0)
    return "output and input share elements";
  if (!distributed::reduces(operation) || distributed::can_reduce(cell.op, cell.dtype)) return {};
  try {
    distributed::check_reduction("", cell.op, cell.dtype);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no reason";
}

/// Whether the root's block of its list lies where the other ranks' tensors do, as gather and scatter need.
bool is_placed_alike(const DPPolicy& policy) {
  return policy == kPlacements[3] || policy == kPlacements.back();
}

/// The cell for an operation: a root that cannot work in place does not; GatherAndScatter.* holds it to that.
Cell cell_for(CollectiveOperation operation, Cell cell) {
  const bool of_root = operation == CollectiveOperation::gather || operation == CollectiveOperation::scatter;
  if (of_root && !is_placed_alike(cell.policy)) cell.in_place = false;
  return cell;
}

std::string text_of(const Cell& cell) {
  return std::to_string(cell.count) + " of " + std::string(name(cell.dtype)) + ", reduction " +
         std::to_string(static_cast<int>(cell.op)) + (cell.in_place ? ", in place" : "");
}

void expect_right_or_refused(const CollectiveAlgorithm& algorithm, int rank, int ranks, const Cell& cell) {
  const std::string refusal = refusal_of_call(algorithm.operation, cell);
  std::string error;
  bool right = false;
  try {
    right = OneCall(rank, ranks, cell).is_right(algorithm.operation);
  } catch (const ValueError& thrown) {
    error = thrown.what();
  }
  if (refusal.empty()) {
    EXPECT_EQ(error, "") << text_of(cell);
    EXPECT_TRUE(right) << text_of(cell) << ", rank " << rank;
  } else {
    EXPECT_THAT(error, HasSubstr(refusal)) << text_of(cell);
  }
}

/// Runs an algorithm on so many ranks: each cell right, or refused as it says; or the group, with its reason.
void run_cells(const CollectiveAlgorithm& algorithm, int ranks, const std::string& memory,
               const std::vector<Cell>& cells, const std::string& topology = "tiny") {
  SCOPED_TRACE(std::string(algorithm.name) + " on " + std::to_string(ranks) + " of " + topology + ", queues in " +
               memory);
  std::string reason;
  auto options = machine_with(algorithm, ranks, "buffer_kind: " + memory);
  options.topology = topology;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    if (rank == 0 && ranks > 1) {
      auto& context = runtime::current_context("test");
      reason = algorithm.refusal({ranks, false, distributed::algorithm_of(context, {}), context.simulation.topology()});
    }
    dist::init_process_group("ahbm", rank, ranks);
    for (const Cell& cell : cells) {
      expect_right_or_refused(algorithm, rank, ranks, cell_for(algorithm.operation, cell));
    }
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(reason.empty() ? ::testing::Matcher<std::string>("") : HasSubstr(reason)));
}

TEST(Pairwise, EveryTwoValuesComeTogetherInAboutAsFewRowsAsTheyCan) {
  const std::vector<std::size_t> sizes{7, 5, 2, 4, 3};
  const auto rows = pairwise_cover(sizes);
  EXPECT_LE(rows.size(), 45U) << "the two largest have 35 pairs";
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) {
      std::set<std::pair<std::size_t, std::size_t>> pairs;
      for (const auto& row : rows) pairs.insert({row[a], row[b]});
      EXPECT_EQ(pairs.size(), sizes[a] * sizes[b]);
    }
  }
}

TEST(GatherAndScatter, RefuseARootInPlaceWhoseBlockIsPlacedOtherwiseThanTheOthersTensors) {
  for (const auto operation : {CollectiveOperation::gather, CollectiveOperation::scatter}) {
    const auto algorithm = algorithms_of(operation).front();
    const auto outcome = run_ranks(machine_with(algorithm, 3), 3, [&](int rank) {
      dist::init_process_group("ahbm", rank, 3);
      const Cell cell{1, DType::f32, ReduceOp::SUM, kPlacements[1], true};
      (void)OneCall(rank, 3, cell).is_right(operation);
      torch::ahbm::synchronize();
    });
    EXPECT_THAT(outcome.errors, Each(HasSubstr("Tensor placement: ")));
  }
}

TEST(CollectivesMatrix, IsRightOrRefusedInEveryPairOfItsProperties) {
  const auto algorithms = distributed::collective_algorithms();
  const auto rows = pairwise_cover({algorithms.size(), kRanks.size(), kCounts.size(), kTypes.size(), kReductions.size(),
                                    kPlacements.size(), 2, kMemories.size()});
  using Group = std::array<std::size_t, 3>;  // algorithm, ranks, memory
  std::map<Group, std::vector<Cell>> groups;
  for (const Combination& row : rows) {
    groups[{row[0], row[1], row[7]}].push_back(
        {kCounts[row[2]], kTypes[row[3]], kReductions[row[4]], kPlacements[row[5]], row[6] == 1});
  }
  std::size_t turn = 0;
  for (const auto& [group, cells] : groups) {
    if (kSanitized && ++turn % 10 != 0) continue;
    run_cells(algorithms[group[0]], kRanks[group[1]], kMemories[group[2]], cells);
  }
}

/// Of a machine with 128 PEs in a SIP, of which few elements are on a part: each algorithm with the rows of a cover in
/// turn, and a few of these where the whole table is not asked for.
TEST(CollectivesMatrix, IsRightOrRefusedOnAShippedMachine) {
  const auto algorithms = distributed::collective_algorithms();
  const std::vector<std::int64_t> counts{1, 7, 1023};
  const auto rows =
      pairwise_cover({counts.size(), kTypes.size(), kReductions.size(), kPlacements.size(), 2, kMemories.size()});
  const std::size_t step = kSanitized ? 60 : takes_all_cases() ? 1 : 3;
  for (std::size_t turn = 0; turn < std::max(rows.size(), algorithms.size()); turn += step) {
    const Combination& row = rows[turn % rows.size()];
    const CollectiveAlgorithm& algorithm = algorithms[turn / step % algorithms.size()];
    Cell cell{counts[row[0]], kTypes[row[1]], kReductions[row[2]], kPlacements[row[3]], row[4] == 1};
    // What 256 replicas add up to is exact in wide types.
    if (algorithm.operation == CollectiveOperation::all_reduce_partials) cell = {cell.count, DType::f32};
    run_cells(algorithm, turn % 2 == 0 ? 2 : 3, kMemories[row[5]], {cell}, "ahbm-2sip");
  }
}

TEST(CollectivesMatrix, IsRightOrRefusedInEveryTypeOnEveryPlacementAndNumberOfElements) {
  if (!takes_all_cases()) GTEST_SKIP() << "minutes: make test-full";
  std::size_t turn = 0;
  for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
    for (const int ranks : kRanks) {
      std::vector<Cell> cells;
      for (const DType dtype : kTypes) {
        for (const DPPolicy& policy : kPlacements) {
          for (const std::int64_t count : kCounts) {
            ++turn;
            cells.push_back({count, dtype, kReductions[turn % kReductions.size()], policy, turn % 2 == 1});
          }
        }
      }
      run_cells(algorithm, ranks, kMemories[turn++ % kMemories.size()], cells);
    }
  }
}

/// One type of each width.
TEST(CollectivesMatrix, IsRightForAMillionElements) {
  if (!takes_all_cases()) GTEST_SKIP() << "minutes: make test-full";
  constexpr std::int64_t kMillion = 1'000'000;
  for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
    const bool blocks = algorithm.operation >= CollectiveOperation::reduce_scatter &&
                        algorithm.operation != CollectiveOperation::reduce &&
                        algorithm.operation != CollectiveOperation::all_reduce_partials;
    for (const int ranks : {3, 8, 16}) {
      const std::int64_t count = blocks ? kMillion / ranks + 1 : kMillion;
      std::vector<Cell> cells;
      for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::i64}) cells.push_back({count, dtype});
      run_cells(algorithm, ranks, "tcm", cells);
    }
  }
}

}  // namespace
}  // namespace kernbench::testing::matrix
