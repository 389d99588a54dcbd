#include "runtime/functions/device_kernels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/devices/simulated_devices.h"
#include "runtime/streams/launches.h"
#include "tensor/placement/device_memory.h"
#include "tensor/tensor_impl.h"
#include "tile/library/choose.h"
#include "tile/library/elementwise.h"
#include "tile/library/embedding.h"
#include "tile/library/join.h"

namespace kernbench::runtime {

namespace library = tile::library;
using tile::library::View;
using torch::Tensor;

SimulatedOperations::SimulatedOperations(Simulation& simulation)
    : simulation_(simulation), plans_(simulation.options().plans, simulation.options().stop_requested) {}

View kernel_view(const Tensor& tensor, bool written) {
  const tensor::TensorImpl& impl = tensor::impl_of(tensor);
  const auto& descriptor = impl.storage->device->descriptor();
  const auto extents = [](const std::vector<std::int64_t>& values) { return tl::Extents(std::span(values)); };
  const tl::Tensor whole = written ? tl::Tensor(descriptor) : tl::In(descriptor);
  return {whole, extents(impl.sizes), extents(impl.strides), impl.offset};
}

bool is_replicated(const Tensor& tensor) {
  const auto& descriptor = *tensor::device_storage(tensor)->descriptor();
  std::int64_t held = 0;
  for (const auto& shard : descriptor.shards) held += tl::Extents(std::span(shard.shape)).numel();
  return held > descriptor.numel();
}

std::vector<PeCoordinate> holders(std::span<const Tensor> tensors) {
  std::set<PeCoordinate> owners;
  for (const Tensor& tensor : tensors)
    for (const auto& shard : tensor::device_storage(tensor)->descriptor()->shards) owners.insert(shard.owner);
  return {owners.begin(), owners.end()};
}

void SimulatedOperations::launch(Call call) {
  LaunchPlan plan;
  plan.name = std::move(call.name);
  plan.device = tensor::impl_of(call.written.front()).device.index();
  plan.pes = call.pes.empty() ? holders({&call.written.front(), 1}) : std::move(call.pes);
  auto& devices = simulation_.devices();
  for (const Tensor& tensor : call.written) plan.written.push_back(devices.own(tensor::device_storage(tensor)));
  for (const Tensor& tensor : call.read) plan.read.push_back(devices.own(tensor::device_storage(tensor)));
  plan.body = std::move(call.body);
  plan.plan = std::move(call.plan);
  enqueue_launch(simulation_, std::move(plan));
}

Tensor SimulatedOperations::temporary(const Tensor& like, std::span<const std::int64_t> sizes, DType dtype,
                                      const DPPolicy& policy) {
  return new_device_tensor(simulation_.devices(), sizes, dtype, tensor::impl_of(like).device, policy);
}

void SimulatedOperations::map(std::string name, const std::vector<Tensor>& operands, const Tensor& out,
                              library::TileFunction function, int live_tiles) {
  const View target = kernel_view(out, true);
  map(std::move(name), operands, out, std::move(function), live_tiles, target, library::held_boxes(target));
}

void SimulatedOperations::map(std::string name, const std::vector<Tensor>& operands, const Tensor& out,
                              library::TileFunction function, int live_tiles, const View& target,
                              const library::HeldBoxes& made) {
  std::vector<View> views;
  views.reserve(operands.size());
  for (const Tensor& operand : operands) views.push_back(kernel_view(operand, false));
  library::ElementwiseOptions options{.live_tiles = live_tiles};
  options.apart = library::reads_meet(target, views, made, live_tiles, library::limits_of(simulation_.topology()));
  options.shared = library::shared_loads(target, views, made, live_tiles, simulation_.topology());
  launch({.name = std::move(name),
          .written = {out},
          .read = operands,
          .pes = {},
          .body = [views = std::move(views), target, function = std::move(function), options = std::move(options)] {
            library::elementwise(target, views, function, options);
          }});
}

bool SimulatedOperations::copy(const Tensor& from, const Tensor& to) {
  constexpr int kLiveTiles = 4;
  const auto same = [](const std::vector<tl::Tile>& tiles, const library::Box&) { return tiles.front(); };
  const View source = kernel_view(from, false), target = kernel_view(to, true);
  const library::HeldBoxes made = library::held_boxes(target);
  if (!library::copies_by_source(target, source, made, kLiveTiles, library::limits_of(simulation_.topology()))) {
    map("copy", {from}, to, same, kLiveTiles, target, made);
    return true;
  }
  launch({.name = "copy", .written = {to}, .read = {from}, .pes = holders({&from, 1}), .body = [source, target, same] {
            library::elementwise(target, {source}, same, {.live_tiles = kLiveTiles, .by_source = true, .shared = {}});
          }});
  return true;
}

bool SimulatedOperations::ramp(std::int32_t start, std::int32_t step, const Tensor& out) {
  map("arange", {}, out, [start, step](const std::vector<tl::Tile>&, const library::Box& block) {
    const auto first = static_cast<std::int32_t>(start + block.offset[0] * step);
    const auto places = tl::arange(0, block.shape[0]);
    return (step == 1 ? places : places * step) + first;
  });
  return true;
}

void SimulatedOperations::triangle(const Tensor& x, std::int64_t diagonal, bool upper, const Tensor& out) {
  launch({.name = upper ? "triu" : "tril",
          .written = {out},
          .read = {x},
          .pes = {},
          .body = [source = kernel_view(x, false), target = kernel_view(out, true), diagonal, upper] {
            library::triangle(source, diagonal, upper, target);
          }});
}

void SimulatedOperations::cat(std::span<const Tensor> tensors, std::int64_t dimension, const Tensor& out) {
  std::vector<library::JoinedPart> parts;
  Call call{.name = "cat", .written = {out}, .read = {}, .pes = {}, .body = {}};
  std::int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    parts.push_back({kernel_view(tensor, false), start});
    call.read.push_back(tensor);
    start += tensor.size(dimension);
  }
  const auto along = static_cast<std::size_t>(dimension);
  const View target = kernel_view(out, true);
  const bool apart = library::joins_meet(target, parts, along);
  call.body = [parts = std::move(parts), target, along, apart] { library::join(target, parts, along, apart); };
  launch(std::move(call));
}

