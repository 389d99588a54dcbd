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
  const library::HeldBoxes made = library::held_boxes(target);
  const library::MachineLimits limits = library::limits_of(simulation_.topology());
  if (operands.size() == 1) {
    const View source = kernel_view(operands.front(), false);
    if (library::copies_by_source(target, source, made, live_tiles, limits, limits.walk))
      return map_by_source(std::move(name), operands.front(), out, std::move(function), live_tiles);
  }
  map(std::move(name), copied_where_short(operands, out, live_tiles, made), out, std::move(function), live_tiles,
      target, made);
}

/// Of two operands of one shape.
static bool are_same_view(const Tensor& a, const Tensor& b) {
  return a.is_alias_of(b) && a.scalar_type() == b.scalar_type() && a.storage_offset() == b.storage_offset() &&
         a.strides() == b.strides();
}

std::vector<Tensor> SimulatedOperations::copied_where_short(const std::vector<Tensor>& operands, const Tensor& out,
                                                            int live_tiles, const library::HeldBoxes& made) {
  /// What a copy takes beside what it moves: a launch, and loads of what it has written. An assumption.
  constexpr double kCopySeconds = 4e-6;
  std::vector<Tensor> near = operands;
  if (operands.size() < 2) return near;
  const topology::Topology& topology = simulation_.topology();
  const library::MachineLimits limits = library::limits_of(topology);
  const double least = static_cast<double>(topology.cube.slice_bandwidth().count()) * kCopySeconds;
  const View target = kernel_view(out, true);
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Tensor& operand = operands[o];
    // y * y has one operand twice.
    const auto first = std::ranges::find_if(operands, [&](const Tensor& each) { return are_same_view(each, operand); });
    const auto known = static_cast<std::size_t>(first - operands.begin());
    near[o] = near[known];
    if (known != o || !library::copies_by_source(target, kernel_view(operand, false), made, live_tiles, limits, least))
      continue;
    near[o] = temporary(out, operand.sizes().vec(), operand.scalar_type());
    copy(operand, near[o]);
  }
  return near;
}

void SimulatedOperations::map_by_source(std::string name, const Tensor& operand, const Tensor& out,
                                        library::TileFunction function, int live_tiles) {
  launch({.name = std::move(name),
          .written = {out},
          .read = {operand},
          .pes = holders({&operand, 1}),
          .body = [source = kernel_view(operand, false), target = kernel_view(out, true),
                   function = std::move(function), live_tiles] {
            library::elementwise(target, {source}, function,
                                 {.live_tiles = live_tiles, .by_source = true, .shared = {}});
          }});
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
  map("copy", {from}, to, same, kLiveTiles);
  return true;
}

bool SimulatedOperations::ramp(const tensor::Ramp& ramp, const Tensor& out) {
  if (ramp.whole) {
    const auto start = static_cast<std::int32_t>(ramp.start), step = static_cast<std::int32_t>(ramp.step);
    map(ramp.name, {}, out, [start, step](const std::vector<tl::Tile>&, const library::Box& block) {
      const auto first = static_cast<std::int32_t>(start + block.offset[0] * step);
      const auto places = tl::arange(0, block.shape[0]);
      return (step == 1 ? places : places * step) + first;
    });
    return true;
  }
  const std::int64_t last = out.numel() - 1;
  // Two terms hold the step as exactly as a double does: an error of it would grow with the place.
  const auto step = static_cast<float>(ramp.step);
  const auto rest = static_cast<float>(ramp.step - static_cast<double>(step));
  const auto counted = [step, rest](const tl::Tile& places, double from) {
    const auto place = tl::cast(places, DType::f32);
    return tl::fma(place, step, tl::fma(place, rest, static_cast<float>(from)));
  };
  map(ramp.name, {}, out,
      [=, turn = ramp.turn, start = ramp.start, end = ramp.end](const std::vector<tl::Tile>&,
                                                                const library::Box& block) {
        const auto places = tl::arange(block.offset[0], block.offset[0] + block.shape[0]);
        if (block.offset[0] + block.shape[0] <= turn) return counted(places, start);
        const auto from_end = counted(places - last, end);
        return block.offset[0] >= turn ? from_end : tl::where(places < turn, counted(places, start), from_end);
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

Tensor SimulatedOperations::by_columns(const Tensor& x, std::int64_t part) {
  // What is read in less time than that is not worth a copy. An assumption: on ahbm-1sip sums of 10,000 rows of 128
  // columns, 4.6 us of short pieces, take 25.0 us without copies of rows and indices and 28.6 with them.
  constexpr double kCopySeconds = 8e-6;
  const topology::Topology& topology = simulation_.topology();
  const library::MachineLimits limits = library::limits_of(topology);
  const View view = kernel_view(x, false);
  if (view.strides[1] == 0 || view.sizes[0] == 1 || is_replicated(x)) return x;
  const std::int64_t run = library::run_of(view, {1, part}) * item_size(x.scalar_type());
  const bool is_turned = view.strides[0] < view.strides[1];
  const auto slice = static_cast<double>(topology.cube.slice_bandwidth().count());
  const std::int64_t pieces = x.numel() / part;
  const double read =
      static_cast<double>(limits.access) * static_cast<double>(pieces) / static_cast<double>(holders({&x, 1}).size());
  if (is_turned || run >= limits.access || read < slice * kCopySeconds) return x;
  const Tensor columns = temporary(x, std::vector{x.size(1), x.size(0)}, x.scalar_type());
  copy(x.t(), columns);
  return columns.t();
}

void SimulatedOperations::embedding_backward(const Tensor& grad, const Tensor& index, const tensor::EmbeddingPart& part,
                                             const Tensor& out) {
  assume_rows(part.call);
  const auto programs = static_cast<std::int64_t>(holders({&out, 1}).size());
  const std::int64_t width = library::columns_of_a_program(grad.size(1), programs);
  const std::int64_t active = tl::cdiv(grad.size(1), width);
  // Of many columns each program has its own, near to it where they lie one behind the other.
  const bool many = 2 * active > programs;
  const Tensor terms = many ? by_columns(grad, width) : grad, rows = many ? by_columns(index, width) : index;
  const View indices = kernel_view(rows, false);
  std::shared_ptr<const tl::MulticastGroup> readers;
  // What all read from one slice at the same time.
  const double read_alone = static_cast<double>(grad.size(0) * item_size(index.scalar_type()) * active);
  const bool together = indices.strides[1] == 0 && active > 1 && !is_replicated(index) &&
                        !indices.tensor.descriptor().is_interleaved() &&
                        read_alone > 2 * library::limits_of(simulation_.topology()).walk;
  if (together) {
    tl::MulticastGroup group;
    group.name = "indices";
    for (std::int64_t program = 0; program < active; ++program) group.programs.push_back(program);
    readers = std::make_shared<const tl::MulticastGroup>(std::move(group));
  }
  launch({.name = part.call,
          .written = {out},
          .read = {terms, rows},
          .pes = {},
          .body = [source = kernel_view(terms, false), indices,
                   how = library::EmbeddingTable{part.first, part.whole, part.padding}, target = kernel_view(out, true),
                   readers] { library::embedding_backward(source, indices, how, target, readers.get()); }});
}

}  // namespace kernbench::runtime
