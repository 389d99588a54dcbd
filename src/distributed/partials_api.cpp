// all_reduce_partials.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "distributed/argument_checks.h"
#include "distributed/collective.h"
#include "distributed/device_work.h"
#include "kernbench/partials.h"
#include "runtime/simulation.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {
namespace {

/// Who has the replicas of each box of a flat tensor.
Replicas replicas_of(const addressing::TensorDescriptor& flat) {
  std::map<std::int64_t, std::vector<PeCoordinate>> holders;
  for (const auto& shard : flat.shards) {
    if (shard.shape[0] == 0) continue;
    PeCoordinate pe = shard.owner;
    pe.sip = SipId{0};  // the same on all ranks
    holders[shard.offset[0]].push_back(pe);
  }
  Replicas replicas;
  for (auto& [begin, pes] : holders) {
    std::ranges::sort(pes);
    auto own = levels_of(pes);
    if (own.empty()) own = {static_cast<int>(pes.size())};
    replicas.boxes.push_back({begin, std::move(pes), std::move(own)});
  }
  return replicas;
}

bool has_several(const Replicas& replicas) {
  return std::ranges::any_of(replicas.boxes, [](const auto& box) { return box.holders.size() > 1; });
}

}  // namespace
}  // namespace kernbench::distributed

namespace kernbench::torch::ahbm {

using namespace kernbench::distributed;

distributed::WorkRef all_reduce_partials(const Tensor& tensor, distributed::ReduceOpOrName op,
                                         const distributed::ProcessGroup& group, bool async_op, Where where) {
  constexpr const char* kCall = "all_reduce_partials";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_tensor(tensor, kCall);
  check_reduction(kCall, op, tensor::impl_of(tensor).dtype);
  auto& context = runtime::current_context(kCall);
  auto replicas = replicas_of(*payload_of(tensor, kCall, context).flat);
  CollectiveCall call;
  call.name = kCall;
  call.operation = CollectiveOperation::all_reduce;
  if (has_several(replicas)) {
    call.operation = CollectiveOperation::all_reduce_partials;
    call.replicas = std::make_shared<const Replicas>(std::move(replicas));
  }
  call.fingerprint.type = OpType::ALLREDUCE_PARTIALS;
  call.fingerprint.reduce = op;
  call.tensor = tensor;
  call.arguments.reduction = op;
  return finish(issue(*handle, std::move(call), async_op), async_op, {tensor});
}

}  // namespace kernbench::torch::ahbm
