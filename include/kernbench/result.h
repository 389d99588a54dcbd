// The result of a run: plain values, the source of the JSON and of the table for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/units.h"

namespace kernbench {

enum class RunStatus : std::uint8_t { ok, check_failed, error };  // check_failed: or programs race
enum class CheckStatus : std::uint8_t { passed, failed, skipped };

/// Segments of a critical path that are alike, summed up.
struct PathPart {
  /// What passed: "dispatch", "gemm", "vector", "dma setup", "dma request", "dma latency", "dma data", "contention", a
  /// wait ("issue", "engine busy", …), "completion". docs/json.md has all.
  std::string activity;
  std::string operation;  // kind of the operation ("load"); empty for the program and the launch themselves
  std::string where;      // line of the kernel ("gemm.cpp:41"); may be empty
  std::string on;         // contention: the kind of the busiest server ("sip*.cube*.pe*.router.east")
  Time time;
  std::int64_t count = 0;
  /// The one part of the machine that all of it is due to: the server, with '*' for numbers that differ within one PE
  /// or cube ("sip0.cube0.pe0.hbm.channel*"); without a server the PE. Empty: several.
  std::string instance = {};
};

struct PathSegment {
  std::string activity, operation, where, on;  // on: the server itself
  Time start, end;
};

/// Waits that are alike, summed up over all programs of a launch.
struct WaitResult {
  /// "operand", "engine busy", "TCM full", …; of a host program "queue full"; of a launch and of a device see there.
  std::string reason;
  std::string operation, where;    // that waited; operation empty: the program itself
  std::string cause, cause_where;  // the operation that ended the wait, or the kind of server; empty: not known
  Time time;
  std::int64_t count = 0;
};

/// All operations of one kind in a launch.
struct OperationResult {
  std::string operation, engine;  // "load", "dma"
  std::int64_t count = 0;
  Time waiting;      // from being requested to being started
  Time work;         // from then to the finish
  Time bound;        // the least that the work could have taken
  Bytes bytes = {};  // that DMA moved
};

/// What a launch asked of its engines of one kind, or of a memory, and how near it came to their peak. A peak is what
/// all of them do at their full rate, for this launch's mix of operand types and operations.
struct EngineResult {
  std::string engine;  // "gemm", "vector", "hbm" (the slices), "tcm" (DMA ports), "link" (the busiest one)
  std::string types;   // operand types of the work, longest first ("f16", "f32, i64"); memories: empty; the link's name
  double work = 0;     // GEMM: multiplications and additions; vector: elements; memories: bytes
  Time busiest;        // what the busiest one of them needed
  double attained = 0;     // work per second, over the whole launch
  double device_peak = 0;  // of the whole device, per second; 0: none, for a component model of the user's own
  double used_peak = 0;    // of the PEs that the launch ran on, or the slices that it touched
};

/// A roofline and where a launch stands under it.
struct Roof {
  double compute = 0;    // operations per second
  double bandwidth = 0;  // of HBM, bytes per second
  double roof = 0;       // operations per second that the launch's intensity allows
  double share = 0;      // attained / roof
  bool compute_bound = false;
};

struct Roofline {
  std::string engine;    // "gemm" or "vector", which is nearer to its peak; "": nothing computed, or no peak known
  double intensity = 0;  // operations per byte of HBM
  double attained = 0;   // operations per second, over the whole launch
  Roof used;             // of the PEs and HBM slices that the launch used
  Roof device;           // of the whole device
};

/// Bytes that the DMA of programs moved, by where they are in HBM as seen from the program's PE.
struct DistanceBytes {
  Bytes own_slice;   // in the PE's own slice
  Bytes same_cube;   // in another one of its cube
  Bytes same_sip;    // in another cube of its SIP
  Bytes other_sips;  // beyond
};

/// How a library kernel does its work, where it was planned.
struct PlanResult {
  std::string of;  // "gemm"
  /// What was chosen, in order: {"tile_k", "256"}. The same names in every plan of one kernel.
  std::vector<std::pair<std::string, std::string>> choices;
  Time estimated;  // what it was chosen by
  bool operator==(const PlanResult&) const = default;
};

struct LaunchResult {
  std::string name;    // "gemm#2"; in the rank 1 "gemm#1.2"
  std::string kernel;  // "gemm"
  std::int32_t device = 0;
  /// Line of the program's call that launched it ("train.cpp:12"): of torch::launch, of the tensor function or of the
  /// collective. Empty: not known.
  std::string where = {};
  Time start, end;
  std::int64_t programs = 0;
  std::int64_t pes = 0;             // that ran them
  Time program_span, program_mean;  // from the first program's start to the last one's end; mean of the PEs in programs
  std::string last_pe = {};         // where that last one ran
  std::int64_t available_pes = 0;   // of the rank that launched: its PE, or all of the SIP
  std::string range;                // in which it was launched (profiler.h): "step/forward"; empty: in none
  bool in_region = true;            // it started in the region of interest; true where there is none
  std::optional<PlanResult> plan;   // of library kernels that are planned
  /// Categories ("dispatch", "gemm", "vector", "dma", "messages", "control", "completion") that tile end - start
  /// exactly.
  std::vector<std::pair<std::string, Time>> breakdown;
  double flops = 0;        // multiplications and additions of the GEMM engines
  Bytes hbm_bytes;         // moved
  Bytes hbm_occupied;      // for which the channels were taken: accesses count as the smallest one at least
  DistanceBytes distance;  // the same by distance
  Bytes fused_bytes;       // that values within tl::fuse did not move through the TCM ports
  Bytes tensor_bytes;      // of its tensor arguments, each counted once; 0 for collectives
  /// The least that the launch could have taken: its way out and back, and the busiest of its resources.
  Time bound;
  std::string bound_by;               // "gemm", "vector", "hbm", "tcm", "link"; "launch"
  std::vector<EngineResult> engines;  // that had work: gemm, vector, hbm, tcm, link
  Roofline roofline;
  /// The chain that determined the end; the times add up to end - start. The longest first.
  std::vector<PathPart> critical_path;
  std::vector<PathSegment> longest_segments;  // of the critical path, in order of time
  std::vector<WaitResult> waits;              // the longest first
  std::vector<OperationResult> operations;    // the most work first
  /// What held up its beginning longest; no reason: nothing did. "stream": what stood before it there, `cause` the last
  /// of it. "event": something elsewhere, recorded at `cause_where`, for which the stream waited at `where`.
  /// "channels": the installation of its own. "host wait", "host call": its device had nothing to do, as in
  /// DeviceResult::idle.
  WaitResult waited_for = {};
};

/// What the launches of a LaunchTotal asked of their engines of one kind, or of a memory.
struct EngineTotal {
  std::string engine, types;  // types: of the launch that had most work for it
  double work = 0;
  double most_work = 0;  // of one launch
  Time busiest;          // the busiest one's time, added up
  /// The seconds that the work takes at the peak of the device, and of the parts in use; not finite: it has none.
  double at_device_peak = 0, at_used_peak = 0;
};

/// Launches that a result does not have one by one (SimulateOptions::detailed_launches), added up: those of one kernel,
/// line, device, range and plan.
struct LaunchTotal {
  std::string name;  // "gemm", without a number
  std::int32_t device = 0;
  std::string where = {}, range = {};                   // as of each of them
  bool in_region = true;                                // likewise
  std::optional<PlanResult> plan = {};                  // likewise
  std::int64_t count = 0;                               // of launches
  Time total, shortest, longest;                        // of their durations
  Time first_start, last_end;                           // of any of them
  std::vector<std::pair<std::string, Time>> breakdown;  // categories that add up to `total`
  double flops = 0;
  Bytes hbm_bytes;
  DistanceBytes distance = {};
  Bytes fused_bytes;
  std::vector<EngineTotal> engines;
  /// Their critical paths by activity, which add up to `total`; the longest first.
  std::vector<std::pair<std::string, Time>> critical_path;
  std::vector<WaitResult> waits;            // of all, the longest first; at most 64, the last then "other"
  std::vector<OperationResult> operations;  // of all, the most work first
  LaunchResult longest_launch;              // one that took longest; of several the one that started first
};

/// Copies of one direction, device and line, added up.
struct CopyTotal {
  std::string direction = {};  // "to" and "from" the device, or "between" it, which sends, and others
  std::int32_t device = 0;
  std::string where = {};  // line of the program
  bool in_region = true;   // they started in the region of interest; true where there is none
  std::int64_t count = 0;
  Bytes bytes;         // of device memory, replicas among them
  Time time, longest;  // from their start, behind what they wait for, to their end
};

/// How long any of the launches of one name and line were under way on a device.
struct KernelTime {
  std::string name, where;
  Time time;
};

/// What a device did in the region of interest, or in the run where there is none.
struct DeviceResult {
  std::int32_t device = 0;
  Time launches, copies;  // with launches under way, however many; with copies alone
  /// The rest, with nothing, by what came next. "host wait": the host had waited in `operation` at `where` before it
  /// gave that. "host call": it had not waited since; the call that gave that. "channels": that waited for its channels
  /// to be installed. "event": that stood behind something elsewhere. "end": nothing came. The longest first.
  std::vector<WaitResult> idle;
  std::vector<KernelTime> kernels;
};

/// One of two accesses that race.
struct RaceAccess {
  std::string operation, where;  // "store", "halo.cpp:12"
  std::string launch, pe;        // "halo#0", "sip0.cube0.pe3"
};

/// Accesses of two programs to the same bytes that nothing orders, one of which writes. Those of one pair of lines
/// together.
struct RaceResult {
  RaceAccess earlier, later;  // as they started, of the first one found
  std::string place;          // of its first byte: "element [0, 3] of x"; or a physical address
  Time time;                  // at which its later access started
  std::int64_t count = 0;     // of operations that race with one at the other line which started before
};

struct CheckResult {
  std::string name;
  CheckStatus status = CheckStatus::skipped;
  double max_abs_error = 0;
  double max_rel_error = 0;
  std::string where = {};                     // line of the program: "bench.cpp:12"
  std::int64_t elements = 0, mismatched = 0;  // compared, and of these those outside of the tolerance
  /// Of those the one with the largest error: its index, "[3, 7]", and its value. Empty without any.
  std::string worst_index = {};
  double worst_actual = 0, worst_expected = 0;
};

struct Metric {
  double value = 0;
  std::string unit;
};

struct ResourceResult {
  std::string name;
  Time busy;
  Bytes bytes;
  double utilisation = 0;  // busy / time of the region of interest, or else of the run
  std::string kind = {};   // the name with '*' for its numbers: "sip*.cube*.pe*.gemm"
};

/// Address translation on one PE.
struct TlbResult {
  std::string name;  // "sip0.cube2.pe5.mmu"
  std::uint64_t hits = 0, misses = 0;
  Time walking;  // for which descriptors waited for walks of the page table, added up
};

/// Neighbour registers that the host has had written for channels of groups and launches. Once for a group and
/// algorithm, before its first call; in no launch's time.
struct SetupResult {
  std::int64_t count = 0;  // installations
  Time time;               // each from its first command to its end on all of its SIPs, added up
};

/// The part of a run that the program marked (profiler.h).
struct RegionResult {
  std::int64_t windows = 0;  // intervals that do not touch
  Time time;                 // all together
  Time start, end;           // of the first, of the last
};

/// All ranges of one name.
struct RangeResult {
  std::string name;  // with those around it: "step/forward"
  std::int64_t count = 0;
  Time host;      // from their beginnings to their ends in host code
  Time complete;  // from the completion of what was enqueued before them to that of what was enqueued until their ends
  std::int64_t launches = 0;
  Time launch_time;  // of these, which may overlap
  Time begun;        // when the first of them began on the devices
  // Parts of `complete`, by which launches of the ranges and of ranges within them are under way; the rest is none.
  Time computing;      // computations alone
  Time communicating;  // collectives and messages alone
  Time overlapping;    // both
  double flops = 0;    // of the GEMM engines, in all of these launches
  Bytes hbm_bytes;     // moved by them
};

/// How far a run is.
struct RunProgress {
  Time simulated_time;
  std::uint64_t events = 0;
  std::size_t launches = 0, devices = 0;  // launches completed; devices to which some have come
};

/// The slots of a queue.
struct QueueSlots {
  std::string queue;  // its part of the machine, or the memory in which they are
  std::int32_t count = 0;
};

/// One reason why a run cannot go on: `who` waits for `target`. Empty target: nobody in the simulation can provide it.
struct WaitEdgeResult {
  std::string who, reason, target;
  bool in_cycle = false;
  /// Where a send waits for a free slot of a queue: which one. Not written to files.
  std::optional<QueueSlots> slot = {};
};

/// What more slots in the queues would do about a deadlock.
struct SlotAdvice {
  std::int32_t needed = 0;  // the least number of slots of each queue without this deadlock; 0: none was found
  std::int32_t tried = 0;   // the most slots with which the program was run; 0: it was not run again
  std::string text;         // both, and how the run ends then
};

/// What ranks of a spawn threw on their own, at one simulated time and in the same words.
struct RankErrorResult {
  std::vector<int> ranks;  // ascending
  Time time;
  std::string type, message, where;
};

struct ErrorResult {
  std::string type, message, where;
  /// Of a deadlock: who waits for whom through all layers, and the cycles among them, each beginning and ending with
  /// the same name.
  std::vector<WaitEdgeResult> waits = {};
  std::vector<std::vector<std::string>> cycles = {};
  std::optional<SlotAdvice> slots = {};           // of a deadlock, when it was looked for
  std::optional<QueueSlots> too_many_slots = {};  // for which their memory has no room. Not written to files.
  /// Of a spawn that failed: the root causes, by time, then rank, and the ranks that were unwound because of them.
  std::vector<RankErrorResult> rank_errors = {};
  std::vector<int> victims = {};
};

/// Which program ran, so that a comparison of two results can tell whether it was the same one. Not part of the
/// fingerprints.
struct Origin {
  /// A file of the program by its path from the C++ file's folder, and the hash of its bytes.
  struct File {
    std::string path, content;
  };
  std::string kind = {};         // "built-in", "file", or empty: a program that called simulate itself
  std::string path = {};         // of the C++ file, as it was given
  std::vector<File> files = {};  // that file and what it includes, KernBench's own headers left out; "file" only
  std::string compiler = {};     // that made it: "GCC: (Debian 12.2.0-14) 12.2.0"
  std::string flags = {};        // the user's own (--cxxflags), with blanks in between
  std::string build = {};        // identifies the build of the program kernbench; empty where the linker gives none
};

struct RunResult {
  std::string version, bench, topology;
  std::map<std::string, std::string> overrides;  // of the topology: "system.sips.count" is "16"
  std::map<std::string, std::string> parameters;
  std::uint64_t seed = 0;
  /// How it was simulated (SimulateOptions), as texts by name: "data", "exact_events", "out_of_bounds_reads",
  /// "skip_floating_point_ops", "uninitialized_memory"; "KB_ALGO" where the environment has it.
  std::map<std::string, std::string> switches;
  std::string correlation_id;
  Origin origin;
  RunStatus status = RunStatus::ok;
  Time simulated_time;
  double wall_time_s = 0;
  std::uint64_t events = 0;
  std::vector<LaunchResult> launches;      // by start; not all (SimulateOptions::detailed_launches)
  std::vector<LaunchTotal> launch_totals;  // the others, by name, line, device and range
  std::vector<CheckResult> checks;
  /// Looked for with SimulateOptions::detect_races only; in the order in which they were found.
  std::vector<RaceResult> races;
  std::map<std::string, Metric> metrics;
  std::vector<ResourceResult> resources;  // within the region of interest, if there is one
  std::optional<RegionResult> region;
  std::vector<RangeResult> ranges;  // by name
  std::vector<TlbResult> tlbs;
  SetupResult setup;
  /// Waits of host programs for a place in a device's queue of launches, by line and stream, the longest first. Their
  /// reason is "queue full", their cause the stream.
  std::vector<WaitResult> host_waits;
  /// Copies between the host and devices and from device to device, those that took longest first.
  std::vector<CopyTotal> copies;
  std::vector<DeviceResult> devices;  // that had anything to do, in order
  /// What makes the run slower than it need be, and what in the machine's description is allowed but likely a mistake:
  /// "host.link.credits: …".
  std::vector<std::string> warnings;
  std::optional<ErrorResult> error;
  std::uint64_t times_fingerprint = 0, values_fingerprint = 0;
  /// One device's peaks, by the machine's description: GEMM with f16 operands, its HBM.
  double peak_flops = 0;
  Bandwidth peak_hbm_bandwidth;
  std::vector<std::pair<std::string, double>> peak_gemm;  // operations per second by operand type ("f8", "i8", …)
  double peak_vector = 0;                                 // elements per second, of 32 bits and one cycle
  /// Every key of the machine's description with its value, in the description's order.
  std::vector<std::pair<std::string, std::string>> machine;
};

}  // namespace kernbench
