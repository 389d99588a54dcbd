// What collectives do on which groups, types and placements: right, or refused with the reason. The refusals are a
// page, docs/collectives-refusals.md; runs hold it to what happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
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
#include "ranks.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using distributed::CollectiveAlgorithm;
using distributed::CollectiveOperation;
using ::testing::Each;
using ::testing::HasSubstr;

const std::vector<int> kRanks{1, 2, 3, 4, 5, 8, 13, 16};
const std::vector<DType> kTypes{DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8, DType::u8};
const std::vector<DPPolicy> kPlacements{{},
                                        {.cube = Placement::replicate, .pe = Placement::row_wise},
                                        {.cube = Placement::row_wise, .pe = Placement::replicate},
                                        {.num_cubes = 1, .num_pes = 1},
                                        {.cube = Placement::replicate, .pe = Placement::replicate}};

// ---- the page

/// Why algorithms cannot run on groups of the shipped machine: by algorithm, kind of rank and reason, the numbers of
/// ranks.
std::string group_rows() {
  using Reasons = std::map<std::string, std::string>;  // by reason
  std::string rows;
  std::map<std::string_view, std::array<Reasons, 2>> refusals;
  for (const int ranks : kRanks) {
    if (ranks == 1) continue;
    SimulateOptions options = machine_of(ranks);
    options.topology = "ahbm-2sip";
    options.data = false;
    const RunResult result = try_simulate(options, [&] {
      auto& context = runtime::current_context("test");
      const auto spec = distributed::algorithm_of(context, {});
      for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
        for (const bool pes : {false, true}) {
          const std::string reason = algorithm.refusal({ranks, pes, spec, context.simulation.topology()});
          if (reason.empty()) continue;
          std::string& numbers = refusals[algorithm.name][pes ? 1 : 0][reason];
          numbers += (numbers.empty() ? "" : ", ") + std::to_string(ranks);
        }
      }
    });
    EXPECT_EQ(result.status, RunStatus::ok);
  }
  for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
    for (const bool pes : {false, true}) {
      for (const auto& [reason, numbers] : refusals[algorithm.name][pes ? 1 : 0]) {
        rows += "| `" + std::string(algorithm.name) + "` | " + numbers + " | " + (pes ? "a PE" : "a SIP") + " | " +
                reason + " |\n";
      }
    }
  }
  return rows;
}

/// Why types cannot be reduced: by reduction and reason, the types.
std::string type_rows() {
  const std::vector<std::pair<ReduceOp, const char*>> reductions{
      {ReduceOp::SUM, "SUM"}, {ReduceOp::AVG, "AVG"},   {ReduceOp::PRODUCT, "PRODUCT"}, {ReduceOp::MIN, "MIN"},
      {ReduceOp::MAX, "MAX"}, {ReduceOp::BAND, "BAND"}, {ReduceOp::BOR, "BOR"},         {ReduceOp::BXOR, "BXOR"}};
  std::string rows;
  for (const auto& [op, op_name] : reductions) {
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i32, DType::i64, DType::f8e4m3,
                              DType::f8e5m2, DType::f16, DType::bf16, DType::f32}) {
      try {
        distributed::check_reduction("all_reduce", op, dtype);
      } catch (const ValueError& error) {
        rows += "| `" + std::string(op_name) + "` | " + std::string(name(dtype)) + " | " + error.what() + " |\n";
      }
    }
  }
  return rows;
}

/// Why algorithms do not take calls of some kinds.
std::string call_rows() {
  std::vector<std::pair<const char*, collectives::Call>> kinds(4);
  kinds[0].first = "blocks of several sizes";
  kinds[0].second.equal_blocks = false;
  kinds[1].first = "on one PE of several";
  kinds[1].second.pes = 1;
  kinds[2].first = "with replicas";
  kinds[2].second.replicated = true;
  kinds[3].first = "of no elements";
  kinds[3].second.elements = 0;
  collectives::Group group;
  group.shape.ranks = 4;
  std::string rows;
  for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
    for (const auto& [kind, call] : kinds) {
      const std::string reason = algorithm.validator ? algorithm.validator(group, call) : "";
      if (!reason.empty()) rows += "| `" + std::string(algorithm.name) + "` | " + kind + " | " + reason + " |\n";
    }
  }
  return rows;
}

