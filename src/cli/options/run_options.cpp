#include "cli/options/run_options.h"

#include <string>

#include "base/quantity.h"
#include "cli/options/option_values.h"

namespace kernbench::cli {

void RunOptions::declare(OptionSet& options) {
  options.text("BENCH", bench, "", "One of \"kernbench list\", or a C++ file: with a '/', .cpp, .cc or .cxx");
  options.text("-t,--topology", topology, "TOPOLOGY", "Shipped topology or YAML file (default: ahbm-1sip)");
  options.text("--set", overrides, "PATH=VALUE", "Override one value of the topology; repeatable");
  options.text("-p,--parameter", parameters, "NAME=VALUE", "Set a parameter of the bench; repeatable");
  options.flag("--no-data", no_data, "Compute no values: same times, no memory for tensors, checks skipped");
  options.flag("--exact-events", exact_events, "Turn off every shortcut of the timed model: same results, slower");
  options.flag("--alike-devices", alike_devices, "All devices do the same: simulate one; with --no-data");
  options.flag("--detect-races", detect_races, "Look for accesses to the same bytes that nothing orders");
  options.flag("--quick-plans", quick_plans, "Measure no plans of matrix products: sooner, but they may be slower");
  options.flag("--no-explain", no_explain, "Explain nothing: same times, faster, no critical path or waits");
  options.text("--seed,--random-seed", seed, "N", "Seed of the program's random numbers (default: 0)");
  options.text("--out-of-bounds-reads", reads, "WHAT", "raise (default), or uninitialized: those lanes are invalid");
  options.text("--uninitialized-memory", memory, "WHAT", "poison (default): reads as invalid; or zero");
  options.flag("--skip-floating-point-ops", skip_floating, "Leave them out: same times, their checks skipped");
  options.text("--threads", threads, "N", "Host threads that compute values (default: 0, all processors)");
  limits.declare_max_time(options);
  options.text("--max-polls", max_polls, "N", "Tries in vain of each fiber that polls before that is a livelock");
  options.text("--stack-size", stack_size, "SIZE", "Least stack of programs, ranks and kernels, such as 8MiB");
  limits.declare_watchdog(options);
  options.text("--json", json, "FILE", "Write the result as JSON; '-' is standard output, without the table");
  options.text("--op-log", op_log, "FILE", "Write one line per operation of the simulated engines");
  options.text("--trace", trace, "FILE", "Write a timeline, for ui.perfetto.dev");
  options.text("--wait-graph", wait_graph, "FILE", "Write who waits for whom in a deadlock, for Graphviz");
  options.flag("--explain", explain, "Find the least slots of queues that break a deadlock, by running again");
  options.text("--detailed-launches", detailed_launches, "N",
               "Launches reported one by one; the others are added up (default: 1000)");
  options.text("--correlation-id", correlation_id, "TEXT", "Copied into the result, to find it again");
  options.text("--report", report, "KIND", "short (default): one screen; or full");
  options.flag("--whole-run", whole_run, "Report and trace the whole run, also where a program marks a region");
  options.flag("-q,--quiet", quiet, "No table; errors and failed checks are still shown");
  options.text("--color", colour, "WHEN", "auto (default: on a terminal), always or never");
  options.text("--bench", bench_of_file, "NAME", "Which KERNBENCH_BENCH of a C++ file (default: the only one)");
  options.text("--compiler", compiler, "COMMAND", "C++ compiler (default: KERNBENCH_CXX, CXX, or the build's)");
  options.text("--cxxflags", cxxflags, "FLAGS", "More flags for the compiler, last; repeatable");
  options.text("--load", load, "FILE", "C++ file with algorithms and component models of your own; repeatable");
  options.flag("--no-cache", no_cache, "Take nothing from ~/.cache/kernbench, keep nothing there");
  options.footer("");  // not that of all commands: it fits one screen
}

Command RunOptions::command() const {
  RunCommand out;
  out.bench = single("BENCH", bench, "");
  if (out.bench.empty()) throw ConfigurationError("a BENCH is missing: one of \"kernbench list\", or a C++ file");
  out.file = file_options(out.bench);
  out.load = load;
  SimulateOptions& options = out.options;
  options.topology = single("--topology", topology, options.topology);
  options.overrides = overrides_of(overrides);
  out.parameters = parameters_of(parameters);
  options.data = !no_data;
  options.exact_events = exact_events;
  options.explain = !no_explain;
  options.alike_devices = alike_devices;
  options.detect_races = detect_races;
  options.quick_plans = quick_plans;
  if (alike_devices && !no_data)
    throw ConfigurationError("--alike-devices computes no values of the devices that it leaves out: add --no-data");
  options.seed = seed_of(single("--seed", seed, "0"));
  options.out_of_bounds_reads = out_of_bounds_reads_of(single("--out-of-bounds-reads", reads, "raise"));
  options.skip_floating_point_ops = skip_floating;
  options.uninitialized_memory = uninitialized_memory_of(single("--uninitialized-memory", memory, "poison"));
  options.threads = threads_of(single("--threads", threads, "0"));
  limits.into(options);
  out.file.watchdog_seconds = options.watchdog_seconds;
  const std::string polls = single("--max-polls", max_polls, "");
  if (!polls.empty()) options.max_polls = max_polls_of(polls);
  const std::string stack = single("--stack-size", stack_size, "");
  if (!stack.empty()) options.stack_size = stack_size_of(stack);
  options.operation_log = single("--op-log", op_log, "");
  options.trace = single("--trace", trace, "");
  options.correlation_id = single("--correlation-id", correlation_id, "");
  out.json = single("--json", json, "");
  out.wait_graph = single("--wait-graph", wait_graph, "");
  out.explain = explain;
  out.quiet = quiet;
  out.report = report_of(single("--report", report, "short"));
  options.whole_run = whole_run;
  options.detailed_launches = detailed_launches_of(single("--detailed-launches", detailed_launches, "1000"));
  out.colour = colour_of(single("--color", colour, "auto"));
  return out;
}

BenchFileOptions RunOptions::file_options(const std::string& name) const {
  BenchFileOptions out;
  out.bench = single("--bench", bench_of_file, "");
  out.compiler = single("--compiler", compiler, "");
  out.cxxflags = cxxflags;  // these begin with '-' as a rule
  out.cache = !no_cache;
  if (is_bench_file(name)) return out;
  if (!load.empty() && out.bench.empty()) return out;
  const char* unused = !out.bench.empty()      ? "--bench"
                       : !out.compiler.empty() ? "--compiler"
                       : !out.cxxflags.empty() ? "--cxxflags"
                                               : nullptr;
  if (unused == nullptr) return out;
  throw ConfigurationError(std::string(unused) + " is for C++ files, but " + in_quotes(name) +
                           " is a built-in bench; a file has a '/' or ends in .cpp, .cc or .cxx");
}

}  // namespace kernbench::cli
