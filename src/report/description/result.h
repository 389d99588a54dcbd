// The description of a run's result.
#pragma once

#include <string_view>

#include "report/description/error.h"
#include "report/description/key.h"
#include "report/description/launch.h"
#include "report/outcome.h"
#include "report/result.h"

namespace kernbench::report {

/// The number of the format: raised when a key changes its meaning or goes away, not when one is added.
inline constexpr int kJsonSchema = 1;

template <class V, Of<CheckResult> R>
void describe(V& visit, R& check) {
  visit.key({"name", "what was compared"}, check.name);
  visit.key({"status",
             "`skipped` under `--no-data`, and with `--skip-floating-point-ops` what derives from floating-point "
             "operations",
             {.choices = kCheckStatusNames}},
            check.status);
  visit.key({"max_abs_error", "the largest over all elements; 0 when skipped"}, check.max_abs_error);
  visit.key({"max_rel_error", "likewise"}, check.max_rel_error);
  static constexpr std::string_view kWhere = "where";
  visit.key({"where", "line of the program that asked for it", {.missing_with = kWhere}}, check.where);
  visit.key({"elements", "compared; 0 when skipped", {.missing_with = kWhere}}, check.elements);
  visit.key({"mismatched", "of these, those outside of the tolerance", {.missing_with = kWhere}}, check.mismatched);
  const bool omitted = check.mismatched == 0;
  static constexpr std::string_view kWorst = "worst_index";
  visit.key({"worst_index",
             "of the mismatched one with the largest error: `[3, 7]`; only where there is one",
             {.omitted = omitted, .missing_with = kWorst}},
            check.worst_index);
  visit.key({"worst_actual", "its value", {.omitted = omitted, .missing_with = kWorst}}, check.worst_actual);
  visit.key({"worst_expected", "what was expected", {.omitted = omitted, .missing_with = kWorst}},
            check.worst_expected);
}

template <class V, Of<CopyTotal> R>
void describe(V& visit, R& copy) {
  visit.key({"direction", "`to` and `from` the device, or `between` it, which sends, and others"}, copy.direction);
  visit.key({"device", "its number"}, copy.device);
  visit.key({"where", "line of the program, or empty"}, copy.where);
  visit.key({"in_region", "they started in the region of interest; true where there is none"}, copy.in_region);
  visit.key({"count", "of such copies"}, copy.count);
  visit.key({"bytes", "of device memory, replicas among them"}, copy.bytes);
  visit.key({"time_ps", "from their start, behind what they wait for, to their end, added up"}, copy.time);
  visit.key({"longest_ps", "of one of them"}, copy.longest);
}

template <class V, Of<KernelTime> R>
void describe(V& visit, R& kernel) {
  visit.key({"name", "of the launches, without a number"}, kernel.name);
  visit.key({"where", "line of the program that launched them"}, kernel.where);
  visit.key({"time_ps", "with any of them under way on the device"}, kernel.time);
}

template <class V, Of<DeviceResult> R>
void describe(V& visit, R& device) {
  visit.key({"device", "its number"}, device.device);
  visit.key({"launches_ps", "time with launches under way, however many"}, device.launches);
  visit.key({"copies_ps", "time with copies alone"}, device.copies);
  visit.key(
      {"idle",
       "the rest of the region, or the run, by what came next, the longest first: `host wait`, the host had waited "
       "in `operation` at `where` before it gave that; `host call`, the host had not waited since, and `operation` at "
       "`where` gave that; `channels`, that waited for its channels to be installed; `event`, that stood behind "
       "something elsewhere; `end`, nothing came",
       {.layout = Layout::lines}},
      device.idle);
  visit.key({"kernels", "its launches by name and line", {.layout = Layout::lines}}, device.kernels);
}

template <class V, Of<Metric> R>
void describe(V& visit, R& metric) {
  visit.key({"value", "the figure"}, metric.value);
  visit.key({"unit", "its unit"}, metric.unit);
}

template <class V, Of<ResourceResult> R>
void describe(V& visit, R& resource) {
  visit.key({"name", "`sip0.cube2.pe5.dma`"}, resource.name);
  visit.key({"busy_ps",
             "time in which it did work; of a queue (`dma.queue*`, `ipcq.*`) in which a command was under way, be it "
             "that it only waited"},
            resource.busy);
  visit.key({"bytes", "bytes that it moved"}, resource.bytes);
  visit.key({"utilisation", "`busy_ps` over the `time_ps` of the region of interest, or else over `simulated_time_ps`"},
            resource.utilisation);
  visit.key({"kind",
             "the name with `*` for its numbers, which all resources of a kind share: `sip*.cube*.pe*.gemm`",
             {.missing_with = "kind"}},
            resource.kind);
}

template <class V, Of<TlbResult> R>
void describe(V& visit, R& tlb) {
  visit.key({"name", "`sip0.cube2.pe5.mmu`"}, tlb.name);
  visit.key({"hits", "look-ups of pages, one for each page of a descriptor, that were found"}, tlb.hits);
  visit.key({"misses", "those that were not"}, tlb.misses);
  visit.key({"walking_ps", "for which descriptors waited for walks of the page table, added up"}, tlb.walking);
}

template <class V, Of<SetupResult> R>
void describe(V& visit, R& setup) {
  visit.key({"count", "installations: one for the channels of a group, more where an algorithm opens its own later"},
            setup.count);
  visit.key({"time_ps", "each from its first command to its end on all of its SIPs, added up; in no launch's time"},
            setup.time);
}

template <class V, Of<RegionResult> R>
void describe(V& visit, R& region) {
  visit.key({"windows", "intervals that do not touch"}, region.windows);
  visit.key({"time_ps", "all together"}, region.time);
  visit.key({"start_ps", "of the first"}, region.start);
  visit.key({"end_ps", "of the last"}, region.end);
}

template <class V, Of<RangeResult> R>
void describe(V& visit, R& range) {
  visit.key({"name", "with the ranges around it: `step/forward`"}, range.name);
  visit.key({"count", "how often it was entered"}, range.count);
  visit.key({"host_ps", "time in host code, added up"}, range.host);
  visit.key(
      {"complete_ps",
       "from the completion of what was enqueued before it to that of what was enqueued until its ends, added up"},
      range.complete);
  visit.key({"launches", "launches that were given in it (and in none within it)"}, range.launches);
  visit.key({"launch_ps", "their times added up"}, range.launch_time);
  static constexpr std::string_view kParts = "begun_ps";
  visit.key({"begun_ps", "when it first began on the devices", {.missing_with = kParts}}, range.begun);
  visit.key(
      {"compute_ps",
       "part of `complete_ps` in which only computing launches of it, and of ranges within it, were under way: in "
       "the order of a stream, from the end of what was before them",
       {.missing_with = kParts}},
      range.computing);
  visit.key({"communication_ps", "likewise only collectives and messages", {.missing_with = kParts}},
            range.communicating);
  visit.key({"overlap_ps", "likewise both; what is left of `complete_ps` is neither", {.missing_with = kParts}},
            range.overlapping);
  visit.key({"flops", "multiplications and additions of the GEMM engines in these launches", {.missing_with = kParts}},
            range.flops);
  visit.key({"hbm_bytes", "bytes that their DMA moved", {.missing_with = kParts}}, range.hbm_bytes);
}

template <class V, Of<RaceAccess> R>
void describe(V& visit, R& access) {
  visit.key({"operation", "`load`, `store`, `put`, …"}, access.operation);
  visit.key(
      {"where", "line of the kernel; of one of the library with the line that called it: `fill.cpp:28 (train.cpp:12)`"},
      access.where);
  visit.key({"launch", "its launch"}, access.launch);
  visit.key({"pe", "on which it ran"}, access.pe);
}

template <class V, Of<RaceResult> R>
void describe(V& visit, R& race) {
  visit.key({"earlier", "the access that started first"}, race.earlier);
  visit.key({"later", "the other one"}, race.later);
  visit.key({"place", "the first byte of both: `element [0, 3] of x`, or a physical address"}, race.place);
  visit.key({"time_ps", "when the later one started"}, race.time);
  visit.key({"count", "operations that race with one at the other line which started before"}, race.count);
}

template <class V, Of<Origin::File> R>
void describe(V& visit, R& file) {
  visit.key({"path", "from the folder of the C++ file"}, file.path);
  visit.key({"content", "a hash of the bytes"}, file.content);
}

template <class V, Of<Origin> R>
void describe(V& visit, R& origin) {
  visit.key({"kind", "`built-in`, `file`, or empty: a program that called `simulate` itself"}, origin.kind);
  visit.key({"path", "the C++ file as it was given; empty for a built-in bench"}, origin.path);
  visit.key({"files", "that file and what it includes: its own headers, not those of KernBench and of the compiler"},
            origin.files);
  visit.key({"compiler", "as it signed the compiled file: `GCC: (Debian 12.2.0-14) 12.2.0`"}, origin.compiler);
  visit.key({"flags", "what `--cxxflags` added"}, origin.flags);
  visit.key({"build", "identifies the build of `kernbench`: equal for equal builds"}, origin.build);
}

/// What went into the run.
template <class V, Of<RunResult> R>
void describe_inputs(V& visit, R& result) {
  visit.key({"kernbench", "version of the program", {.input = {"program"}}}, result.version);
  visit.key({"bench", "name of the bench; for a C++ file that could not be compiled, its path", {.input = {"bench"}}},
            result.bench);
  visit.key({"topology",
             "the `name` in the topology file; what `--topology` gave when it could not be read",
             {.input = {"machine", "name"}}},
            result.topology);
  visit.key(
      {"overrides", "what was given for single values of the topology, with `--set`", {.missing_with = "overrides"}},
      result.overrides);
  visit.key({"parameters", "every parameter of the bench with its value, defaults included", {.input = {"parameter"}}},
            result.parameters);
  visit.key({"seed", "seed of the program's random numbers, 0 to 2^64 − 1", {.input = {"seed"}}}, result.seed);
  visit.key({"switches",
             "how it was simulated: `data` (`false`: `--no-data`), `exact_events`, `out_of_bounds_reads`, "
             "`skip_floating_point_ops`, `uninitialized_memory`, each with its value as on the command line, `true` "
             "or `false`; `alike_devices`, `true`, only with `--alike-devices`; `detect_races`, `true`, only with "
             "`--detect-races`; `quick_plans`, `true`, only with `--quick-plans`; `explain`, `false`, only with "
             "`--no-explain`; `whole_run`, `true`, only with `--whole-run`; `detailed_launches`, if it is not 1000; "
             "`KB_ALGO`, where the environment has it",
             {.missing_with = "switches", .input = {"switch"}}},
            result.switches);
  visit.key({"correlation_id", "what `--correlation-id` gave, or empty"}, result.correlation_id);
  visit.key({"origin", "which program ran; part of no fingerprint", {.missing_with = "origin"}}, result.origin);
}

/// One device's peaks.
template <class V, Of<RunResult> R>
void describe_peaks(V& visit, R& result) {
  static constexpr std::string_view kByType = "gemm_per_s";
  visit.key({"flops_per_s", "GEMM of f16"}, result.peak_flops);
  visit.key({"hbm_bytes_per_s", "its HBM"}, result.peak_hbm_bandwidth);
  visit.key({"gemm_per_s", "operations by operand type", {.missing_with = kByType}}, result.peak_gemm);
  visit.key({"vector_per_s", "elements of 32 bits, one cycle each", {.missing_with = kByType}}, result.peak_vector);
}

template <class V, Of<RunResult> R>
void describe(V& visit, R& result) {
  visit.key({"schema",
             "the number of this format: raised when a key changes its meaning or goes away, not when one is added",
             {.derived = true}},
            kJsonSchema);
  describe_inputs(visit, result);
  visit.key({"status", "how the run ended", {.choices = kRunStatusNames, .derived = true}}, result.status);
  visit.key({"simulated_time_ps", "simulated time at the end of the run"}, result.simulated_time);
  visit.key({"wall_time_s", "time the run took on the host"}, result.wall_time_s);
  visit.key({"events", "events that the simulation processed"}, result.events);
  visit.key({"launches",
             "kernel launches in the order in which they started; of many the first that completed, as many as "
             "`--detailed-launches` says",
             {.layout = Layout::blocks}},
            result.launches);
  visit.key({"launch_totals",
             "the other launches, added up by name, line, device, range and plan; only where there are more",
             {.layout = Layout::blocks, .omitted = result.launch_totals.empty(), .missing_with = "launch_totals"}},
            result.launch_totals);
  visit.key({"checks", "comparisons with expected values", {.layout = Layout::lines}}, result.checks);
  visit.key(
      {"races",
       "accesses of two programs to the same bytes that nothing orders, of each pair of lines the first; only with "
       "`--detect-races`",
       {.layout = Layout::lines, .omitted = result.races.empty(), .missing_with = "races"}},
      result.races);
  visit.key({"metrics", "the bench's own figures by name", {.layout = Layout::lines}}, result.metrics);
  visit.key({"resources",
             "engines, links and memory channels that did work (in the region of interest, if there is one), in "
             "structural order",
             {.layout = Layout::lines}},
            result.resources);
  visit.key({"tlbs",
             "the PEs that translated addresses, by coordinate; of the whole run",
             {.layout = Layout::lines, .missing_with = "tlbs"}},
            result.tlbs);
  visit.key({"setup",
             "neighbour registers that the host had written for channels of groups and launches; only where there are "
             "any",
             {.omitted = result.setup.count == 0, .missing_with = "setup"}},
            result.setup);
  visit.key({"host_waits",
             "waits of host programs for a place in a device's queue of launches, the longest first; only where there "
             "are any",
             {.layout = Layout::lines, .omitted = result.host_waits.empty(), .missing_with = "host_waits"}},
            result.host_waits);
  visit.key(
      {"copies",
       "copies between the host and devices, and from device to device, those that took longest first; only where "
       "there are any",
       {.layout = Layout::lines, .omitted = result.copies.empty(), .missing_with = "copies"}},
      result.copies);
  visit.key({"devices",
             "what the devices did in the region of interest, or in the run where there is none: those that had "
             "anything to do",
             {.layout = Layout::blocks, .omitted = result.devices.empty(), .missing_with = "devices"}},
            result.devices);
  visit.key({"region",
             "the region of interest; null when the program marks none, and under `--whole-run`",
             {.missing_with = "region"}},
            result.region);
  visit.key({"ranges", "named ranges by name", {.layout = Layout::lines, .missing_with = "region"}}, result.ranges);
  visit.key({"warnings",
             "what makes the run slower than it need be, and what the machine's description allows, but hardly means "
             "(`host.link.buffer: 8KiB do not cover …`)",
             {.layout = Layout::lines, .missing_with = "warnings"}},
            result.warnings);
  visit.object({"device_peak", "of one device, by the machine's description"}, [&] { describe_peaks(visit, result); });
  visit.key({"machine",
             "every key of the machine's description with its value, overrides included: `cube.hbm.bandwidth` is "
             "`1.2TB/s`",
             {.layout = Layout::lines, .input = {"machine"}}},
            result.machine);
  visit.key({"error", "null unless `status` is `error`"}, result.error);
  visit.object({"fingerprint", "equal for equal times, and for equal checked values"}, [&] {
    visit.key({"times", "of all times", {.hexadecimal = true}}, result.times_fingerprint);
    visit.key({"values", "of all checked values", {.hexadecimal = true}}, result.values_fingerprint);
  });
}

}  // namespace kernbench::report
