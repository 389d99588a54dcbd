#include "distributed/flat_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace kernbench::distributed {

using addressing::Shard;
using addressing::TensorDescriptor;

namespace {

/// Equal parts of whole granules of a flat array, one after the other, for the PEs over whose slices it is spread.
void append_parts(const TensorDescriptor& flat, const Shard& array, std::vector<Shard>& shards) {
  const std::int64_t elements = array.shape[0], slices = flat.interleaving.slices();
  const std::int64_t granule = flat.interleaving.granule.count() / item_size(flat.dtype);
  const std::int64_t granules = (elements + granule - 1) / granule, each = (granules + slices - 1) / slices * granule;
  const InterleavedRegion region(array.owner, flat.interleaving);
  for (std::int64_t i = 0; i * each < elements; ++i) {
    const std::int64_t begin = i * each;
    shards.push_back({.owner = region.slice(static_cast<std::uint32_t>(i)),
                      .offset = {array.offset[0] + begin},
                      .shape = {std::min(each, elements - begin)},
                      .va = array.va + static_cast<std::uint64_t>(begin * item_size(flat.dtype))});
  }
}

}  // namespace

std::shared_ptr<const TensorDescriptor> flat_tensor(const TensorDescriptor& tensor) {
  auto flat = std::make_shared<TensorDescriptor>();
  flat->name = tensor.name;
  flat->dtype = tensor.dtype;
  flat->va = tensor.va;
  flat->va_bytes = tensor.va_bytes;
  flat->interleaving = tensor.interleaving;
  std::vector<Shard>& stored = tensor.is_interleaved() ? flat->arrays : flat->shards;
  std::int64_t next = 0;
  std::map<std::uint64_t, std::int64_t> places;  // of the shards, by address: that of replicas is the same
  for (const Shard& shard : tensor.stored()) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shard.shape) elements *= extent;
    const auto [place, is_new] = places.try_emplace(shard.va, next);
    if (is_new) next += elements;
    stored.push_back({.owner = shard.owner, .offset = {place->second}, .shape = {elements}, .va = shard.va});
  }
  flat->shape = {next};
  for (const Shard& array : flat->arrays) append_parts(*flat, array, flat->shards);
  return flat;
}

std::string shards_text(const TensorDescriptor& flat) {
  if (flat.shards.empty()) return "no shards";
  std::set<PeCoordinate> owners;
  for (const Shard& shard : flat.shards) owners.insert(shard.owner);
  const auto text = [](PeCoordinate pe) { return fmt::format("cube{}.pe{}", pe.cube.value, pe.pe.value); };
  return fmt::format("{} shard{} on {} PE{} from {} to {}, the first of {} elements", flat.shards.size(),
                     flat.shards.size() == 1 ? "" : "s", owners.size(), owners.size() == 1 ? "" : "s",
                     text(*owners.begin()), text(*owners.rbegin()), flat.shards.front().shape[0]);
}

}  // namespace kernbench::distributed
