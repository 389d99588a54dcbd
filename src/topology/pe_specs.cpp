#include "topology/pe_specs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "topology/overrides.h"
#include "topology/part_names.h"

namespace kernbench::topology {
namespace {

void apply(const PartOverride& change, PeSpec& pe) {
  pe.clock = change.clock.value_or(pe.clock);
  pe.gemm.array = change.gemm_array.value_or(pe.gemm.array);
  pe.vector.lanes = change.vector_lanes.value_or(pe.vector.lanes);
}

}  // namespace

PeSpecs::PeSpecs(const Topology& topology) : common_(topology.pe) {
  if (std::ranges::none_of(topology.overrides, is_of_pes)) return;
  std::vector<PeCoordinate> places;
  std::vector<std::string> texts;
  for (std::int32_t index = 0; index < topology.system.sips * topology.pes_per_sip(); ++index) {
    const std::int32_t pes = topology.cube.pes.count(), cubes = topology.sip.cubes.count();
    places.push_back({SipId{index / pes / cubes}, CubeId{index / pes % cubes}, PeId{index % pes}});
    texts.push_back(to_text(places.back()));
  }
  const PartNames names({texts.begin(), texts.end()});
  for (const PartOverride& change : topology.overrides) {
    if (!is_of_pes(change)) continue;
    names.for_each(change.part,
                   [&](std::size_t pe) { apply(change, own_.emplace(places[pe], topology.pe).first->second); });
  }
}

}  // namespace kernbench::topology
