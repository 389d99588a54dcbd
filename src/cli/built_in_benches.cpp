#include "cli/built_in_benches.h"

#include <initializer_list>

#include "kernbench/bench.h"

// What KERNBENCH_BENCH defines: a function for each bench.
extern "C" {
void kernbench_bench_vector_add(kernbench::BenchDefinition& bench);
void kernbench_bench_gemm_single_pe(kernbench::BenchDefinition& bench);
void kernbench_bench_gemm(kernbench::BenchDefinition& bench);
void kernbench_bench_softmax(kernbench::BenchDefinition& bench);
void kernbench_bench_layer_norm(kernbench::BenchDefinition& bench);
void kernbench_bench_attention(kernbench::BenchDefinition& bench);
void kernbench_bench_memory_sweep(kernbench::BenchDefinition& bench);
void kernbench_bench_roofline(kernbench::BenchDefinition& bench);
void kernbench_bench_copy_bandwidth(kernbench::BenchDefinition& bench);
void kernbench_bench_va_offset_verify(kernbench::BenchDefinition& bench);
void kernbench_bench_gpt(kernbench::BenchDefinition& bench);
void kernbench_bench_moe(kernbench::BenchDefinition& bench);
void kernbench_bench_gpt3_qkv(kernbench::BenchDefinition& bench);
void kernbench_bench_gpt3_weights(kernbench::BenchDefinition& bench);
void kernbench_bench_ccl_allreduce(kernbench::BenchDefinition& bench);
void kernbench_bench_ccl_collective(kernbench::BenchDefinition& bench);
void kernbench_bench_p2p_bandwidth(kernbench::BenchDefinition& bench);
void kernbench_bench_scaled_add_ddp(kernbench::BenchDefinition& bench);
void kernbench_bench_tp_mlp(kernbench::BenchDefinition& bench);
void kernbench_bench_tp_block(kernbench::BenchDefinition& bench);
}

namespace kernbench::cli {
namespace {

std::vector<Bench> benches_of(std::initializer_list<void (*)(BenchDefinition&)> functions) {
  std::vector<Bench> benches;
  for (const auto define : functions) {
    BenchDefinition definition;
    define(definition);
    benches.push_back({definition.name, definition.help, definition.parameters, definition.run});
  }
  return benches;
}

}  // namespace

const std::vector<Bench>& built_in_benches() {
  static const std::vector<Bench> benches = benches_of({kernbench_bench_vector_add,
                                                        kernbench_bench_gemm_single_pe,
                                                        kernbench_bench_gemm,
                                                        kernbench_bench_softmax,
                                                        kernbench_bench_layer_norm,
                                                        kernbench_bench_attention,
                                                        kernbench_bench_memory_sweep,
                                                        kernbench_bench_roofline,
                                                        kernbench_bench_copy_bandwidth,
                                                        kernbench_bench_va_offset_verify,
                                                        kernbench_bench_gpt3_qkv,
                                                        kernbench_bench_gpt3_weights,
                                                        kernbench_bench_ccl_allreduce,
                                                        kernbench_bench_ccl_collective,
                                                        kernbench_bench_p2p_bandwidth,
                                                        kernbench_bench_scaled_add_ddp,
                                                        kernbench_bench_tp_mlp,
                                                        kernbench_bench_tp_block,
                                                        kernbench_bench_gpt,
                                                        kernbench_bench_moe});
  return benches;
}

}  // namespace kernbench::cli
