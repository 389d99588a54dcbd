// The only unit that includes CLI11, which is slow to compile. CLI11 splits the arguments and prints help; the values
// are read and checked in option_values.cpp, so that all errors have one voice.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/option_values.h"
#include "cli/version.h"

namespace kernbench::cli {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kExamples = R"(Examples:
  kernbench list
  kernbench run gemm
  kernbench run my_bench.cpp
  kernbench run gemm -p M=4096 -p N=4096 -p K=4096 --set cube.hbm.bandwidth=2TB/s
  kernbench run gemm --json - | python3 -m json.tool
  kernbench diff before.json after.json
  kernbench sweep gemm --over M=512,1024,2048 --no-data
  kernbench describe ahbm-2sip
  kernbench ccl all_reduce -b 1K -e 64M -f 4

Exit codes: 0 ok, 1 a check failed, 2 usage or configuration, 3 the simulated program
failed, 4 internal error, 130 interrupted, 143 terminated.
"kernbench COMMAND --help" says more about each command.)";

constexpr const char* kDiffExamples =
    R"(A and B are results that "kernbench run --json FILE" wrote. Shown are the inputs that differ, what
explains most first, the simulated time, and where it went: by activity on the critical paths, by
launch, by kind of resource, and by what was waited for. Wall-clock figures are not compared.

Examples:
  kernbench run gemm --quiet --json before.json
  kernbench run gemm --quiet --json after.json --set cube.hbm.bandwidth=600GB/s
  kernbench diff before.json after.json
  kernbench diff before.json after.json --format json)";

constexpr const char* kSweepExamples =
    R"(All other options, and the bench, are those of "kernbench run". Each combination is a run of its
own, the last --over varies fastest; a run that fails has its error in its row. Exit code: the
largest of all runs.

Examples:
  kernbench sweep gemm --over M=512,1024,2048 --over dtype=f16,f8e4m3 --no-data
  kernbench sweep gemm --over cube.hbm.bandwidth=600GB/s,1.2TB/s --no-data --csv gemm.csv
  kernbench sweep my_bench.cpp --over topology=ahbm-1sip,my_machine.yaml --results results)";

constexpr const char* kDescribeExamples =
    R"(Formats: table shows counts, peaks, links and latencies; keys every key with its value and
meaning, as --set takes them; yaml a file that loads again; json-schema the schema of topology
files, for editors. With --algorithm: table, or json.

Examples:
  kernbench describe ahbm-1sip
  kernbench describe my_machine.yaml --set sip.cubes.mesh="[2, 2]"
  kernbench describe ahbm-1sip --format yaml > my_machine.yaml
  kernbench describe --format json-schema > topology.schema.json
  kernbench describe ahbm-2sip --set system.sips.count=4 --algorithm ring_allreduce --bytes 1M)";

std::string without_empty_lines_at_end(std::string text) {
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

constexpr const char* kCclExamples =
    R"(Operations: all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, gather, scatter,
sendrecv, barrier; also as all_to_all, allreduce or all_reduce_perf. Options, sizes (8, 32K, 1G) and
table are those of nccl-tests, times are simulated. Exit code 1 when an element is wrong. Example:
  kernbench ccl all_reduce -b 1K -e 64M -f 4 --algo ring_allreduce --algo direct_allreduce --compare)";

// An option that takes exactly one text each time it is given.
CLI::Option* add_text(CLI::App& app, const std::string& names, Texts& values, const std::string& type,
                      const std::string& help) {
  return app.add_option(names, values, help)
      ->type_name(type)
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->default_str("");
}

// The one value of an option, or `otherwise` when it was not given.
std::string single(const std::string& option, const Texts& values, const std::string& otherwise) {
  if (values.size() > 1) throw ConfigurationError(option + " is given more than once");
  if (values.empty()) return otherwise;
  if (values.front().empty()) throw ConfigurationError(option + " needs a value that is not empty");
  const std::string& value = values.front();
  // Else "--json --quiet" would write a file of that name. Numbers are left to their own errors.
  const bool is_option = value.size() > 1 && value[0] == '-' && (value[1] < '0' || value[1] > '9');
  if (is_option) throw ConfigurationError(option + " needs a value, found the option " + in_quotes(value));
  return value;
}

/// What ends a simulation that never would.
struct LimitTexts {
  Texts max_time, watchdog;

