#include "hardware/vector/simd.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace kernbench::hardware {
namespace {

constexpr std::int64_t kLaneBytes = 4;

/// Its result needs all of its operand: what comes after it begins when the pipeline is empty.
bool drains(topology::VectorOperation operation) {
  using enum topology::VectorOperation;
  return operation == reduce || operation == argreduce || operation == scan || operation == gather || operation == sort;
}

/// Of one operation, without the start of the pipeline.
std::int64_t step_cycles(const topology::VectorSpec& spec, const VectorStep& step) {
  assert(step.elements >= 0 && step.item_bytes > 0 && step.reduced > 0);
  const std::int64_t width = std::max(step.item_bytes, spec.narrowest.count());
  const std::int64_t lane_bytes = std::int64_t{spec.lanes} * kLaneBytes;
  const std::int64_t groups = (step.elements * width + lane_bytes - 1) / lane_bytes;
  const std::int64_t side_by_side =
      std::clamp<std::int64_t>(step.reduced, 1, std::max<std::int64_t>(lane_bytes / width, 1));
  const auto levels = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(side_by_side - 1)));
  return groups * spec.cycles[step.operation] + levels * spec.cycles[topology::VectorOperation::reduce_level];
}

}  // namespace

std::int64_t simd_cycles(const topology::VectorSpec& spec, const VectorWork& work) {
  std::int64_t cycles = spec.startup_cycles;
  bool empty = false;  // the pipeline, which then starts anew
  work.each(DType::f32, [&](const VectorStep& step) {
    if (empty) cycles += spec.startup_cycles;
    cycles += step_cycles(spec, step);
    empty = drains(step.operation);
  });
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
