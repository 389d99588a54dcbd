#include "distributed/flat_tensor.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>

namespace kernbench::distributed {

using addressing::Shard;
using addressing::TensorDescriptor;

std::shared_ptr<const TensorDescriptor> flat_tensor(const TensorDescriptor& tensor) {
  auto flat = std::make_shared<TensorDescriptor>();
  flat->name = tensor.name;
  flat->dtype = tensor.dtype;
  flat->va = tensor.va;
  flat->va_bytes = tensor.va_bytes;
  std::int64_t next = 0;
  std::map<std::uint64_t, std::int64_t> places;  // of the shards, by address: that of replicas is the same
  for (const Shard& shard : tensor.shards) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shard.shape) elements *= extent;
    const auto [place, is_new] = places.try_emplace(shard.va, next);
    if (is_new) next += elements;
    flat->shards.push_back({.owner = shard.owner, .offset = {place->second}, .shape = {elements}, .va = shard.va});
  }
  flat->shape = {next};
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
