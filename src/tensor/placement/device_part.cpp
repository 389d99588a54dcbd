#include "tensor/placement/device_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::tensor {

std::vector<PeCoordinate> DevicePart::pes(const topology::Topology& topology) const {
  if (is_pe_) return {first_};
  std::vector<PeCoordinate> all;
  for (std::int32_t cube = 0; cube < topology.sip.cubes.count(); ++cube) {
    for (std::int32_t pe = 0; pe < topology.cube.pes.count(); ++pe) all.push_back({first_.sip, CubeId{cube}, PeId{pe}});
  }
  return all;
}

PeCoordinate DevicePart::counterpart(PeCoordinate other) const {
  return is_pe_ ? first_ : PeCoordinate{first_.sip, other.cube, other.pe};
}

std::string DevicePart::name() const {
  return is_pe_ ? to_text(first_) : fmt::format("ahbm:{}", first_.sip.value);
}

Name to_name(const DevicePart& part) {
  if (part.is_pe_) return kernbench::to_name(part.first_);
  return "ahbm:" + Name::slot(SlotKind::part, part.first_.sip.value);
}

namespace {

void check_one(const char* what, int wanted, const DevicePart& part) {
  if (wanted == 0 || wanted == 1) return;
  throw ValueError(
      fmt::format("DPPolicy: {} is {}, but the rank is one PE, {} (its world has more ranks than the machine has "
                  "SIPs); give 1, or 0 for all",
                  what, wanted, part.name()));
}

}  // namespace

std::vector<ShardSpec> shards_on(const DevicePart& part, const DPPolicy& policy, std::span<const std::int64_t> shape,
                                 std::int64_t itemsize, const topology::Topology& topology) {
  const auto pe = part.pe();
  if (!pe) {
    return resolve_dp_policy(policy, shape, itemsize, topology.cube.pes.count(), topology.sip.cubes.count(),
                             part.sip());
  }
  check_one("num_cubes", policy.num_cubes, part);
  check_one("num_pes", policy.num_pes, part);
  auto shards = resolve_dp_policy(policy, shape, itemsize, 1, 1, part.sip());
  for (ShardSpec& shard : shards) {
    shard.cube = pe->cube;
    shard.pe = pe->pe;
  }
  return shards;
}

namespace {

Bytes granule_of(const DPPolicy& policy, const topology::Topology& topology) {
  // An element lies in one granule, and a page holds whole granules.
  const Bytes least = std::max(topology.cube.hbm.access, Bytes(8)), most = topology.pe.mmu.page;
  const Bytes granule =
      policy.granule == Bytes(0) ? std::max(std::min(topology.cube.hbm.interleave, most), least) : policy.granule;
  if (granule >= least && granule <= most && std::has_single_bit(static_cast<std::uint64_t>(granule.count())))
    return granule;
  throw ValueError(fmt::format(
      "DPPolicy: granule is {}; give a power of two from {} (cube.hbm.access, at least 8B) to {} (pe.mmu.page), or 0 "
      "for cube.hbm.interleave",
      to_quantity(granule), to_quantity(least), to_quantity(most)));
}

}  // namespace

std::optional<Interleaving> interleaving_on(const DevicePart& part, const DPPolicy& policy,
                                            const topology::Topology& topology) {
  if (policy.pe != Placement::interleaved) return std::nullopt;
  Interleaving how{.cubes = 1, .pes = 1, .granule = granule_of(policy, topology)};
  if (part.pe()) return how;
  how.pes = policy.num_pes != 0 ? policy.num_pes : topology.cube.pes.count();
  if (policy.cube == Placement::interleaved)
    how.cubes = policy.num_cubes != 0 ? policy.num_cubes : topology.sip.cubes.count();
  return how;
}

std::vector<ShardSpec> arrays_on(const DevicePart& part, const DPPolicy& policy, std::span<const std::int64_t> shape,
                                 std::int64_t itemsize, const topology::Topology& topology) {
  (void)shards_on(part, policy, {}, itemsize, topology);  // checks the policy
  DPPolicy of_cubes{.cube = policy.cube, .pe = Placement::replicate, .num_cubes = policy.num_cubes, .num_pes = 1};
  if (policy.cube == Placement::interleaved) of_cubes = {.cube = Placement::replicate, .num_cubes = 1, .num_pes = 1};
  return shards_on(part, of_cubes, shape, itemsize, topology);
}

}  // namespace kernbench::tensor
