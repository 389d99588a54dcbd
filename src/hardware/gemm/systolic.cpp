#include "hardware/gemm/systolic.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace kernbench::hardware {

namespace {

std::int64_t folds_of(const topology::GemmSpec& spec, const GemmWork& work) {
  assert(work.batch > 0 && work.m > 0 && work.n > 0 && work.k > 0);
  const std::int64_t rows = spec.array.height, columns = spec.array.width;
  return work.batch * ((work.m + rows - 1) / rows) * ((work.n + columns - 1) / columns);
}

/// Cycles of all folds without their fill and drain.
std::int64_t steady_cycles(const topology::GemmSpec& spec, const GemmWork& work, std::int64_t folds) {
  return spec.efficiency.stretched(folds * fold_cycles(spec, work.operand, work.k));
}

}  // namespace

std::int64_t edge_cycles(const topology::GemmSpec& spec, std::int64_t m, std::int64_t n) {
  return 2 * std::min<std::int64_t>(spec.array.height, m) + std::min<std::int64_t>(spec.array.width, n) - 2;
}

std::int64_t fold_cycles(const topology::GemmSpec& spec, topology::GemmOperand operand, std::int64_t k) {
  return spec.rate[operand].cycles_for(k);
}

std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  return steady_cycles(spec, work, folds_of(spec, work)) + edge_cycles(spec, work.m, work.n);
}

std::int64_t follow_cycles(const topology::GemmSpec& spec, const GemmWork& work, const GemmWork& next, bool adds_to) {
  const std::int64_t folds = folds_of(spec, work), steady = steady_cycles(spec, work, folds);
  if (!adds_to || folds == 1) return steady;
  const std::int64_t edge = edge_cycles(spec, work.m, work.n);
  const std::int64_t first = steady_cycles(spec, work, 1) + edge;
  const std::int64_t last = steady + edge - steady_cycles(spec, next, folds - 1);
  return std::max({steady, first, last});
}

std::int64_t scale_sim_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const std::int64_t folds = folds_of(spec, work);
  return steady_cycles(spec, work, folds) + folds * edge_cycles(spec, spec.array.height, spec.array.width);
}

Time systolic_end(const topology::PeSpec& pe, const Command& command, Time start) {
  return Clock(pe.clock).after(start, systolic_cycles(pe.gemm, command.gemm()));
}

Time systolic_follow(const topology::PeSpec& pe, const Command& before, const Command& next) {
  return Clock(pe.clock).after(before.times.started,
                               follow_cycles(pe.gemm, before.gemm(), next.gemm(), next.continues));
}

Time scale_sim_end(const topology::PeSpec& pe, const Command& command, Time start) {
  return Clock(pe.clock).after(start, scale_sim_cycles(pe.gemm, command.gemm()));
}

}  // namespace kernbench::hardware