void SimulatedOperations::gather(const Tensor& x, std::int64_t dimension, const Tensor& index, const Tensor& out) {
  assume_rows("gather");
  launch({.name = "gather",
          .written = {out},
          .read = {x, index},
          .pes = {},
          .body = [source = kernel_view(x, false), indices = kernel_view(index, false), target = kernel_view(out, true),
                   along = static_cast<std::size_t>(dimension)] { library::gather(source, along, indices, target); }});
}

void SimulatedOperations::index_select(const Tensor& x, std::int64_t dimension, const Tensor& index, bool from_end,
                                       const Tensor& out) {
  assume_rows("index_select");
  // The index repeats in all other dimensions.
  std::vector<std::int64_t> shape(static_cast<std::size_t>(out.dim()), 1);
  shape[static_cast<std::size_t>(dimension)] = index.numel();
  launch({.name = "index_select",
          .written = {out},
          .read = {x, index},
          .pes = {},
          .body = [source = kernel_view(x, false), indices = kernel_view(index.view(shape).expand(out.sizes()), false),
                   target = kernel_view(out, true), along = static_cast<std::size_t>(dimension),
                   from_end] { library::gather(source, along, indices, target, from_end); }});
}

void SimulatedOperations::assume_rows(const char* what) {
  if (simulation_.options().data) return;
  simulation_.assumptions.insert(std::string(what) +
                                 ": its indices are not known without data and were taken to be spread evenly over the "
                                 "table (lookup i of V rows: row i s mod V, s about 0.618 V)");
}

void SimulatedOperations::embedding(const Tensor& table, const Tensor& index, const tensor::EmbeddingPart& part,
                                    const Tensor& out) {
  assume_rows("embedding");
  launch({.name = "embedding",
          .written = {out},
          .read = {table, index},
          .pes = {},
          .body = [source = kernel_view(table, false), indices = kernel_view(index, false),
                   how = library::EmbeddingTable{part.first, part.whole, part.padding},
                   target = kernel_view(out, true)] { library::embedding(source, indices, how, target); }});
}

void SimulatedOperations::embedding_backward(const Tensor& grad, const Tensor& index, const tensor::EmbeddingPart& part,
                                             const Tensor& out) {
  assume_rows(part.call);
  launch({.name = part.call,
          .written = {out},
          .read = {grad, index},
          .pes = {},
          .body = [source = kernel_view(grad, false), indices = kernel_view(index, false),
                   how = library::EmbeddingTable{part.first, part.whole, part.padding},
                   target = kernel_view(out, true)] { library::embedding_backward(source, indices, how, target); }});
}

}  // namespace kernbench::runtime
