#include "distributed/block_plan.h"

#include <algorithm>

#include "distributed/element_places.h"
#include "runtime/devices/simulated_devices.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {
namespace {

using torch::Tensor;

const addressing::TensorDescriptor& whole(const Tensor& tensor) {
  return *tensor::device_storage(tensor)->descriptor();
}

BlockPlace place_of(const Tensor& tensor) {
  const auto& view = tensor::impl_of(tensor);
  return {&whole(tensor), view.offset, view.numel()};
}

/// `written`: kernels may store to it.
BlockRow row_of(const Tensor& tensor, bool written) {
  const auto& view = tensor::impl_of(tensor);
  const auto& descriptor = view.storage->device->descriptor();
  return {written ? tl::Tensor(descriptor) : tl::In(descriptor), view.offset};
}

std::vector<BlockRow> rows_of(const std::vector<Tensor>& tensors, bool written) {
  std::vector<BlockRow> rows;
  rows.reserve(tensors.size());
  for (const auto& each : tensors) rows.push_back(row_of(each, written));
  return rows;
}

/// One of the tensors for each storage.
std::vector<Tensor> distinct(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> some;
  for (const auto& each : tensors) {
    const auto same = [&](const Tensor& other) {
      return tensor::device_storage(other) == tensor::device_storage(each);
    };
    if (std::ranges::none_of(some, same)) some.push_back(each);
  }
  return some;
}

PlacedPlan new_plan(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  auto plan = std::make_shared<BlockPlan>();
  plan->outputs = rows_of(outputs, true);
  plan->inputs = rows_of(inputs, false);
  plan->results = outputs;
  plan->written = distinct(outputs);
  plan->read = distinct(inputs);
  plan->device = tensor::impl_of((outputs.empty() ? inputs : outputs).front()).device.index();
  return {std::move(plan), {}, 0};
}

/// Each PE has what it holds of each of the tensors.
BlockShares held(const std::vector<Tensor>& tensors) {
  BlockShares shares(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) shares.add_held(i, place_of(tensors[i]));
  return shares;
}
/// Each PE has what it holds of the tensor, in each block.
BlockShares held(const Tensor& tensor, int blocks) {
  return held(std::vector(static_cast<std::size_t>(blocks), tensor));
}

bool have_replicas(const std::vector<Tensor>& tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& each) { return has_replicas(whole(each)); });
}

PlacedPlan placed(PlacedPlan plan, const BlockShares& shares, std::string placement,
                  const runtime::HostContext& context) {
  plan.placement = std::move(placement);
  plan.placement_hash = shares.fingerprint(!context.pe);
  return plan;
}

Tensor like(const Tensor& tensor, const runtime::HostContext& context) {
  const auto& view = tensor::impl_of(tensor);
  return tensor::new_device_tensor(context.simulation.devices(), view.sizes, view.dtype, view.device, {});
}

/// Replicas of an output that the kernels cannot reach: they write a tensor without, and its elements are copied.
void stage(BlockPlan& plan, const std::vector<Tensor>& outputs, const runtime::HostContext& context) {
  std::vector<Tensor> staged;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!has_replicas(whole(outputs[i])) || outputs[i].numel() == 0) {
      staged.push_back(outputs[i]);
      continue;
    }
    staged.push_back(like(outputs[i], context));
    plan.outputs[i] = row_of(staged[i], true);
    plan.redistribute.emplace_back(staged[i], outputs[i]);
  }
  plan.written = distinct(staged);
}

/// The PEs that tensors of this policy may lie on.
std::vector<PeCoordinate> pes_of(const Tensor& tensor, const runtime::HostContext& context) {
  const auto& view = tensor::impl_of(tensor);
  auto all = context.part(SipId{view.device.index()}).pes(context.simulation.topology());
  if (context.pe) return all;
  std::vector<PeCoordinate> pes;
  for (const PeCoordinate pe : all) {
    if (view.policy.num_cubes != 0 && pe.cube.value >= view.policy.num_cubes) continue;
    if (view.policy.num_pes != 0 && pe.pe.value >= view.policy.num_pes) continue;
    pes.push_back(pe);
  }
  return pes;
}

}  // namespace

