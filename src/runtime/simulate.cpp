// kernbench::simulate: one program from start to result.
#include "kernbench/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error_text.h"
#include "base/text.h"
#include "hardware/models.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/observe/advice.h"
#include "runtime/observe/engine_use.h"
#include "runtime/observe/idle_advice.h"
#include "runtime/queues/out_of_slots.h"
#include "runtime/simulation.h"
#include "sim/errors.h"
#include "sim/fiber.h"
#include "topology/checks.h"
#include "topology/load.h"
#include "topology/print.h"

namespace kernbench {

namespace {

using runtime::set_peaks;
using runtime::Simulation;

std::map<std::string, std::string> switches_of(const SimulateOptions& options) {
  const auto text = [](bool on) { return on ? "true" : "false"; };
  const bool reads_raise = options.out_of_bounds_reads == OutOfBoundsReads::raise;
  const bool memory_is_zero = options.uninitialized_memory == UninitializedMemory::zero;
  std::map<std::string, std::string> switches{{"data", text(options.data)},
                                              {"exact_events", text(options.exact_events)},
                                              {"out_of_bounds_reads", reads_raise ? "raise" : "uninitialized"},
                                              {"skip_floating_point_ops", text(options.skip_floating_point_ops)},
                                              {"uninitialized_memory", memory_is_zero ? "zero" : "poison"}};
  if (!options.explain) switches["explain"] = "false";
  if (options.alike_devices) switches["alike_devices"] = "true";
  if (options.detect_races) switches["detect_races"] = "true";
  if (options.quick_plans) switches["quick_plans"] = "true";
  if (options.whole_run) switches["whole_run"] = "true";
  if (options.detailed_launches != SimulateOptions().detailed_launches)
    switches["detailed_launches"] = std::to_string(options.detailed_launches);
  // Read where process groups choose; here so that two results that differ by it say so.
  const char* algorithms = std::getenv("KB_ALGO");  // NOLINT(concurrency-mt-unsafe): nobody here sets it
  if (algorithms != nullptr) switches["KB_ALGO"] = algorithms;
  return switches;
}

void describe_run(RunResult& result, const SimulateOptions& options) {
  result.switches = switches_of(options);
  result.version = KERNBENCH_VERSION;
  result.topology = options.topology;
  for (const std::string& each : options.overrides) {
    const std::size_t end = std::min(each.find('='), each.size());
    result.overrides[each.substr(0, end)] = each.substr(std::min(end + 1, each.size()));
  }
  result.seed = options.seed;
  result.correlation_id = options.correlation_id;
  result.parameters = options.parameters.values();
}

/// The one place of the runtime that looks at the environment.
SimulateOptions with_debug(SimulateOptions options) {
  if (!options.debug) {
    const char* value = std::getenv("KERNBENCH_DEBUG");  // NOLINT(concurrency-mt-unsafe): nobody here sets it
    options.debug = value != nullptr && std::string_view(value) == "1";
  }
  return options;
}

/// The run has a region of interest, and is to be reported by it.
bool is_marked(Simulation& simulation) {
  return simulation.region()->is_used() && !simulation.options().whole_run;
}

/// Of the region of interest, or else of the whole run.
void collect_use(Simulation& simulation, RunResult& result) {
  const auto usage = simulation.machine().usage();
  const bool marked = is_marked(simulation);
  result.devices = simulation.activity.results(marked, simulation.scheduler().now());
  if (marked) {
    return simulation.region()->collect(result, usage);
  }
  for (LaunchResult& launch : result.launches) launch.in_region = true;
  for (CopyTotal& copy : result.copies) copy.in_region = true;
  for (LaunchTotal& total : result.launch_totals) total.in_region = total.longest_launch.in_region = true;
  const double total = result.simulated_time.in_seconds();
  for (const auto& each : usage) {
    if (each.busy == Time::zero()) continue;
    result.resources.push_back(
        {each.name, each.busy, each.bytes, total > 0 ? each.busy.in_seconds() / total : 0, to_text(each.kind)});
  }
}

/// What was measured so far; also after an error.
void collect(Simulation& simulation, RunResult& result) {
  const auto& topology = simulation.topology();
  result.topology = topology.name;
  result.simulated_time = simulation.scheduler().now();
  result.events = simulation.scheduler().events_processed();
  result.machine = topology::settings(topology);
  simulation.launches.hand_over(result);
  result.checks = simulation.checks;
  result.races.assign(simulation.races().begin(), simulation.races().end());
  result.metrics = simulation.metrics;
  result.host_waits = simulation.host_waits.results();
  result.copies = simulation.copies.results();
  result.setup = simulation.setup;
  set_peaks(result, simulation.machine());
  collect_use(simulation, result);
  for (const auto& [name, range] : simulation.region()->ranges()) result.ranges.push_back(range);
  // First, because a brief report shows the first lines only, and nobody else says what a program says of itself.
  result.warnings.assign(simulation.own_warnings.begin(), simulation.own_warnings.end());
  std::ranges::move(simulation.event_waits.warnings(), std::back_inserter(result.warnings));
  const bool marked = is_marked(simulation);
  const auto idle = simulation.activity.before_launches(result.devices, marked);
  std::ranges::move(runtime::idle_advice(result, idle), std::back_inserter(result.warnings));
  std::ranges::move(runtime::advice(result, simulation.slice_hints, marked), std::back_inserter(result.warnings));
  result.warnings.insert(result.warnings.end(), simulation.assumptions.begin(), simulation.assumptions.end());
  for (const auto& [pe, counters] : simulation.machine().tlb_usage()) {
    result.tlbs.push_back({to_text(pe) + ".mmu", counters.hits, counters.misses, counters.walking});
  }
  for (const auto& warning : topology::warnings(topology)) {
    result.warnings.push_back(warning.path + ": " + warning.message);
  }
  result.times_fingerprint = simulation.log().times_fingerprint();
  result.values_fingerprint = simulation.values.value();
  if (!result.races.empty()) result.status = RunStatus::check_failed;
  for (const auto& check : result.checks) {
    if (check.status == CheckStatus::failed) result.status = RunStatus::check_failed;
  }
}

/// What went wrong, and the program's call that threw it, if it was one of the main program's.
struct Failure {
  std::exception_ptr error = {};
  std::string where = {};
};

ErrorResult describe_error(const Failure& failure, ErrorText text) {
  const std::exception_ptr& error = failure.error;
  if (text.where.empty()) text.where = failure.where;
  ErrorResult result{std::move(text.type), std::move(text.message), std::move(text.where)};
  try {
    std::rethrow_exception(error);
  } catch (const sim::DeadlockError& deadlock) {
    for (const auto& line : deadlock.lines()) {
      auto& wait = result.waits.emplace_back(WaitEdgeResult{line.name, line.reason, line.target, line.in_cycle});
      if (line.slot) wait.slot = QueueSlots{to_text(line.slot->queue), line.slot->slots};
    }
    result.cycles = deadlock.cycles();
  } catch (const runtime::OutOfSlotsError& full) {
    result.too_many_slots = QueueSlots{full.memory(), full.slots()};
  } catch (...) {  // NOLINT(bugprone-empty-catch): others have no more to say
  }
  return result;
}

/// Runs everything; what went wrong is returned. An error of a value comes first, for it happened in simulated time
/// before whatever stopped the simulation.
Failure run(Simulation& simulation, const std::function<void()>& program) {
  std::exception_ptr error;
  std::shared_ptr<sim::Fiber> main;
  bool interrupted = false;
  try {
    const auto& options = simulation.options();
    main = simulation.scheduler().spawn(
        {.agent = simulation.machine().host_agent(-1), .name = "main", .stack_bytes = 1 << 20}, [&] {
          runtime::enter_host_context(simulation);
          program();
          runtime::end_host_context();
        });
    simulation.main_worker = main;
    sim::RunLimits limits;
    limits.max_time = options.max_time;
    limits.max_polls = options.max_polls;
    limits.stack_bytes = static_cast<std::size_t>(options.stack_size.count());
    limits.watchdog_seconds = options.watchdog_seconds;
    limits.on_stuck = options.on_stuck;
    limits.stop_requested = options.stop_requested;
    if (options.on_progress) {
      limits.progress_due = options.progress_due;
      limits.on_progress = [&] {
        const auto& scheduler = simulation.scheduler();
        options.on_progress({scheduler.now(), scheduler.events_processed(), simulation.launches.count(),
                             simulation.activity.devices_with_kernels()});
      };
    }
    limits.append_unfinished = [&](auto& nodes) { simulation.append_unfinished(nodes); };
    simulation.scheduler().run(limits);
    if (simulation.check_distributed) simulation.check_distributed();
    simulation.launch_queues().check_all_received();
    simulation.machine().check_all_received();
  } catch (const sim::InterruptedError&) {
    error = std::current_exception();
    interrupted = true;
  } catch (...) {
    error = std::current_exception();
  }
  if (!interrupted) {
    simulation.executor().drain();
    if (auto first = simulation.executor().first_error()) error = first;
  }
  const auto complete = [&error](const auto& output) {
    try {
      output();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  complete([&] { simulation.log().flush(); });
  if (simulation.trace() != nullptr) complete([&] { simulation.trace()->finish(simulation.scheduler().now()); });
  const bool of_main = error && main && main->take_error() == error;
  return {error, of_main ? sim::where_text(main->failed_call()) : std::string()};
}

void check(const SimulateOptions& options) {
  if (sim::this_fiber::current() != nullptr) {
    throw ProgramError("ContextError",
                       "kernbench::simulate was called inside of a simulation: a program that is simulated cannot "
                       "simulate another one; call simulate for each of them, one after the other, outside of both");
  }
  if (options.alike_devices && options.data) {
    throw ValueError(
        "SimulateOptions::alike_devices is true, and so is data: the values of the devices that are left out are not "
        "computed; set data to false");
  }
  constexpr Bytes kMostStack(1 << 30);
  if (options.stack_size < Bytes(0) || options.stack_size > kMostStack) {
    throw ValueError(fmt::format("SimulateOptions::stack_size is {}; it must be from 0 to {}",
                                 to_text(options.stack_size), to_text(kMostStack)));
  }
}

std::exception_ptr simulate_into(RunResult& result, const SimulateOptions& options,
                                 const std::function<void()>& program) {
  const auto begin = std::chrono::steady_clock::now();
  describe_run(result, options);
  Failure failure;
  try {
    check(options);
    Simulation simulation(with_debug(options), topology::load_topology(options.topology, options.overrides, {},
                                                                       hardware::names_of(options.models)));
    failure = run(simulation, program);
    if (failure.error) result.error = describe_error(failure, simulation.describe(failure.error));
    if (failure.error && simulation.explain_distributed) simulation.explain_distributed(failure.error, *result.error);
    collect(simulation, result);
  } catch (...) {
    failure = {std::current_exception(), {}};
    result.error = describe_error(failure, error_text(failure.error));
  }
  if (failure.error) result.status = RunStatus::error;
  result.wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return failure.error;
}

}  // namespace

RunResult simulate(const SimulateOptions& options, const std::function<void()>& program) {
  RunResult result;
  if (const auto error = simulate_into(result, options, program)) std::rethrow_exception(error);
  return result;
}

RunResult try_simulate(const SimulateOptions& options, const std::function<void()>& program) {
  RunResult result;
  simulate_into(result, options, program);
  return result;
}

}  // namespace kernbench
