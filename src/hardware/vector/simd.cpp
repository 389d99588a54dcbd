#include "hardware/vector/simd.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace kernbench::hardware {
namespace {

constexpr std::int64_t kLaneBytes = 4;

}  // namespace

std::int64_t simd_cycles(const topology::VectorSpec& spec, const VectorWork& work) {
  assert(work.elements >= 0 && work.item_bytes > 0 && work.reduced > 0);
  const std::int64_t width = std::max(work.item_bytes, spec.narrowest.count());
  const std::int64_t lane_bytes = std::int64_t{spec.lanes} * kLaneBytes;
  const std::int64_t groups = (work.elements * width + lane_bytes - 1) / lane_bytes;
  const std::int64_t side_by_side =
      std::clamp<std::int64_t>(work.reduced, 1, std::max<std::int64_t>(lane_bytes / width, 1));
  const auto levels = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(side_by_side - 1)));
  const std::int64_t cycles = spec.startup_cycles + groups * spec.cycles[work.operation] +
                              levels * spec.cycles[topology::VectorOperation::reduce_level];
  return std::max<std::int64_t>(cycles, 1);
}

Time simd_end(const topology::PeSpec& pe, const Command& command, Time start) {
  const Clock clock(pe.clock);
  const std::int64_t first = clock.cycle_at_or_after(start);
  const Time operands = transfer_time(command.vector().operand_bytes, pe.tcm.bandwidth);
  return clock.edge(std::max(first + simd_cycles(pe.vector, command.vector()),
                             clock.cycle_at_or_after(clock.edge(first) + operands)));
}

}  // namespace kernbench::hardware