TEST(RefusalTable, IsThePage) {
  source_tree::expect_golden("docs/collectives-refusals.md",
                             "# What collectives refuse\n\n"
                             "Operation by algorithm, by 1, 2, 3, 4, 5, 8, 13 and 16 ranks, by type and by placement: "
                             "what does not stand here is\n"
                             "right, on every placement. A test runs each algorithm on each number of ranks, with "
                             "types and placements in turn so\n"
                             "that each pair of them comes, and `make test-full` with all of them.\n\n"
                             "## Groups\n\n"
                             "On `ahbm-2sip` with as many SIPs as ranks, or so many of its PEs, and the queues of the "
                             "shipped collectives file. Each\n"
                             "is an error of `init_process_group` or `new_group`.\n\n"
                             "| algorithm | ranks | each | reason |\n|---|---|---|---|\n" +
                                 group_rows() +
                                 "\n## Calls\n\nEach is a `ValueError` of the call where the algorithm is named, and "
                                 "`auto` takes another one.\n\n| algorithm | call | reason |\n|---|---|---|\n" +
                                 call_rows() +
                                 "\n## Types\n\nOf everything that reduces; what copies takes every type. Each is a "
                                 "`ValueError` of the call.\n\n"
                                 "| reduction | type | error of `all_reduce` |\n|---|---|---|\n" +
                                 type_rows());
}

// ---- runs

constexpr std::int64_t kBlock = 6;

double element(int rank, std::int64_t i) {
  return static_cast<double>((3 * rank + i) % 5);
}
double sum_of(int ranks, std::int64_t i) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += element(rank, i);
  return sum;
}
torch::Tensor host(std::int64_t elements, DType dtype, const std::function<double(std::int64_t)>& value) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(value(i));
  return torch::tensor(values, torch::dtype(torch::kDouble)).to(dtype);
}

/// One call of an operation on a rank, and whether it gave what it must.
class OneCall {
 public:
  OneCall(int rank, int ranks, DType dtype, const DPPolicy& policy)
      : rank_(rank), ranks_(ranks), dtype_(dtype), policy_(policy) {}

  bool is_right(CollectiveOperation operation) const {
    const int n = ranks_, root = n - 1;
    const std::int64_t all = n * kBlock;
    const auto own = [this](std::int64_t i) { return element(rank_, i); };
    const auto of_block = [](std::int64_t i) { return element(static_cast<int>(i / kBlock), i % kBlock); };
    const auto x = device(kBlock, own), whole = device(all, own), out = device(all, [](std::int64_t) { return 0.0; });
    const auto block = device(kBlock, [](std::int64_t) { return 0.0; });
    switch (operation) {
      case CollectiveOperation::all_reduce:
        dist::all_reduce(x);
        return has(x, [&](std::int64_t i) { return sum_of(n, i); });
      case CollectiveOperation::broadcast:
        dist::broadcast(x, root);
        return has(x, [&](std::int64_t i) { return element(root, i); });
      case CollectiveOperation::barrier:
        dist::barrier();
        return true;
      case CollectiveOperation::reduce_scatter:
        dist::reduce_scatter_tensor(block, whole);
        return has(block, [&](std::int64_t i) { return sum_of(n, rank_ * kBlock + i); });
      case CollectiveOperation::all_gather:
        dist::all_gather_into_tensor(out, x);
        return has(out, of_block);
      case CollectiveOperation::reduce:
        dist::reduce(x, root);
        return has(x, [&](std::int64_t i) { return rank_ == root ? sum_of(n, i) : element(rank_, i); });
      case CollectiveOperation::gather:
        dist::gather(x, rank_ == root ? blocks(out) : std::vector<torch::Tensor>{}, root);
        return rank_ != root || has(out, of_block);
      case CollectiveOperation::scatter:
        dist::scatter(block, rank_ == root ? blocks(whole) : std::vector<torch::Tensor>{}, root);
        return has(block, [&](std::int64_t i) { return element(root, rank_ * kBlock + i); });
      case CollectiveOperation::all_to_all:
        dist::all_to_all_single(out, whole);
        return has(out,
                   [&](std::int64_t i) { return element(static_cast<int>(i / kBlock), rank_ * kBlock + i % kBlock); });
      case CollectiveOperation::all_reduce_partials: {
        const auto y =
            torch::ones({2}, torch::dtype(dtype_).device("ahbm").placement(
                                 {.cube = Placement::replicate, .pe = Placement::replicate, .num_cubes = 1}));
        torch::ahbm::all_reduce_partials(y);
        const double replicas = 2.0 * n;  // of the PEs of a cube of tiny
        return torch::equal(y.cpu(), host(2, dtype_, [&](std::int64_t) { return replicas; }));
      }
    }
    return false;
  }

