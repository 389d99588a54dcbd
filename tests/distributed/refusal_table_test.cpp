// What collectives do on which groups, types and placements: right, or refused with the reason. The refusals are a
// page, docs/collectives-refusals.md; matrix_test.cpp holds it to what happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "distributed/algorithm_choice.h"
#include "distributed/algorithm_spec.h"
#include "distributed/argument_checks.h"
#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "support/source_tree.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using distributed::CollectiveAlgorithm;

const std::vector<int> kRanksOfPage{1, 2, 3, 4, 5, 8, 13, 16};

/// Rows of a table. Those that differ in their first column alone are one.
class SharedRows {
 public:
  struct Row {
    std::string first, others;
  };

  void add(const std::string& first, const std::string& others) {
    const auto same = std::ranges::find(rows_, others, &Row::others);
    if (same == rows_.end())
      rows_.push_back({first, others});
    else
      same->first += ", " + first;
  }
  std::string text() const {
    std::string out;
    for (const Row& row : rows_) out += "| " + row.first + " | " + row.others + " |\n";
    return out;
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

/// Why algorithms cannot run on groups of the shipped machine: by algorithm, kind of rank and reason, the numbers of
/// ranks.
std::string group_rows() {
  using Reasons = std::map<std::string, std::string>;  // by reason
  std::map<std::string_view, std::array<Reasons, 2>> refusals;
  for (const int ranks : kRanksOfPage) {
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
  SharedRows rows;
  for (const CollectiveAlgorithm& algorithm : distributed::collective_algorithms()) {
    for (const bool pes : {false, true}) {
      for (const auto& [reason, numbers] : refusals[algorithm.name][pes ? 1 : 0])
        rows.add("`" + std::string(algorithm.name) + "`", numbers + (pes ? " | a PE | " : " | a SIP | ") + reason);
    }
  }
  return rows.text();
}

/// An error without the reduction and the type that it names.
std::string without_names(const std::string& error) {
  const std::string text = std::regex_replace(error, std::regex("ReduceOp\\.[A-Z]+"), "ReduceOp.…");
  return std::regex_replace(text, std::regex("(with a tensor|the tensor is) of \\w+"), "$1 of …");
}

/// Why types cannot be reduced: by reduction and reason, the types.
std::string type_rows() {
  const std::vector<std::pair<ReduceOp, const char*>> reductions{
      {ReduceOp::SUM, "SUM"}, {ReduceOp::AVG, "AVG"},   {ReduceOp::PRODUCT, "PRODUCT"}, {ReduceOp::MIN, "MIN"},
      {ReduceOp::MAX, "MAX"}, {ReduceOp::BAND, "BAND"}, {ReduceOp::BOR, "BOR"},         {ReduceOp::BXOR, "BXOR"}};
  SharedRows rows;
  for (const auto& [op, op_name] : reductions) {
    SharedRows types;
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i32, DType::i64, DType::f8e4m3,
                              DType::f8e5m2, DType::f16, DType::bf16, DType::f32}) {
      try {
        distributed::check_reduction("all_reduce", op, dtype);
      } catch (const ValueError& error) {
        types.add(std::string(name(dtype)), without_names(error.what()));
      }
    }
    for (const auto& [first, others] : types.rows()) rows.add("`" + std::string(op_name) + "`", first + " | " + others);
  }
  return rows.text();
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
  return rows +
         "| every one of all_to_all | in place | output and input share elements; pass a tensor of their own |\n"
         "| every one of gather and scatter | in place, of a root whose block is placed otherwise than the other "
         "ranks' tensors | the mismatch of their placements; give the root a tensor of its own |\n";
}

TEST(RefusalTable, IsThePage) {
  source_tree::expect_golden(
      "docs/collectives-refusals.md",
      "# What collectives refuse\n\n"
      "Operation by algorithm, by 1, 2, 3, 4, 5, 8, 13 and 16 ranks, by type and by placement: "
      "what does not stand here is\n"
      "right, on every placement. A test runs cases in which every two values of algorithm, "
      "ranks, elements, type, reduction,\n"
      "placement, form and memory of the queues come together, and `make test-full` each "
      "algorithm on each number of ranks with\nall types, placements and numbers of elements.\n\n"
      "## Groups\n\n"
      "On `ahbm-2sip` with as many SIPs as ranks, or so many of its PEs, and the queues of the "
      "shipped collectives file. Each\n"
      "is an error of `init_process_group` or `new_group`.\n\n"
      "| algorithms | ranks | each | reason |\n|---|---|---|---|\n" +
          group_rows() +
          "\n## Calls\n\nEach is a `ValueError` of the call where the algorithm is named, and "
          "`auto` takes another one.\n\n| algorithm | call | reason |\n|---|---|---|\n" +
          call_rows() +
          "\n## Types\n\nOf everything that reduces; what copies takes every type. Each is a "
          "`ValueError` of the call.\n\n"
          "| reductions | types | error of `all_reduce` |\n|---|---|---|\n" +
          type_rows());
}

}  // namespace
}  // namespace kernbench::testing