std::vector<Tensor> as_blocks(const Tensor& tensor, int ranks) {
  const std::int64_t elements = tensor.numel() / ranks;
  const Tensor row = tensor.view({tensor.numel()});
  std::vector<Tensor> blocks;
  for (int rank = 0; rank < ranks; ++rank) blocks.push_back(row.narrow(0, rank * elements, elements));
  return blocks;
}

PlacedPlan plan_all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const Tensor& placed_as,
                           const runtime::HostContext& context) {
  PlacedPlan plan = new_plan(outputs, {input});
  plan.plan->received = held(outputs);
  plan.plan->sent = BlockShares(outputs.size());
  plan.plan->empty = input.numel() == 0;
  plan.plan->replicated = have_replicas(outputs);
  const BlockShares& shares = plan.plan->received;
  return placed(std::move(plan), shares, "output " + placement_text(placed_as, context), context);
}

PlacedPlan plan_reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, bool in_place,
                               const Tensor& placed_as, const runtime::HostContext& context) {
  PlacedPlan plan = new_plan({output}, inputs);
  const bool by_output = !in_place && (has_replicas(whole(output)) || have_replicas(inputs));
  plan.plan->sent = by_output ? held(output, static_cast<int>(inputs.size())) : held(inputs);
  plan.plan->received = BlockShares(inputs.size());
  plan.plan->empty = output.numel() == 0;
  const Tensor& decides = by_output ? output : placed_as;
  plan.plan->replicated = has_replicas(whole(decides));
  const BlockShares& shares = plan.plan->sent;
  return placed(std::move(plan), shares, (by_output ? "output " : "input ") + placement_text(decides, context),
                context);
}

PlacedPlan plan_gather(const std::vector<Tensor>& outputs, const Tensor& input, int ranks,
                       const runtime::HostContext& context) {
  PlacedPlan plan = new_plan(outputs, {input});
  plan.plan->empty = input.numel() == 0;
  plan.plan->replicated = has_replicas(whole(input));
  BlockShares shares = held(input, ranks);
  const std::uint64_t mine = held(input, 1).fingerprint(true);
  if (!outputs.empty()) {
    plan.plan->received = shares;
    // Who holds a replica writes it, if the blocks are placed as the input is.
    std::vector<Tensor> elsewhere;
    for (const auto& each : outputs) {
      const bool alike = held(each, 1).fingerprint(true) == mine;
      if (!alike) elsewhere.push_back(each);
    }
    if (have_replicas(elsewhere)) stage(*plan.plan, outputs, context);
  } else {
    plan.plan->received = BlockShares(static_cast<std::size_t>(ranks));
  }
  plan.plan->sent = std::move(shares);
  const BlockShares& sent = plan.plan->sent;
  return placed(std::move(plan), sent, placement_text(input, context), context);
}

PlacedPlan plan_scatter(const Tensor& output, const std::vector<Tensor>& inputs, int ranks,
                        const runtime::HostContext& context) {
  PlacedPlan plan = new_plan({output}, inputs);
  plan.plan->empty = output.numel() == 0;
  plan.plan->replicated = has_replicas(whole(output));
  plan.plan->received = held(output, ranks);
  plan.plan->sent = inputs.empty() ? BlockShares(static_cast<std::size_t>(ranks)) : plan.plan->received;
  const BlockShares& shares = plan.plan->received;
  return placed(std::move(plan), shares, placement_text(output, context), context);
}

PlacedPlan plan_all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                           const Tensor& placed_as, const runtime::HostContext& context) {
  PlacedPlan plan = new_plan(outputs, inputs);
  const auto pes = pes_of(outputs.front(), context);
  BlockShares sent(inputs.size()), received(outputs.size()), pattern(1);
  for (std::size_t i = 0; i < inputs.size(); ++i) sent.add_even(i, pes, inputs[i].numel());
  for (std::size_t i = 0; i < outputs.size(); ++i) received.add_even(i, pes, outputs[i].numel());
  plan.plan->sent = std::move(sent);
  plan.plan->received = std::move(received);
  stage(*plan.plan, outputs, context);
  pattern.add_even(0, pes, static_cast<std::int64_t>(pes.size()));  // who takes part, whatever the sizes
  return placed(std::move(plan), pattern, "output " + placement_text(placed_as, context), context);
}

}  // namespace kernbench::distributed
