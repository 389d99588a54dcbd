#include "tensor/placement/device_part.h"

#include <fmt/format.h>

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

}  // namespace kernbench::tensor
