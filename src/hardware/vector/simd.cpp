#include "hardware/vector/simd.h"

#include <algorithm>
#include <cassert>

namespace kernbench::hardware {

std::int64_t simd_cycles(const topology::VectorSpec& spec, const VectorWork& work) {
  assert(work.elements > 0 && work.cycles_per_group > 0 && work.reduction_levels >= 0);
  const std::int64_t groups = (work.elements + spec.lanes - 1) / spec.lanes;
  return spec.startup_cycles + groups * work.cycles_per_group + work.reduction_levels;
}

Time simd_end(const topology::PeSpec& pe, const Operation& operation, Time start) {
  const Clock clock(pe.clock);
  const std::int64_t first = clock.cycle_at_or_after(start);
  const Time operands = transfer_time(operation.vector.operand_bytes, pe.tcm.bandwidth);
  return clock.edge(std::max(first + simd_cycles(pe.vector, operation.vector),
                             clock.cycle_at_or_after(clock.edge(first) + operands)));
}

}  // namespace kernbench::hardware
