// collective_cost.h: what the automatic choice goes by.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "distributed/cost/automatic_choice.h"
#include "distributed/group.h"
#include "kernbench/collective_cost.h"
#include "kernbench/error.h"
#include "tensor/host_call.h"

namespace kernbench::torch::ahbm {

using namespace kernbench::distributed;

CollectiveCost all_reduce_cost(std::int64_t bytes, const distributed::ProcessGroup& group, Where where) {
  const tensor::HostCall here("all_reduce_cost", where);
  if (bytes < 0) throw ValueError(fmt::format("all_reduce_cost: bytes must be 0 or more, and are {}", bytes));
  const Group& members = *handle_of(group, "all_reduce_cost").group;
  if (members.size() == 1) return {};
  const auto& context = runtime::current_context("all_reduce_cost");
  AlgorithmSpec spec = members.algorithm();
  spec.module = std::string(kAutomatic);
  spec.topology.reset();
  spec.candidates.clear();
  spec.tuning.reset();
  const GroupDescription description{members.size(), context.pe.has_value(), spec, members.machine()};
  const AutomaticChoice choice(CollectiveOperation::all_reduce, description, members.ranks(),
                               context.simulation.machine().network());
  const AlgorithmCost& least =
      *std::ranges::min_element(choice.costs(), {}, [&](const AlgorithmCost& cost) { return cost.of(bytes); });
  return {std::string(least.algorithm->name), least.of(bytes)};
}

}  // namespace kernbench::torch::ahbm