  void declare_max_time(CLI::App& command) {
    add_text(command, "--max-time", max_time, "TIME", "Stop with an error beyond this simulated time, such as 10ms");
  }
  void declare_watchdog(CLI::App& command) {
    add_text(command, "--watchdog", watchdog, "SECONDS",
             "Longest computation without a wait, on the clock (default: 60; 0: any)");
  }
  void into(SimulateOptions& options) const {
    const std::string bound = single("--max-time", max_time, "");
    if (!bound.empty()) options.max_time = max_time_of(bound);
    options.watchdog_seconds = watchdog_of(single("--watchdog", watchdog, "60"));
  }
};

struct ListTexts {
  Texts colour;

  CLI::App* declare(CLI::App& app) {
    CLI::App* command = app.add_subcommand("list", "List the built-in benches and topologies");
    add_text(*command, "--color", colour, "WHEN", "auto (default), always or never");
    return command;
  }
  Command command() const { return ListCommand{colour_of(single("--color", colour, "auto"))}; }
};

struct DescribeTexts {
  Texts topology, overrides, format, colour, algorithm, operation, ranks, bytes, load, msccl;

  CLI::App* declare(CLI::App& app) {
    CLI::App* command = app.add_subcommand("describe", "Show a topology, or what a collective algorithm does on it");
    add_text(*command, "TOPOLOGY", topology, "", "Name of a shipped topology, or a YAML file");
    add_text(*command, "--set", overrides, "PATH=VALUE", "Override one value of the topology; repeatable");
    add_text(*command, "--format", format, "FORMAT", "table (default), keys, yaml or json-schema; json");
    add_text(*command, "--algorithm", algorithm, "NAME",
             "Neighbours and steps of an algorithm of collectives, in place");
    add_text(*command, "--operation", operation, "OP", "Of an entry of the collectives file (default: all_reduce)");
    add_text(*command, "--ranks", ranks, "N", "Its ranks (default: one on each SIP; more than SIPs: one on each PE)");
    add_text(*command, "--bytes", bytes, "SIZE", "Of a rank's tensor, or of all its blocks (default: 1M)");
    add_text(*command, "--load", load, "FILE", "C++ file with algorithms and models of your own, to check; repeatable");
    add_text(*command, "--msccl", msccl, "FILE", "In place of --algorithm: the schedule of an MSCCL file (XML)");
    add_text(*command, "--color", colour, "WHEN", "auto (default), always or never");
    command->footer(kDescribeExamples);
    return command;
  }
  Command command() const {
    DescribeCommand out;
    out.format = format_of(single("--format", format, "table"));
    out.topology = single("TOPOLOGY", topology, "");
    if (!algorithm.empty() || !msccl.empty()) {
      algorithm_into(out);
    } else {
      check_no_algorithm(out.format);
    }
    if (out.topology.empty() && out.format != DescribeFormat::json_schema) {
      throw ConfigurationError(
          "describe needs a TOPOLOGY: a shipped topology's name (see \"kernbench list\") or a file");
    }
    out.load = load;
    out.overrides = overrides_of(overrides);
    out.colour = colour_of(single("--color", colour, "auto"));
    return out;
  }

 private:
  void algorithm_into(DescribeCommand& out) const {
    if (out.format != DescribeFormat::table && out.format != DescribeFormat::json)
      throw ConfigurationError("--format of --algorithm: expected table or json");
    if (!algorithm.empty() && !msccl.empty())
      throw ConfigurationError("--algorithm and --msccl each name an algorithm: give one of them");
    out.msccl = single("--msccl", msccl, "");
    distributed::DescriptionRequest& request = out.algorithm.emplace();
    request.name = single("--algorithm", algorithm, "");
    request.operation = single("--operation", operation, "");
    if (!ranks.empty()) request.ranks = static_cast<int>(ccl_number_of("--ranks", single("--ranks", ranks, ""), 1));
    request.bytes = ccl_size_of("--bytes", single("--bytes", bytes, "1M"));
  }
  void check_no_algorithm(DescribeFormat shown) const {
    const char* unused = !operation.empty() ? "--operation"
                         : !ranks.empty()   ? "--ranks"
                         : !bytes.empty()   ? "--bytes"
                                            : nullptr;
    if (unused != nullptr) throw ConfigurationError(std::string(unused) + " is for --algorithm NAME or --msccl FILE");
    if (shown == DescribeFormat::json)
      throw ConfigurationError("--format json is for --algorithm NAME; of topologies: table, keys, yaml, json-schema");
  }
};

