// The entry to a simulation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/collective_registry.h"
#include "kernbench/models.h"
#include "kernbench/parameters.h"
#include "kernbench/result.h"
#include "kernbench/units.h"

namespace kernbench {

class PlanStore;

/// What becomes of the lanes of a load that lie outside of their tensor where that is an error.
enum class OutOfBoundsReads : std::uint8_t {
  raise,          // OutOfBoundsError
  uninitialized,  // they are lanes outside like those of a block that reaches past the end: `other`, else invalid
};
/// What memory reads as that nobody has written.
enum class UninitializedMemory : std::uint8_t { poison, zero };  // poison: as invalid

/// How to simulate a program.
struct SimulateOptions {
  /// A shipped topology's name or a file's path.
  std::string topology = "ahbm-1sip";
  /// "cube.hbm.bandwidth=2TB/s": single values of the topology file, overridden.
  std::vector<std::string> overrides = {};
  /// The collectives file (docs/collectives.md); empty: ./ccl.yaml if there is one, else the shipped one.
  std::string collectives = {};
  /// Compute tensor values. Without, the simulated times are the same and no tensor bytes are held.
  bool data = true;
  /// Of the program's random numbers.
  std::uint64_t seed = 0;
  /// Of tl::load and tl::load_async from tensors. Stores and atomics outside are errors in any case.
  OutOfBoundsReads out_of_bounds_reads = OutOfBoundsReads::raise;
  /// Device tensors and TCM buffers when they are made.
  UninitializedMemory uninitialized_memory = UninitializedMemory::poison;
  /// Leave out operations of the devices whose results are floating-point numbers: the simulated times are the same,
  /// integers and bools are computed as ever, and bytes move. What was left out reads as infinity on the host; what
  /// derives from it, whatever its type, cannot steer a program (item), and its checks are skipped.
  bool skip_floating_point_ops = false;
  /// Host threads that compute values; 0 takes all processors. Changes no result.
  int threads = 0;
  /// Turn every optimisation of the timed model off; changes no result.
  bool exact_events = false;
  /// All devices do the same at the same time: simulate the first, and let the others follow it. For programs whose
  /// ranks do not differ, in a system whose devices all have the same place in it; AlikeDevicesError where that does
  /// not hold. Without `data`; the result has the launches of the first device (docs/alike-devices.md).
  bool alike_devices = false;
  /// Explain why launches took as long as they did: breakdown, critical path, waits and operations of the result.
  /// Without it they are empty, times are the same, and a run takes less time and memory; for sweeps.
  bool explain = true;
  /// Look for accesses of different programs to the same bytes that nothing orders: RunResult::races. Changes no time;
  /// a run takes longer.
  bool detect_races = false;
  /// Choose plans of matrix products by estimates and replays alone, without measuring the nearest ones: sooner, but
  /// products may take longer than they need. For first looks, and where values are all that counts.
  bool quick_plans = false;
  /// Queues between PEs have at least so many slots, whatever the program and the collectives file ask for: to find
  /// out whether a deadlock is a matter of slots.
  std::int32_t least_slots = 1;
  Time max_time = Time::max();
  /// How often each fiber that polls may ask, or read, in vain while nothing but polling goes on, before that is a
  /// LivelockError. 0: 1,200,000 times one alone, 2,400,000 times several together, and 2,000 times each; several that
  /// need many events for a try sooner (docs/contracts.md). To be raised for programs that end their polling later.
  std::uint64_t max_polls = 0;
  /// The stack that the main program, each rank and each program of a kernel has at least. It is address space: memory
  /// is taken where it is used. 0: 1 MiB for the main program and ranks, 256 KiB for programs of kernels. At most 1
  /// GiB.
  Bytes stack_size = {};
  /// File for one line per operation; empty: none.
  std::string operation_log = {};
  /// File for a timeline that Perfetto opens (docs/trace.md); empty: none. A run with one takes longer, in no other
  /// time.
  std::string trace = {};
  /// Report and trace the whole run, also where the program marks a region of interest (profiler.h).
  bool whole_run = false;
  /// RunResult::launches has so many launches one by one, those that complete first: each takes about 10 KB. The others
  /// are added up in RunResult::launch_totals, by kernel and line, so that memory does not grow with their number.
  std::size_t detailed_launches = 1'000;
  /// Copied into the result.
  std::string correlation_id = {};
  /// What kernbench::parameter reads in the program (bench.h).
  Parameters parameters = {};
  /// Wall-clock seconds after which a fiber that never yields is named and the process ends; 0: never.
  double watchdog_seconds = 0;
  /// Called on another thread with a message that names the fiber. Such a fiber cannot be unwound, so this should end
  /// the process; without it, the error comes when the fiber waits after all.
  std::function<void(const std::string&)> on_stuck = {};
  /// Takes what kernels print (tl::device_print): whole lines, in simulated order. Empty: standard output.
  std::function<void(std::string_view)> print = {};
  /// Warn of what is allowed but rarely meant. Unset: when the environment has KERNBENCH_DEBUG=1.
  std::optional<bool> debug = {};
  /// Takes warnings, without their line ends. Empty: standard error.
  std::function<void(std::string_view)> warn = {};
  /// When set to true (by a signal handler, say) the run ends with an InterruptedError. May be null.
  const std::atomic<bool>* stop_requested = nullptr;
  /// Component models of the caller's own, which a topology file can name.
  ModelRegistry models = {};
  /// Plans of matrix products are looked up in it and kept there (plan_store.h); changes no result. May be null.
  PlanStore* plans = nullptr;
  /// Collective algorithms of the caller's own, which collectives files and programs can name (collectives.h).
  CollectiveRegistry algorithms = {};
  /// When another thread sets progress_due (may be null), it is cleared and on_progress called in between two instants
  /// of the run, on the thread that simulates.
  std::atomic<bool>* progress_due = nullptr;
  std::function<void(const RunProgress&)> on_progress = {};
};

/// Runs `program` on the main fiber of a fresh, independent simulation, and everything that it started, to the end.
/// Throws what the program threw (see kernbench/error.h); DeadlockError and its like when the simulation cannot go on.
RunResult simulate(const SimulateOptions& options, const std::function<void()>& program);

/// Like simulate, but an error becomes part of the result (status error), with all that was measured before it.
RunResult try_simulate(const SimulateOptions& options, const std::function<void()>& program);

}  // namespace kernbench