 private:
  torch::Tensor device(std::int64_t elements, const std::function<double(std::int64_t)>& value) const {
    return host(elements, dtype_, value).to(torch::TensorOptions().device("ahbm").placement(policy_));
  }
  std::vector<torch::Tensor> blocks(const torch::Tensor& all) const {
    std::vector<torch::Tensor> list;
    for (int rank = 0; rank < ranks_; ++rank) list.push_back(all.narrow(0, rank * kBlock, kBlock));
    return list;
  }
  bool has(const torch::Tensor& found, const std::function<double(std::int64_t)>& value) const {
    return torch::equal(found.cpu(), host(found.numel(), dtype_, value));
  }

  int rank_, ranks_;
  DType dtype_;
  DPPolicy policy_;
};

/// Runs an algorithm on so many ranks with each of the types and placements: right, or refused as it says.
void expect_right_or_refused(const CollectiveAlgorithm& algorithm, int ranks,
                             const std::vector<std::pair<DType, DPPolicy>>& cases) {
  SCOPED_TRACE(std::string(algorithm.name) + " on " + std::to_string(ranks));
  std::string reason;
  const auto outcome = run_ranks(machine_with(algorithm, ranks), ranks, [&](int rank) {
    if (rank == 0 && ranks > 1) {
      auto& context = runtime::current_context("test");
      reason = algorithm.refusal({ranks, false, distributed::algorithm_of(context, {}), context.simulation.topology()});
    }
    dist::init_process_group("ahbm", rank, ranks);
    for (const auto& [dtype, policy] : cases) {
      if (distributed::reduces(algorithm.operation) && !distributed::can_reduce(ReduceOp::SUM, dtype)) continue;
      EXPECT_TRUE(OneCall(rank, ranks, dtype, policy).is_right(algorithm.operation)) << name(dtype);
    }
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(reason.empty() ? ::testing::Matcher<std::string>("") : HasSubstr(reason)));
}

bool whole_table() {
  return std::getenv("KERNBENCH_WHOLE_TABLE") != nullptr;  // NOLINT(concurrency-mt-unsafe): nobody here sets it
}

TEST(RefusalTable, HoldsForEachAlgorithmAndNumberOfRanksWithTypesAndPlacementsInTurn) {
  std::size_t turn = 0;
  for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
    for (const int ranks : kRanks) {
      ++turn;
      if (kSanitized && turn % 10 != 0) continue;
      std::vector<std::pair<DType, DPPolicy>> cases;
      if (whole_table()) {
        for (const DType dtype : kTypes)
          for (const DPPolicy& policy : kPlacements) cases.emplace_back(dtype, policy);
      } else {
        cases = {{kTypes[turn % kTypes.size()], kPlacements[turn % kPlacements.size()]},
                 {kTypes[(turn + 3) % kTypes.size()], kPlacements[(2 * turn + 1) % kPlacements.size()]}};
      }
      expect_right_or_refused(algorithm, ranks, cases);
    }
  }
}

}  // namespace
}  // namespace kernbench::testing
