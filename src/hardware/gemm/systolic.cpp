#include "hardware/gemm/systolic.h"

#include <cassert>

namespace kernbench::hardware {

std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  assert(work.batch > 0 && work.m > 0 && work.n > 0 && work.k > 0 && work.cycles_per_step > 0);
  const std::int64_t rows = spec.array.height;
  const std::int64_t columns = spec.array.width;
  const std::int64_t folds = work.batch * ((work.m + rows - 1) / rows) * ((work.n + columns - 1) / columns);
  return folds * work.k * work.cycles_per_step + 2 * rows + columns - 2;
}

Time systolic_end(const topology::PeSpec& pe, const Operation& operation, Time start) {
  return Clock(pe.clock).after(start, systolic_cycles(pe.gemm, operation.gemm));
}

}  // namespace kernbench::hardware
