#include "distributed/call_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "distributed/block_shares.h"
#include "distributed/cost/automatic_choice.h"
#include "kernbench/error.h"
#include "runtime/functions/device_kernels.h"
#include "runtime/simulation.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {
namespace {

using Pes = std::optional<std::vector<PeCoordinate>>;

bool is_replicated(const CollectiveCall& call) {
  if (call.blocks) return call.blocks->replicated;
  return call.tensor.defined() && has_replicas(*tensor::device_storage(call.tensor)->descriptor());
}

/// The call as validators see it.
collectives::Call seen(const CollectiveCall& call, std::int64_t bytes, const Pes& pes) {
  collectives::Call seen;
  seen.dtype = call.fingerprint.dtype;
  seen.elements = bytes / item_size(seen.dtype);
  std::vector<PeCoordinate> all = pes.value_or(std::vector<PeCoordinate>());
  if (!pes && call.tensor.defined()) all = runtime::holders({&call.tensor, 1});
  seen.pes = std::max(1, static_cast<int>(all.size()));
  std::set<CubeId> cubes;
  for (const PeCoordinate pe : all) cubes.insert(pe.cube);
  seen.cubes = std::max(1, static_cast<int>(cubes.size()));
  seen.replicated = is_replicated(call);
  seen.equal_blocks = call.equal_blocks;
  seen.root = static_cast<int>(call.arguments.root);
  return seen;
}

/// What validators say of a call.
class Verdicts {
 public:
  Verdicts(Group& group, const CollectiveCall& call, std::int64_t bytes, const Pes& pes,
           const runtime::HostContext& context)
      : group_(group), call_(call), bytes_(bytes), pes_(pes), context_(context) {}

  /// Why an algorithm does not take it; empty: it does.
  std::string refusal(const CollectiveAlgorithm& algorithm) const {
    if (!algorithm.validator || group_.size() == 1) return {};
    return algorithm.validator(description().seen(), seen(call_, bytes_, pes_));
  }
  [[noreturn]] void refuse(const CollectiveAlgorithm& algorithm) const {
    std::vector<std::string_view> others;
    for (const auto& each : group_.algorithm().table->all()) {
      if (each.operation == call_.operation && each.refusal(description()).empty() && refusal(each).empty())
        others.push_back(each.name);
    }
    throw ValueError(fmt::format("{}: {} does not take this call: {}; {} that take it: {}", call_.name, algorithm.name,
                                 refusal(algorithm), name(call_.operation),
                                 others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", "))));
  }

 private:
  GroupDescription description() const {
    return {group_.size(), context_.pe.has_value(), group_.algorithm(), context_.simulation.topology(), group_.ranks()};
  }

  Group& group_;
  const CollectiveCall& call_;
  std::int64_t bytes_;
  const Pes& pes_;
  const runtime::HostContext& context_;
};

}  // namespace

const CollectiveAlgorithm& algorithm_of_call(Group& group, const CollectiveCall& call, std::int64_t bytes,
                                             const Pes& pes, const runtime::HostContext& context) {
  const Verdicts verdicts(group, call, bytes, pes, context);
  const auto accepts = [&](const CollectiveAlgorithm& each) { return verdicts.refusal(each).empty(); };
  const CollectiveAlgorithm* found = group.algorithm_of(call.operation, bytes, context.pe.has_value(), accepts);
  if (found == nullptr) verdicts.refuse(algorithm_for(group.algorithm(), call.operation));
  if (!accepts(*found)) verdicts.refuse(*found);
  return *found;
}

}  // namespace kernbench::distributed
