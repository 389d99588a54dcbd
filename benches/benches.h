// The programs that KernBench brings along, one function each; listed in registry.cpp.
#pragma once

#include "cli/bench_registry.h"

namespace kernbench::benches {

cli::Bench gemm();
cli::Bench gemm_single_pe();
cli::Bench softmax();
cli::Bench layer_norm();
cli::Bench memory_sweep();
cli::Bench copy_bandwidth();
cli::Bench va_offset_verify();
cli::Bench gpt3_qkv();
cli::Bench gpt3_weights();
cli::Bench roofline();
cli::Bench ccl_allreduce();
cli::Bench p2p_bandwidth();
cli::Bench scaled_add_ddp();

}  // namespace kernbench::benches
