#include "distributed/shares.h"

#include <algorithm>

#include "kernbench/dtype.h"
#include "tensor/placement/device_part.h"

namespace kernbench::distributed {
namespace {

std::int64_t quotient_up(std::int64_t of, std::int64_t by) {
  return (of + by - 1) / by;
}

}  // namespace

Range Shares::of(PeCoordinate pe) const {
  const auto place = std::ranges::find(pes, pe) - pes.begin();
  const std::int64_t begin = std::min(place * each, all);
  return {begin, std::min(begin + each, all)};
}

std::optional<PeCoordinate> only_holder(const addressing::TensorDescriptor& tensor) {
  if (tensor.shards.empty()) return std::nullopt;
  const PeCoordinate owner = tensor.shards.front().owner;
  const auto is_elsewhere = [&](const addressing::Shard& shard) { return shard.owner != owner; };
  if (std::ranges::any_of(tensor.shards, is_elsewhere)) return std::nullopt;
  return owner;
}

std::optional<Shares> shares_of(const addressing::TensorDescriptor& flat, const topology::Topology& machine) {
  const auto owner = only_holder(flat);
  if (!owner) return std::nullopt;
  const auto every_pe = tensor::DevicePart(owner->sip).pes(machine);
  const std::int64_t elements = flat.shape.front();
  const std::int64_t page = std::max<std::int64_t>(1, machine.cube.hbm.interleave.count() / item_size(flat.dtype));
  Shares shares{.all = elements};
  shares.each = quotient_up(quotient_up(elements, std::ssize(every_pe)), page) * page;
  if (shares.each == 0) return std::nullopt;
  const std::int64_t count = quotient_up(elements, shares.each);
  if (count < 2) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i)
    shares.pes.push_back(every_pe[static_cast<std::size_t>(i * std::ssize(every_pe) / count)]);
  return shares;
}

}  // namespace kernbench::distributed
