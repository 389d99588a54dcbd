// The programs that KernBench brings along, one function each; listed in registry.cpp.
#pragma once

#include "cli/bench_registry.h"

namespace kernbench::benches {

cli::Bench vector_add();
cli::Bench gemm();
cli::Bench gemm_single_pe();

}  // namespace kernbench::benches