struct RunTexts {
  Texts bench, topology, overrides, parameters, seed, reads, memory, threads, max_polls, stack_size, json, op_log,
      trace, wait_graph, detailed_launches, correlation_id, report, colour, bench_of_file, compiler, cxxflags, load;
  LimitTexts limits;
  bool no_data = false, exact_events = false, no_explain = false, skip_floating = false, explain = false, quiet = false,
       no_cache = false;
  bool whole_run = false, alike_devices = false, detect_races = false, quick_plans = false;

  CLI::App* declare(CLI::App& app) {
    CLI::App* command = app.add_subcommand("run", "Simulate a bench: its time, its numbers, and where the time went");
    add_text(*command, "BENCH", bench, "", "One of \"kernbench list\", or a C++ file: with a '/', .cpp, .cc or .cxx");
    add_text(*command, "-t,--topology", topology, "TOPOLOGY", "Shipped topology or YAML file (default: ahbm-1sip)");
    add_text(*command, "--set", overrides, "PATH=VALUE", "Override one value of the topology; repeatable");
    add_text(*command, "-p,--parameter", parameters, "NAME=VALUE", "Set a parameter of the bench; repeatable");
    command->add_flag("--no-data", no_data, "Compute no values: same times, no memory for tensors, checks skipped")
        ->disable_flag_override();
    command
        ->add_flag("--exact-events", exact_events, "Turn off every shortcut of the timed model: same results, slower")
        ->disable_flag_override();
    command->add_flag("--alike-devices", alike_devices, "All devices do the same: simulate one; with --no-data")
        ->disable_flag_override();
    command->add_flag("--detect-races", detect_races, "Look for accesses to the same bytes that nothing orders")
        ->disable_flag_override();
    command
        ->add_flag("--quick-plans", quick_plans, "Measure no plans of matrix products: sooner, but they may be slower")
        ->disable_flag_override();
    command->add_flag("--no-explain", no_explain, "Explain nothing: same times, faster, no critical path or waits")
        ->disable_flag_override();
    add_text(*command, "--seed,--random-seed", seed, "N", "Seed of the program's random numbers (default: 0)");
    add_text(*command, "--out-of-bounds-reads", reads, "WHAT",
             "raise (default), or uninitialized: those lanes are invalid");
    add_text(*command, "--uninitialized-memory", memory, "WHAT", "poison (default): reads as invalid; or zero");
    command->add_flag("--skip-floating-point-ops", skip_floating, "Leave them out: same times, their checks skipped")
        ->disable_flag_override();
    add_text(*command, "--threads", threads, "N", "Host threads that compute values (default: 0, all processors)");
    limits.declare_max_time(*command);
    add_text(*command, "--max-polls", max_polls, "N",
             "Tries in vain of each fiber that polls before that is a livelock");
    add_text(*command, "--stack-size", stack_size, "SIZE", "Least stack of programs, ranks and kernels, such as 8MiB");
    limits.declare_watchdog(*command);
    add_text(*command, "--json", json, "FILE", "Write the result as JSON; '-' is standard output, without the table");
    add_text(*command, "--op-log", op_log, "FILE", "Write one line per operation of the simulated engines");
    add_text(*command, "--trace", trace, "FILE", "Write a timeline, for ui.perfetto.dev");
    add_text(*command, "--wait-graph", wait_graph, "FILE", "Write who waits for whom in a deadlock, for Graphviz");
    command->add_flag("--explain", explain, "Find the least slots of queues that break a deadlock, by running again")
        ->disable_flag_override();
    add_text(*command, "--detailed-launches", detailed_launches, "N",
             "Launches reported one by one; the others are added up (default: 1000)");
    add_text(*command, "--correlation-id", correlation_id, "TEXT", "Copied into the result, to find it again");
    add_text(*command, "--report", report, "KIND", "short (default): one screen; or full");
    command->add_flag("--whole-run", whole_run, "Report and trace the whole run, also where a program marks a region")
        ->disable_flag_override();
    command->add_flag("-q,--quiet", quiet, "No table; errors and failed checks are still shown")
        ->disable_flag_override();
    add_text(*command, "--color", colour, "WHEN", "auto (default: on a terminal), always or never");
    add_text(*command, "--bench", bench_of_file, "NAME", "Which KERNBENCH_BENCH of a C++ file (default: the only one)");
    add_text(*command, "--compiler", compiler, "COMMAND", "C++ compiler (default: KERNBENCH_CXX, CXX, or the build's)");
    add_text(*command, "--cxxflags", cxxflags, "FLAGS", "More flags for the compiler, last; repeatable");
    add_text(*command, "--load", load, "FILE", "C++ file with algorithms and component models of your own; repeatable");
    command->add_flag("--no-cache", no_cache, "Take nothing from ~/.cache/kernbench, keep nothing there")
        ->disable_flag_override();
    command->footer("");  // not that of all commands: it fits one screen
    return command;
  }
  Command command() const {
    RunCommand out;
    out.bench = single("BENCH", bench, "");
    if (out.bench.empty()) throw ConfigurationError("run needs a BENCH: see \"kernbench list\"");
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

 private:
  BenchFileOptions file_options(const std::string& name) const {
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
};

struct SweepTexts {
  Texts over, metrics, jobs, csv, results, colour;

  CLI::App* declare(CLI::App& app) {
    CLI::App* command = app.add_subcommand("sweep", "Simulate a bench for all combinations of some values");
    add_text(*command, "--over", over, "NAME=V,V",
             "Values of a parameter, a topology key, topology or seed; repeatable");
    add_text(*command, "--metric", metrics, "NAME", "A metric of the bench to show (default: the first 3); repeatable");
    add_text(*command, "--jobs", jobs, "N", "Runs at one time (default: one for each processor)");
    add_text(*command, "--csv", csv, "FILE", "Write the rows as CSV; '-' is standard output, without the table");
    add_text(*command, "--results", results, "FOLDER", "Keep the result of each run there: 1.json, 2.json, …");
    add_text(*command, "--color", colour, "WHEN", "auto (default), always or never");
    command->footer(kSweepExamples);
    command->allow_extras();
    return command;
  }
  /// `others`: what is not for sweep is for run.
  Command command(const Texts& others) const {
    SweepCommand out;
    for (const std::string& text : over) out.axes.push_back(sweep::axis_of(text));
    if (out.axes.empty()) throw ConfigurationError("sweep needs something to vary: --over M=512,1024");
    sweep::check_names(out.axes);
    for (const char* option : {"--json", "-q", "--quiet", "--trace", "--op-log", "--wait-graph", "--report"}) {
      const auto is_option = [&](const std::string& text) {
        return text == option || text.starts_with(std::string(option) + "=");
      };
      if (std::ranges::any_of(others, is_option))
        throw ConfigurationError(std::string(option) + " is for a single run; --results FOLDER keeps all of a sweep");
    }
    out.run = others;
    out.metrics = metrics;
    out.jobs = jobs_of(single("--jobs", jobs, "0"));
    out.csv = single("--csv", csv, "");
    out.results = single("--results", results, "");
    out.colour = colour_of(single("--color", colour, "auto"));
    return out;
  }
};

struct DiffTexts {
  Texts a, b, format, colour;
  bool exit_code = false;

  CLI::App* declare(CLI::App& app) {
    CLI::App* command = app.add_subcommand("diff", "Compare two results: what changed, and where the time went");
    add_text(*command, "A", a, "", "Result of one run: a file that \"run --json\" wrote");
    add_text(*command, "B", b, "", "Result of another run");
    add_text(*command, "--format", format, "FORMAT", "table (default) or json");
    command->add_flag("--exit-code", exit_code, "Exit with 1 when the outcomes differ, with 0 when not")
        ->disable_flag_override();
    add_text(*command, "--color", colour, "WHEN", "auto (default), always or never");
    command->footer(kDiffExamples);
    return command;
  }
  Command command() const {
    DiffCommand out;
    out.a = single("A", a, "");
    out.b = single("B", b, "");
    if (out.a.empty() || out.b.empty()) {
      throw ConfigurationError("diff needs two results, A and B: files that \"kernbench run --json FILE\" wrote");
    }
    out.format = diff_format_of(single("--format", format, "table"));
    out.exit_code = exit_code;
    out.colour = colour_of(single("--color", colour, "auto"));
    return out;
  }
};

struct CclTexts {
  Texts operation, topology, overrides, least, most, step, factor, average, devices, threads, iterations, warm_ups,
      calls, check, reduction, type, root, algorithms, load, msccl, tune, json, csv;
  LimitTexts limits;
  bool compare = false, bound = false, alike_devices = false;
  /// Options of nccl-tests that say how its process works.
  struct Ignored {
    const char *names, *why;
    Texts values = {};
  };
  std::array<Ignored, 7> ignored{{
      {"-z,--blocking", "calls return at once, in simulated time"},
      {"-R,--local_register", "there is no registration of buffers"},
      {"-p,--parallel_init", "setting up takes the time that the table says"},
      {"-C,--report_cputime", "the host's time is none of the simulated"},
      {"-T,--timeout", "a call that never ends is a deadlock, and is told"},
      {"-G,--cudagraph", "each call is launched"},
      {"-N,--run_cycles", "each run is the same"},
  }};

  CLI::App* declare(CLI::App& app) {
    CLI::App* command = app.add_subcommand("ccl", "Measure and check a collective, as nccl-tests do");
    add_text(*command, "OPERATION", operation, "", "all_reduce, broadcast, …: see below");
    add_text(*command, "--topology", topology, "TOPOLOGY", "Shipped topology or YAML file (default: ahbm-2sip)");
    add_text(*command, "--set", overrides, "PATH=VALUE", "Override one value of the topology; repeatable");
    add_text(*command, "-b,--minbytes", least, "SIZE", "Least size (default: 32M)");
    add_text(*command, "-e,--maxbytes", most, "SIZE", "Largest size (default: 32M, or that of -b if it is larger)");
    add_text(*command, "-i,--stepbytes", step, "SIZE", "From one size to the next (default: 1M)");
    add_text(*command, "-f,--stepfactor", factor, "N", "Factor from one size to the next, in place of -i");
    add_text(*command, "-g,--ngpus", devices, "N", "Ranks (default: one on each SIP; more than SIPs: one on each PE)");
    add_text(*command, "-n,--iters", iterations, "N", "Timed iterations (default: 20)");
    add_text(*command, "-w,--warmup_iters", warm_ups, "N", "Iterations before them (default: 1)");
    add_text(*command, "-a,--average", average, "N",
             "Of the ranks' times: 0 rank 0's, 1 the mean (default), 2 least, 3 most");
    add_text(*command, "-m,--agg_iters", calls, "N", "Calls in each iteration (default: 1)");
    add_text(*command, "-c,--check", check, "N", "0: no values are computed, nothing is checked (default: 1)");
    add_text(*command, "-o,--op", reduction, "OP", "sum (default), prod, max, min, avg or all");
    add_text(*command, "-d,--datatype", type, "TYPE", "float (default), half, bfloat16, int8, …, or all");
    add_text(*command, "-r,--root", root, "RANK", "Root, or all (default: 0)");
    add_text(*command, "-t,--nthreads", threads, "N", "Of nccl-tests: ranks are -t times -g");
    for (auto& [names, why, values] : ignored)
      add_text(*command, names, values, "N", "Of nccl-tests: changes nothing here")->group("");
    add_text(*command, "--algo", algorithms, "NAME", "Algorithm, entry of the collectives file, or all; repeatable");
    add_text(*command, "--load", load, "FILE", "C++ file with algorithms and component models of your own; repeatable");
    add_text(*command, "--msccl", msccl, "FILE", "MSCCL file (XML) whose schedule is run, beside --algo; repeatable");
    add_text(*command, "--tune", tune, "FILE", "Write the best algorithm of each size, of --algo or of all, for auto");
    limits.declare_max_time(*command);
    limits.declare_watchdog(*command);
    command->add_flag("--alike-devices", alike_devices, "All devices do the same: measure one of them")
        ->disable_flag_override();
    command->add_flag("--compare", compare, "Bus bandwidth side by side, the best marked: of --algo, or of all")
        ->disable_flag_override();
    command->add_flag("--bound", bound, "The least time that any algorithm could take, beside each row")
        ->disable_flag_override();
    add_text(*command, "--csv", csv, "FILE", "Write the rows as CSV; '-' is standard output, without the table");
    add_text(*command, "--json,-J", json, "FILE", "Write the rows as JSON; '-' is standard output, without the table");
    command->footer(kCclExamples);
    return command;
  }
  Command command() const {
    CclCommand out;
    ccl::Request& request = out.request;
    request.operation = single("OPERATION", operation, "");
    if (request.operation.empty()) throw ConfigurationError("ccl needs an OPERATION, such as all_reduce");
    out.options.topology = single("--topology", topology, "ahbm-2sip");
    out.options.overrides = overrides_of(overrides);
    limits.into(out.options);
    sizes_into(request.sizes);
    request.iterations = ccl_number_of("-n", single("-n", iterations, "20"), 1);
    request.warm_ups = ccl_number_of("-w", single("-w", warm_ups, "1"), 0);
    request.calls = ccl_number_of("-m", single("-m", calls, "1"), 1);
    request.average = ccl_average_of(single("-a", average, "1"));
    request.check = ccl_number_of("-c", single("-c", check, "1"), 0) > 0;
    request.reductions = ccl_reductions_of(single("-o", reduction, "sum"));
    request.types = ccl_types_of(single("-d", type, "float"));
    const auto ranks = ccl_number_of("-g", single("-g", devices, "0"), 0);
    request.ranks = static_cast<int>(ranks * nccl_threads_of(single("-t", threads, "1")));
    request.all_roots = single("-r", root, "0") == "all";
    if (!request.all_roots) request.root = static_cast<int>(ccl_number_of("-r", single("-r", root, "0"), 0));
    request.algorithms = algorithms;
    out.options.alike_devices = alike_devices;
    if (alike_devices)
      out.notes.emplace_back("--alike-devices: the first device was measured, the others are taken to be like it");
    out.load = load;
    out.msccl = msccl;
    out.tune = single("--tune", tune, "");
    out.compare = compare;
    request.bound = bound;
    out.json = single("--json", json, "");
    out.csv = single("--csv", csv, "");
    if (out.json == "-" && out.csv == "-") throw ConfigurationError("--json - and --csv - both want standard output");
    if (!threads.empty() && ranks == 0) out.notes.emplace_back("-t without -g: as many ranks as there are SIPs");
    for (const auto& [names, why, values] : ignored)
      if (!values.empty()) out.notes.push_back(std::string(names, 2) + " changes nothing: " + why);
    return out;
  }

 private:
  void sizes_into(ccl::Sizes& sizes) const {
    sizes.least = ccl_size_of("-b", single("-b", least, "32M"));
    const std::string largest = single("-e", most, "");
    sizes.most = largest.empty() ? std::max(sizes.least, sizes.most) : ccl_size_of("-e", largest);
    sizes.step = ccl_size_of("-i", single("-i", step, "1M"));
    sizes.factor = ccl_number_of("-f", single("-f", factor, "1"), 1);
    if (sizes.most < sizes.least) {
      throw ConfigurationError(least.empty() ? "-e " + largest + " is below the least size; give -b, too"
                                             : "-e " + largest + " is below -b " + single("-b", least, ""));
    }
    if (sizes.factor == 1 && sizes.step == Bytes()) throw ConfigurationError("-i 0: expected a size above 0");
  }
};

std::string suggestion(const std::string& word, const Texts& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view near = nearest(word, views);
  // Any two letters are near to each other.
  return near.empty() || word.size() <= 2 ? "" : ", did you mean \"" + std::string(near) + "\"?";
}

Texts option_names(const CLI::App& app) {
  Texts names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// What CLI11 could not place: an unknown option first, since a word after it may only be that option's value.
void reject_leftovers(const CLI::App& app, const Texts& leftovers) {
  if (leftovers.empty()) return;
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text.front() == '-'; };
  const auto option = std::find_if(leftovers.begin(), leftovers.end(), is_option);
  if (option != leftovers.end()) {
    const std::string name = option->substr(0, option->find('='));
    throw ConfigurationError("unknown option " + in_quotes(name) + suggestion(name, option_names(app)));
  }
  throw ConfigurationError("unexpected argument " + in_quotes(leftovers.front()));
}

void reject_unknown_command(const CLI::App& app, const Texts& leftovers) {
  Texts commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (leftovers.empty()) throw ConfigurationError("a command is missing: list, describe, run, sweep, diff or ccl");
  if (leftovers.front().starts_with('-')) reject_leftovers(app, leftovers);
  const std::string near = suggestion(leftovers.front(), commands);
  throw ConfigurationError("unknown command " + in_quotes(leftovers.front()) +
                           (near.empty() ? "; there are list, describe, run, sweep, diff and ccl" : near));
}

// CLI11 says "--seed: 1 required TEXT missing", and "quiet was given a disallowed flag override".
std::string message_of(const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const std::string option = text.substr(0, text.find_first_of(": "));
  if (text.find("flag override") == std::string::npos) return option + " needs a value";
  return (option.size() == 1 ? "-" : "--") + option + " takes no value";
}

// "help run" is "run --help".
Texts normalised(Texts arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

class Parser {
 public:
  Parser()
      : app_("KernBench: how long a kernel takes on an AI accelerator, whether its numbers are right, and why.",
             "kernbench") {
    app_.set_version_flag("--version", std::string("kernbench ") + version(), "Show the version and leave");
    app_.footer(kExamples);
    app_.require_subcommand(0);
    app_.allow_extras();
    list_app_ = list_.declare(app_);
    describe_app_ = describe_.declare(app_);
    run_app_ = run_.declare(app_);
    diff_app_ = diff_.declare(app_);
    sweep_app_ = sweep_.declare(app_);
    ccl_app_ = ccl_.declare(app_);
    for (CLI::App* app : {&app_, list_app_, describe_app_, run_app_, diff_app_, sweep_app_, ccl_app_}) {
      app->set_help_flag("-h,--help", "Show this help and leave");
      app->get_formatter()->column_width(30);
    }
  }

  Command parse(const Texts& arguments) {
    Texts reversed = normalised(arguments);
    std::reverse(reversed.begin(), reversed.end());  // as CLI11 wants them
    try {
      app_.parse(reversed);
    } catch (const CLI::CallForHelp&) {
      return ShowText{without_empty_lines_at_end(app_.help())};
    } catch (const CLI::CallForVersion&) {
      return ShowText{app_.version() + "\n"};
    } catch (const CLI::ParseError& error) {
      throw ConfigurationError(message_of(error));
    }
    return chosen();
  }

  std::string command_name() const {
    const auto commands = app_.get_subcommands();
    return commands.empty() ? "" : commands.front()->get_name();
  }

 private:
  Command chosen() const {
    const auto commands = app_.get_subcommands();
    if (commands.empty()) reject_unknown_command(app_, app_.remaining());
    reject_leftovers(app_, app_.remaining());
    if (commands.front() == sweep_app_) return checked_sweep(sweep_app_->remaining());
    reject_leftovers(*commands.front(), commands.front()->remaining());
    // CLI11 takes a second command's name for a command even where it stands for something else.
    if (commands.size() > 1) reject_leftovers(app_, {commands[1]->get_name()});
    if (commands.front() == list_app_) return list_.command();
    if (commands.front() == describe_app_) return describe_.command();
    if (commands.front() == diff_app_) return diff_.command();
    if (commands.front() == ccl_app_) return ccl_.command();
    return run_.command();
  }

  /// What is given to run is understood by it, with the first value of each axis.
  Command checked_sweep(const Texts& others) const {
    Command command = sweep_.command(others);
    const auto& out = std::get<SweepCommand>(command);
    Texts first{"run"};
    first.insert(first.end(), others.begin(), others.end());
    sweep::Point point;
    for (const sweep::Axis& axis : out.axes) point.push_back(axis.values.front());
    for (const std::string& each : sweep::arguments_of(out.axes, point)) first.push_back(each);
    Parser().parse(first);
    return command;
  }

  CLI::App app_;
  ListTexts list_;
  DescribeTexts describe_;
  RunTexts run_;
  DiffTexts diff_;
  SweepTexts sweep_;
  CclTexts ccl_;
  CLI::App* list_app_ = nullptr;
  CLI::App* describe_app_ = nullptr;
  CLI::App* run_app_ = nullptr;
  CLI::App* diff_app_ = nullptr;
  CLI::App* sweep_app_ = nullptr;
  CLI::App* ccl_app_ = nullptr;
};

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments) {
  Parser parser;
  try {
    return parser.parse(arguments);
  } catch (const ConfigurationError& error) {
    throw UsageError(error.what(), parser.command_name());
  }
}

}  // namespace kernbench::cli
