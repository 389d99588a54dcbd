#include "distributed/flat_tensor.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/fingerprint.h"
#include "kernbench/placement.h"
#include "runtime/context.h"
#include "runtime/tensor_impl.h"

namespace kernbench::distributed {

using kernel::Shard;
using kernel::TensorDescriptor;

std::shared_ptr<const TensorDescriptor> flat_tensor(const torch::Tensor& tensor, const std::string& parameter) {
  const auto whole = runtime::launch_descriptor(tensor, parameter);
  auto flat = std::make_shared<TensorDescriptor>();
  flat->name = whole->name;
  flat->dtype = whole->dtype;
  flat->va = whole->va;
  flat->va_bytes = whole->va_bytes;
  std::int64_t next = 0;
  std::map<std::uint64_t, std::int64_t> places;  // of the shards, by address: that of replicas is the same
  for (const Shard& shard : whole->shards) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shard.shape) elements *= extent;
    const auto [place, is_new] = places.try_emplace(shard.va, next);
    if (is_new) next += elements;
    flat->shards.push_back({.owner = shard.owner, .offset = {place->second}, .shape = {elements}, .va = shard.va});
  }
  flat->shape = {next};
  return flat;
}

bool lies_as_if_new(const torch::Tensor& tensor, const TensorDescriptor& flat) {
  const auto& view = runtime::impl_of(tensor);
  const auto& whole = *view.storage->device->descriptor();
  if (view.sizes == whole.shape) return true;
  const auto& context = runtime::current_context("a tensor's placement");
  const auto fresh = runtime::shards_on(context.part(SipId{view.device.index()}), view.policy, view.sizes,
                                        item_size(view.dtype), context.simulation.topology());
  TensorDescriptor as_new;
  std::int64_t next = 0;
  std::map<std::vector<std::int64_t>, std::int64_t> places;  // of the boxes: that of replicas is the same
  for (const ShardSpec& box : fresh) {
    const std::int64_t elements = box.bytes / item_size(view.dtype);
    const auto [place, is_new] = places.try_emplace(box.offset, next);
    if (is_new) next += elements;
    as_new.shards.push_back({.owner = {box.sip, box.cube, box.pe}, .offset = {place->second}, .shape = {elements}});
  }
  return placement_hash(as_new) == placement_hash(flat);
}

std::uint64_t placement_hash(const TensorDescriptor& flat, bool pes) {
  Fingerprint hash;
  for (const Shard& shard : flat.shards) {
    if (pes) {
      hash.add(static_cast<std::uint64_t>(shard.owner.cube.value));
      hash.add(static_cast<std::uint64_t>(shard.owner.pe.value));
    }
    hash.add(static_cast<std::uint64_t>(shard.offset[0]));
    hash.add(static_cast<std::uint64_t>(shard.shape[0]));
  }
  return hash.value();
}

std::string placement_text(const TensorDescriptor& flat) {
  if (flat.shards.empty()) return "no shards";
  std::set<PeCoordinate> owners;
  for (const Shard& shard : flat.shards) owners.insert(shard.owner);
  const auto text = [](PeCoordinate pe) { return fmt::format("cube{}.pe{}", pe.cube.value, pe.pe.value); };
  return fmt::format("{} shard{} on {} PE{} from {} to {}, the first of {} elements", flat.shards.size(),
                     flat.shards.size() == 1 ? "" : "s", owners.size(), owners.size() == 1 ? "" : "s",
                     text(*owners.begin()), text(*owners.rbegin()), flat.shards.front().shape[0]);
}

}  // namespace kernbench::distributed
