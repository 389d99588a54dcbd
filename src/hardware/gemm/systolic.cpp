#include "hardware/gemm/systolic.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace kernbench::hardware {

namespace {

/// The part of the array that the folds of a command take, and how many there are.
struct Folds {
  std::int64_t rows, columns, count;
};

Folds folds_of(const topology::GemmSpec& spec, const GemmWork& work) {
  assert(work.batch > 0 && work.m > 0 && work.n > 0 && work.k > 0);
  const auto taken = [](std::int64_t there, std::int64_t asked, std::int64_t extent) {
    return std::min(extent, asked == 0 ? there : std::min(there, asked));
  };
  const std::int64_t rows = taken(spec.array.height, work.fold_rows, work.m);
  const std::int64_t columns = taken(spec.array.width, work.fold_columns, work.n);
  return {rows, columns, work.batch * ((work.m + rows - 1) / rows) * ((work.n + columns - 1) / columns)};
}

std::int64_t edge_of(const Folds& folds) {
  return 2 * folds.rows + folds.columns - 2;
}

/// Cycles of all folds without their fill and drain.
std::int64_t steady_cycles(const topology::GemmSpec& spec, const GemmWork& work, std::int64_t folds) {
  return spec.efficiency.stretched(folds * fold_cycles(spec, work.operand, work.k));
}

}  // namespace

std::int64_t edge_cycles(const topology::GemmSpec& spec, std::int64_t m, std::int64_t n) {
  return edge_of(folds_of(spec, {.m = m, .n = n, .k = 1}));
}

std::int64_t fold_cycles(const topology::GemmSpec& spec, topology::GemmOperand operand, std::int64_t k) {
  return spec.rate[operand].cycles_for(k);
}

std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const Folds folds = folds_of(spec, work);
  return steady_cycles(spec, work, folds.count) + edge_of(folds);
}

std::int64_t follow_cycles(const topology::GemmSpec& spec, const GemmWork& work, const GemmWork& next, bool adds_to) {
  const Folds folds = folds_of(spec, work), behind = folds_of(spec, next);
  const std::int64_t steady = steady_cycles(spec, work, folds.count), edge = edge_of(folds);
  if (!adds_to) return steady;
  if (folds.rows != behind.rows || folds.columns != behind.columns) return steady + edge;
  if (folds.count == 1) return steady;
  const std::int64_t first = steady_cycles(spec, work, 1) + edge;
  const std::int64_t last = steady + edge - steady_cycles(spec, next, folds.count - 1);
  return std::max({steady, first, last});
}

std::int64_t scale_sim_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const GemmWork whole{work.batch, work.m, work.n, work.k, work.operand};
  const std::int64_t folds = folds_of(spec, whole).count;
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
