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
          fold_cycles(spec, work.operand, work.k), edge_cycles(spec)};
}

}  // namespace

std::int64_t edge_cycles(const topology::GemmSpec& spec) {
  return 2 * std::int64_t{spec.array.height} + spec.array.width - 2;
}

std::int64_t fold_cycles(const topology::GemmSpec& spec, topology::GemmOperand operand, std::int64_t k) {
  return spec.rate[operand].cycles_for(k);
}

std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const Folds folds = folds_of(spec, work);
  return spec.efficiency.stretched(folds.count * folds.steady) + folds.edges;
}

std::int64_t scale_sim_cycles(const topology::GemmSpec& spec, const GemmWork& work) {
  const Folds folds = folds_of(spec, work);
  return spec.efficiency.stretched(folds.count * folds.steady) + folds.count * folds.edges;
}

Time systolic_end(const topology::PeSpec& pe, const Command& command, Time start) {
  return Clock(pe.clock).after(start, systolic_cycles(pe.gemm, command.gemm()));
}

Time scale_sim_end(const topology::PeSpec& pe, const Command& command, Time start) {
  return Clock(pe.clock).after(start, scale_sim_cycles(pe.gemm, command.gemm()));
}

}  // namespace kernbench::hardware
