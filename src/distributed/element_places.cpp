#include "distributed/element_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "base/fingerprint.h"
#include "base/quantity.h"
#include "kernbench/placement.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {

using addressing::Shard;
using addressing::TensorDescriptor;

std::uint64_t element_places(const TensorDescriptor& tensor, bool pes) {
  Fingerprint hash;
  if (tensor.is_interleaved()) {
    const auto& [cubes, per_cube, granule] = tensor.interleaving;
    for (const std::int64_t each : {std::int64_t{cubes}, std::int64_t{per_cube}, granule.count()})
      hash.add(static_cast<std::uint64_t>(each));
  }
  for (const Shard& shard : tensor.stored()) {
    if (pes) {
      hash.add(static_cast<std::uint64_t>(shard.owner.cube.value));
      hash.add(static_cast<std::uint64_t>(shard.owner.pe.value));
    }
    // A shard is row-major, so that its box says which element is its n-th.
    for (const std::int64_t index : shard.offset) hash.add(static_cast<std::uint64_t>(index));
    for (const std::int64_t extent : shard.shape) hash.add(static_cast<std::uint64_t>(extent));
  }
  return hash.value();
}

namespace {

const char* placement_name(Placement placement) {
  switch (placement) {
    case Placement::balanced:
      return "balanced";
    case Placement::interleaved:
      return "interleaved";
    case Placement::replicate:
      return "replicate";
    case Placement::row_wise:
      return "row_wise";
    case Placement::column_wise:
      return "column_wise";
    case Placement::tiled_row_major:
      return "tiled_row_major";
    case Placement::tiled_column_major:
      break;
  }
  return "tiled_column_major";
}

// Each call of a process group has it, and hardly any shows it: put together without a format string.
void append_level(std::string& text, Placement placement, int given, int all, const char* what) {
  const int count = given == 0 ? all : given;
  text.append(placement_name(placement)).append(" over ").append(std::to_string(count)).append(1, ' ').append(what);
  if (count != 1) text += 's';
}

}  // namespace

std::string placement_text(const torch::Tensor& tensor, const runtime::HostContext& context) {
  const auto& view = tensor::impl_of(tensor);
  const auto& topology = context.simulation.topology();
  std::string text = "one PE";
  if (!context.pe) {
    text.clear();
    text.reserve(80);
    append_level(text, view.policy.cube, view.policy.num_cubes, topology.sip.cubes.count(), "cube");
    text += ", ";
    append_level(text, view.policy.pe, view.policy.num_pes, topology.cube.pes.count(), "PE");
    text += " of each";
    if (view.policy.granule != Bytes(0)) text += " in granules of " + to_quantity(view.policy.granule);
  }
  const auto& whole = *view.storage->device->descriptor();
  if (view.sizes == whole.shape) return text;
  return fmt::format("{} (of a tensor of shape [{}], from element {})", text, fmt::join(whole.shape, ", "),
                     view.offset);
}

bool lies_as_if_new(const torch::Tensor& tensor, const TensorDescriptor& descriptor) {
  const auto& view = tensor::impl_of(tensor);
  if (view.sizes == view.storage->device->descriptor()->shape) return true;
  const auto& context = runtime::current_context("a tensor's placement");
  const auto& topology = context.simulation.topology();
  const auto part = context.part(SipId{view.device.index()});
  const auto interleaving = tensor::interleaving_on(part, view.policy, topology);
  TensorDescriptor as_new;
  as_new.interleaving = interleaving.value_or(Interleaving{});
  for (ShardSpec& box : (interleaving ? tensor::arrays_on : tensor::shards_on)(part, view.policy, view.sizes,
                                                                               item_size(view.dtype), topology)) {
    (interleaving ? as_new.arrays : as_new.shards)
        .push_back(
            {.owner = {box.sip, box.cube, box.pe}, .offset = std::move(box.offset), .shape = std::move(box.shape)});
  }
  return element_places(as_new) == element_places(descriptor);
}

}  // namespace kernbench::distributed
