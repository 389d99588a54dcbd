#include "hardware/gemm/systolic.h"

#include <cassert>

namespace kernbench::hardware {

namespace {

struct Folds {
  std::int64_t count = 0;
  std::int64_t steady = 0;  // cycles of one fold without its fill and drain
  std::int64_t edges = 0;   // fill and drain
};

Folds folds_of(const topology::GemmSpec& spec, const GemmWork& work) {
  assert(work.batch > 0 && work.m > 0 && work.n > 0 && work.k > 0);
  const std::int64_t rows = spec.array.height;
  const std::int64_t columns = spec.array.width;
  return {work.batch * ((work.m + rows - 1) / rows) * ((work.n + columns - 1) / columns),
          spec.rate[work.operand].cycles_for(work.k), 2 * rows + columns - 2};
}

}  // namespace

std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const Folds folds = folds_of(spec, work);
  return folds.count * folds.steady + folds.edges;
}

std::int64_t scale_sim_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const Folds folds = folds_of(spec, work);
  return folds.count * (folds.steady + folds.edges);
}

Time systolic_end(const topology::PeSpec& pe, const Operation& operation, Time start) {
  return Clock(pe.clock).after(start, systolic_cycles(pe.gemm, operation.gemm));
}

Time scale_sim_end(const topology::PeSpec& pe, const Operation& operation, Time start) {
  return Clock(pe.clock).after(start, scale_sim_cycles(pe.gemm, operation.gemm));
}

}  // namespace kernbench::hardware
