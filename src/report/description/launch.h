// The description of a launch.
#pragma once

#include <array>
#include <string_view>

#include "report/description/key.h"
#include "report/result.h"

namespace kernbench::report {

template <class V, Of<PathPart> R>
void describe(V& visit, R& part) {
  visit.key({"activity", "what passes, see below"}, part.activity);
  visit.key({"operation",
             "kind of the operation (`load`), empty for the program itself; of `dispatch` and `completion` what is "
             "done: `message of host` (`io.cpu`, `m_cpu`, `pe`) on a link, `waiting` for what a processor or counter "
             "had to do before, `end` of the program, empty while a processor handles it or a counter counts it; of "
             "`sender busy` the launch that still ran there (`work#1`), of `sender not started` the sender's"},
            part.operation);
  visit.key({"where", "line of the kernel (`gemm.cpp:41`), or empty"}, part.where);
  visit.key({"on",
             "the kind of the server (link, HBM channel, TCM port) that it is due to: for `contention` the one on the "
             "operation's way that was busiest while it was under way, for `link buffer` the one whose buffer is too "
             "small, for `queue data` the last one on the way that held the message up, or where the path only goes to "
             "the end of the send the one on its way that was busiest while it was under way, for `latency` the one "
             "that has most of it; for `dispatch` and `completion` the link, processor or counter (`sip*.io.cpu`, "
             "`sip*.cube*.m_cpu.counter`); for `sender busy` and `sender not started` the PE of the sender itself "
             "(`sip1.cube0.pe3`); empty otherwise"},
            part.on);
  visit.key({"time_ps", "sum of the segments"}, part.time);
  visit.key({"count", "how many segments there are"}, part.count);
  visit.key(
      {"instance",
       "the one part that all segments are due to: the server itself, with `*` for numbers that differ within one "
       "PE, or one of several cubes (`sip0.cube0.pe0.hbm.channel*`); without a server the PE; empty for several, "
       "and for `dispatch` and `completion`",
       {.missing_with = "instance"}},
      part.instance);
}

template <class V, Of<PathSegment> R>
void describe(V& visit, R& segment) {
  visit.key({"activity", "as in the critical path"}, segment.activity);
  visit.key({"operation", "likewise"}, segment.operation);
  visit.key({"where", "likewise"}, segment.where);
  visit.key({"on", "the server itself; of a sender the control processor of its PE"}, segment.on);
  visit.key({"start_ps", "when it began"}, segment.start);
  visit.key({"end_ps", "when it ended"}, segment.end);
}

template <class V, Of<WaitResult> R>
void describe(V& visit, R& wait) {
  visit.key({"reason",
             "one of the waits among the activities, `TLB miss`, `link buffer` or `contention`; of a host program "
             "`queue full`; of `waited_for` and of a device's `idle` see there"},
            wait.reason);
  visit.key({"operation", "that waited; empty for a program itself"}, wait.operation);
  visit.key({"where", "line of the kernel, or of the host program, that waited"}, wait.where);
  visit.key({"cause",
             "the operation that ended the waits; empty when it was of another program, or none; for `contention` "
             "and `link buffer` the kind of the server, for `queue full` the stream"},
            wait.cause);
  visit.key({"cause_where", "its line"}, wait.cause_where);
  visit.key({"time_ps", "sum of the waits"}, wait.time);
  visit.key({"count", "how many waits there are"}, wait.count);
}

template <class V, Of<OperationResult> R>
void describe(V& visit, R& operation) {
  visit.key({"operation", "kind of the operations (`load`)"}, operation.operation);
  visit.key({"engine", "`dma`, `gemm`, `vector` or `ipcq`"}, operation.engine);
  visit.key({"count", "how many there are"}, operation.count);
  visit.key({"waiting_ps", "from being requested to being started, and for credits and messages"}, operation.waiting);
  visit.key({"work_ps", "the rest to the finish"}, operation.work);
  visit.key({"bound_ps",
             "the least that the work could have taken: for DMA its time alone, for compute commands the cycles of an "
             "array (of lanes) that is full in every one"},
            operation.bound);
  visit.key({"bytes", "that DMA moved between memories and the TCM; 0 for other engines", {.missing_with = "bytes"}},
            operation.bytes);
}

template <class V, Of<EngineResult> R>
void describe(V& visit, R& engine) {
  visit.key({"engine", "`gemm`, `vector`, `hbm` (the slices), `tcm` (the DMA ports) or `link` (the busiest one)"},
            engine.engine);
  visit.key({"types", "operand types, what takes longest first (`f16`); empty for memories; the link's name"},
            engine.types);
  visit.key({"work", "multiplications and additions; elements; bytes"}, engine.work);
  visit.key({"busiest_ps", "what the busiest one needed; 0 for a memory model of the user's own"}, engine.busiest);
  visit.key({"attained_per_s", "work over the whole time of the launch"}, engine.attained);
  visit.key({"device_peak_per_s",
             "all of the device at their full rate for this mix of operand types and operations; null for a component "
             "model of the user's own",
             {.nullable = true}},
            engine.device_peak);
  visit.key({"used_peak_per_s", "likewise those that the launch ran on or touched", {.nullable = true}},
            engine.used_peak);
}

template <class V, Of<Roof> R>
void describe(V& visit, R& roof) {
  static constexpr std::array<std::string_view, 2> kBounds = {"hbm", "compute"};
  visit.key({"compute_per_s", "operations"}, roof.compute);
  visit.key({"hbm_bytes_per_s", "bytes of HBM"}, roof.bandwidth);
  visit.key({"roof_per_s", "operations that the intensity allows"}, roof.roof);
  visit.key({"share", "attained over roof"}, roof.share);
  visit.key({"bound", "what the roof is made of", {.choices = kBounds}}, roof.compute_bound);
}

template <class V, Of<Roofline> R>
void describe(V& visit, R& roofline) {
  visit.key({"engine", "`gemm` or `vector`, whichever came nearer to its peak"}, roofline.engine);
  visit.key({"intensity", "its work for each byte of `hbm_bytes`"}, roofline.intensity);
  visit.key({"attained_per_s", "its work over the whole time of the launch"}, roofline.attained);
  visit.key({"used", "the roof of the PEs that the launch ran on and the HBM slices that it touched"}, roofline.used);
  visit.key({"device", "that of the whole device"}, roofline.device);
}
inline bool is_nothing(const Roofline& roofline) {
  return roofline.engine.empty();
}

template <class V, Of<DistanceBytes> R>
void describe(V& visit, R& bytes) {
  visit.key({"own_slice", "in the slice of the PE"}, bytes.own_slice);
  visit.key({"same_cube", "in another slice of its cube"}, bytes.same_cube);
  visit.key({"same_sip", "in another cube of its SIP"}, bytes.same_sip);
  visit.key({"other_sips", "beyond"}, bytes.other_sips);
}

template <class V, Of<PlanResult> R>
void describe(V& visit, R& plan) {
  visit.key({"of", "which kernel"}, plan.of);
  visit.key(
      {"choices",
       "for the matrix product `tile_m`, `tile_k`, `depth`, …; of a collective that folds `fold order`, `chosen`"},
      plan.choices);
  visit.key({"estimated_ps", "what the plan was chosen by"}, plan.estimated);
}

/// What explains the launch's time.
template <class V, Of<LaunchResult> R>
void describe_explanation(V& visit, R& launch) {
  visit.key({"engines",
             "what the launch asked of its engines and memories",
             {.layout = Layout::lines, .missing_with = "engines"}},
            launch.engines);
  visit.key({"roofline", "null when nothing was computed or no byte moved", {.nullable = true}}, launch.roofline);
  visit.key({"critical_path",
             "what determined the end, alike segments summed up, the longest first; the times add up to `end_ps` − "
             "`start_ps`",
             {.layout = Layout::lines}},
            launch.critical_path);
  visit.key(
      {"longest_segments", "the 12 longest segments of the critical path, in order of time", {.layout = Layout::lines}},
      launch.longest_segments);
  visit.key({"waits",
             "what operations and programs waited for, alike waits of all programs summed up, the longest first; at "
             "most 64, the last one of which is then `other`",
             {.layout = Layout::lines}},
            launch.waits);
  visit.key({"operations", "all operations by kind, the most work first", {.layout = Layout::lines}},
            launch.operations);
}
inline bool is_nothing(const WaitResult& wait) {
  return wait.reason.empty();
}

template <class V, Of<LaunchResult> R>
void describe(V& visit, R& launch) {
  static constexpr std::string_view kRegion = "in_region";
  visit.key({"name", "name given at the launch"}, launch.name);
  visit.key({"device", "the SIP"}, launch.device);
  visit.key({"where",
             "line of the program's call that launched it (`train.cpp:12`): of `torch::launch`, the tensor function "
             "or the collective; empty when not known",
             {.missing_with = "where"}},
            launch.where);
  visit.key({"start_ps", "when the launch left the host"}, launch.start);
  visit.key({"end_ps", "when its completion was there"}, launch.end);
  visit.key({"programs", "kernel instances: one per PE, or those of the grid"}, launch.programs);
  visit.key({"pes", "PEs that ran the launch", {.missing_with = kRegion}}, launch.pes);
  static constexpr std::string_view kSpan = "program_span_ps";
  visit.key({"program_span_ps", "from the first program's start to the last one's end", {.missing_with = kSpan}},
            launch.program_span);
  visit.key({"program_mean_ps", "of that, time in programs: the mean of the PEs", {.missing_with = kSpan}},
            launch.program_mean);
  visit.key({"last_pe", "where the last program ended", {.missing_with = kSpan}}, launch.last_pe);
  visit.key({"available_pes", "PEs that its rank has: one, or all of the SIP", {.missing_with = kRegion}},
            launch.available_pes);
  visit.key({"range",
             "the range in which it was launched, with those around it (`step/forward`), or empty",
             {.missing_with = kRegion}},
            launch.range);
  visit.key(
      {"in_region",
       "it began at its device, the host's message having arrived, in the region of interest; true where there is none",
       {.missing_with = kRegion}},
      launch.in_region);
  visit.key({"plan", "how a library kernel was planned", {.missing_with = "plan"}}, launch.plan);
  visit.key({"breakdown_ps", "where the time went, by category; the values add up to `end_ps` − `start_ps`"},
            launch.breakdown);
  visit.key({"bound_ps", "the least that the launch could have taken, see below"}, launch.bound);
  visit.key({"bound_by",
             "what bounds it most: a resource, `gemm`, `vector`, `hbm` (a slice), `tcm` (a DMA port), `link` (the "
             "one with most to do); `launch`, its way out and back, if that is longer, and the bound at least half of "
             "the time or the resource less than a "
             "tenth of it; or empty"},
            launch.bound_by);
  visit.key({"flops", "multiplications and additions of the GEMM engines"}, launch.flops);
  visit.key({"hbm_bytes", "bytes that the programs' DMA moved"}, launch.hbm_bytes);
  visit.key({"hbm_occupied_bytes",
             "for which that took the channels' time: an access counts as `cube.hbm.access` at least",
             {.missing_with = "hbm_occupied_bytes"}},
            launch.hbm_occupied);
  visit.key({"bytes_by_distance", "the same by where they are, as seen from the PE", {.missing_with = kRegion}},
            launch.distance);
  visit.key({"fused_bytes",
             "bytes that values within `tl::fuse` did not move through the TCM ports of the engines",
             {.missing_with = "fused_bytes"}},
            launch.fused_bytes);
  visit.key({"tensor_bytes",
             "bytes of its tensor arguments, each counted once; 0 for collectives",
             {.missing_with = kRegion}},
            launch.tensor_bytes);
  visit.key(
      {"waited_for",
       "what held up its beginning longest, after it had been given: `stream`, what stood before it there, `cause` the "
       "last of it; `event`, something elsewhere, recorded at `cause_where`, for which the stream waited at `where`; "
       "`channels`, the installation of its own; or its device had nothing to do before, because of a `host wait` or a "
       "`host call`; only where there is anything",
       {.omitted = is_nothing(launch.waited_for), .missing_with = "waited_for"}},
      launch.waited_for);
  describe_explanation(visit, launch);
}

template <class V, Of<EngineTotal> R>
void describe(V& visit, R& engine) {
  visit.key({"engine", "as of a launch"}, engine.engine);
  visit.key({"types", "of the launch that had most work for it"}, engine.types);
  visit.key({"work", "multiplications and additions; elements; bytes"}, engine.work);
  visit.key({"most_work", "of one launch"}, engine.most_work);
  visit.key({"busiest_ps", "what the busiest one needed, added up"}, engine.busiest);
  visit.key({"at_device_peak_s", "seconds that the work takes at the device's peak; null: there is none"},
            engine.at_device_peak);
  visit.key({"at_used_peak_s", "likewise at that of the parts in use"}, engine.at_used_peak);
}

template <class V, Of<LaunchTotal> R>
void describe(V& visit, R& total) {
  visit.key({"name", "name given at the launches"}, total.name);
  visit.key({"device", "the SIP"}, total.device);
  visit.key({"where", "as of a launch"}, total.where);
  visit.key({"range", "likewise"}, total.range);
  visit.key({"in_region", "likewise"}, total.in_region);
  visit.key({"plan", "likewise"}, total.plan);
  visit.key({"count", "how many launches there are"}, total.count);
  visit.key({"total_ps", "their times added up"}, total.total);
  visit.key({"shortest_ps", "of their times"}, total.shortest);
  visit.key({"longest_ps", "likewise"}, total.longest);
  visit.key({"first_start_ps", "when the first of them started"}, total.first_start);
  visit.key({"last_end_ps", "when the last of them ended"}, total.last_end);
  visit.key({"breakdown_ps", "where the time went, by category; the values add up to `total_ps`"}, total.breakdown);
  visit.key({"flops", "multiplications and additions of the GEMM engines"}, total.flops);
  visit.key({"hbm_bytes", "bytes that the programs' DMA moved"}, total.hbm_bytes);
  visit.key({"bytes_by_distance", "the same by where they are, as seen from the PE"}, total.distance);
  visit.key({"fused_bytes",
             "bytes that values within `tl::fuse` did not move through the TCM ports of the engines",
             {.missing_with = "fused_bytes"}},
            total.fused_bytes);
  visit.key({"engines", "what they asked of engines and memories", {.layout = Layout::lines}}, total.engines);
  visit.key({"critical_path_ps", "their critical paths by activity; the values add up to `total_ps`"},
            total.critical_path);
  visit.key({"waits", "as of a launch, those of all added up", {.layout = Layout::lines}}, total.waits);
  visit.key({"operations", "likewise", {.layout = Layout::lines}}, total.operations);
  visit.key({"longest_launch", "one that took longest, with all keys of a launch"}, total.longest_launch);
}

}  // namespace kernbench::report
