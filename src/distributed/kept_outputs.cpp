#include "distributed/kept_outputs.h"

#include <memory>
#include <utility>

#include "numerics/memory/kept.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/devices/storage_places.h"
#include "tensor/strided.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {
namespace {

/// Where all replicas of the elements of a tensor are.
void append_places(runtime::Simulation& simulation, const torch::Tensor& tensor, std::vector<numerics::Piece>& pieces) {
  const auto& view = tensor::impl_of(tensor);
  const auto storage = simulation.devices().own(tensor::device_storage(tensor));
  std::vector<tensor::DeviceBox> boxes;
  for (auto& box : addressing::boxes_of_view(storage->descriptor()->shape, view.sizes, view.strides, view.offset)) {
    boxes.push_back({std::move(box.offset), std::move(box.shape)});
  }
  for (const auto& box : runtime::locate(simulation, *storage, boxes, runtime::Replicas::all).boxes) {
    pieces.insert(pieces.end(), box.pieces.begin(), box.pieces.end());
  }
}

}  // namespace

std::function<void()> keep_outputs(runtime::HostContext& context, const runtime::CommandScopeRef& scope,
                                   std::vector<torch::Tensor> outputs) {
  if (!scope || !context.simulation.options().data || outputs.empty()) return {};
  auto pending = std::make_shared<std::vector<torch::Tensor>>(std::move(outputs));
  return [&simulation = context.simulation, worker = context.worker.agent, scope, pending] {
    const auto tensors = std::exchange(*pending, {});
    if (scope->settled() || tensors.empty()) return;
    std::vector<numerics::Piece> pieces;
    for (const auto& each : tensors) append_places(simulation, each, pieces);
    const auto kept =
        std::make_shared<const numerics::KeptContents>(simulation.executor(), simulation.next_host_key(worker), pieces);
    scope->add_undo([&simulation, worker, kept] { kept->put_back(simulation.next_host_key(worker)); });
  };
}

}  // namespace kernbench::distributed
