// The one list of built-in benches, and how one is run.
#include "benches/benches.h"
#include "kernbench/bench.h"
#include "kernbench/simulate.h"

// Benches that are written as a user's are: KERNBENCH_BENCH defines a function for each.
extern "C" void kernbench_bench_vector_add(kernbench::BenchDefinition& bench);

namespace kernbench::cli {
namespace {

Bench bench_of(void (*define)(BenchDefinition&)) {
  BenchDefinition definition;
  define(definition);
  return {definition.name, definition.help, definition.parameters,
          [run = definition.run](const Parameters&) { run(); }};
}

}  // namespace

const std::vector<Bench>& built_in_benches() {
  static const std::vector<Bench> benches{bench_of(kernbench_bench_vector_add),
                                          benches::gemm_single_pe(),
                                          benches::gemm(),
                                          benches::softmax(),
                                          benches::layer_norm(),
                                          benches::memory_sweep(),
                                          benches::roofline(),
                                          benches::copy_bandwidth(),
                                          benches::va_offset_verify(),
                                          benches::gpt3_qkv(),
                                          benches::gpt3_weights(),
                                          benches::ccl_allreduce(),
                                          benches::p2p_bandwidth(),
                                          benches::scaled_add_ddp()};
  return benches;
}

RunResult execute(const Bench& bench, const RunOptions& options) {
  const Parameters parameters(bench.name, bench.parameters, options.parameters);
  SimulateOptions simulation;
  simulation.topology = options.topology;
  simulation.overrides = options.overrides;
  simulation.data = options.data;
  simulation.exact_events = options.exact_events;
  simulation.seed = options.seed;
  simulation.out_of_bounds_reads = options.out_of_bounds_reads;
  simulation.uninitialized_memory = options.uninitialized_memory;
  simulation.skip_floating_point_ops = options.skip_floating_point_ops;
  simulation.threads = options.threads;
  simulation.least_slots = options.least_slots;
  if (options.silent) simulation.print = simulation.warn = [](std::string_view) {};
  simulation.max_time = options.max_time;
  simulation.max_polls = options.max_polls;
  simulation.stack_size = options.stack_size;
  simulation.watchdog_seconds = options.watchdog_seconds;
  simulation.on_stuck = options.on_stuck;
  simulation.operation_log = options.op_log;
  simulation.trace = options.trace;
  simulation.whole_run = options.whole_run;
  simulation.correlation_id = options.correlation_id;
  simulation.stop_requested = options.stop_requested;
  simulation.progress_due = options.progress_due;
  simulation.on_progress = options.on_progress;
  simulation.parameters = parameters;
  simulation.models = bench.models;
  RunResult result = try_simulate(simulation, [&] { bench.run(parameters); });
  result.bench = bench.name;
  result.parameters = parameters.values();
  return result;
}

}  // namespace kernbench::cli
