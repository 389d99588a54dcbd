#include "runtime/observe/launch_result.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "runtime/observe/engine_use.h"
#include "tile/explain/longest_first.h"

namespace kernbench::runtime {
namespace {

constexpr std::size_t kMostPathParts = 32;
constexpr std::size_t kMostWaits = 64;  // of a launch, or of several that are added up
constexpr std::size_t kMostSegments = tile::PathTree::kLongest;

using tile::text_of;

/// A critical path in pieces. Its texts are those of the program, of the launch and of the store, which outlive it.
struct WholePath {
  struct Part {
    std::string_view activity, operation, where;
    std::string_view on;  // kind of a server
    Time time;
    std::int64_t count = 0;
    PartId instance = tile::kAnywhere;
    void join(const Part& more) { instance = tile::common_part(instance, more.instance); }
    friend bool same_texts(const Part& a, const Part& b) {
      return tile::same_text(a.operation, b.operation) && tile::same_text(a.on, b.on) &&
             tile::same_text(a.where, b.where) && tile::same_text(a.activity, b.activity);
    }
    friend std::weak_ordering order_of(const Part& a, const Part& b) {
      if (const auto order = tile::order_of_texts(a.activity, b.activity); order != 0) return order;
      if (const auto order = tile::order_of_texts(a.operation, b.operation); order != 0) return order;
      if (const auto order = tile::order_of_texts(a.where, b.where); order != 0) return order;
      return tile::order_of_texts(a.on, b.on);
    }
  };
  struct Segment {
    std::string_view activity, operation, where;
    PartId on;
    Time start, end;
  };
  std::vector<Part> parts;
  std::vector<Segment> segments;  // those that may be among the longest, in order of time
  std::shared_ptr<const tile::PathOrigin> origin;

  /// A segment of dispatch or completion.
  void add(std::string_view activity, std::string_view operation, const PartId& on, Time start, Time end) {
    if (start >= end) return;
    parts.push_back({activity, operation, "", text_of(on.kind), end - start, 1});
    segments.push_back({activity, operation, "", on, start, end});
  }
};

void add_way(WholePath& path, const char* activity, const std::vector<hardware::WayStep>& way, Time start, Time end) {
  for (const hardware::WayStep& step : way) {
    const Time until = std::min(step.end, end);
    path.add(activity, step.what, step.on, start, until);
    start = std::max(start, until);
  }
  path.add(activity, "", {}, start, end);
}

/// What passes before the path's first program has begun.
void add_sender(WholePath& path, const tile::LateSender& sender, tile::TextStore& texts) {
  if (!sender.origin) return;
  path.origin = sender.origin;
  const std::string_view processor = texts.part(sender.origin->at);
  const std::string_view pe = processor.substr(0, processor.rfind('.'));
  const auto add = [&](tile::Activity activity, const std::shared_ptr<const std::string>& launch, Time start,
                       Time end) {
    if (start >= end) return;
    const std::string_view what = name(activity, hardware::EngineKind::dma);
    path.parts.push_back({what, *launch, "", pe, end - start, 1});
    path.segments.push_back({what, *launch, "", sender.origin->at, start, end});
  };
  add(tile::Activity::sender_busy, sender.origin->before, sender.start, sender.free());
  add(tile::Activity::sender, sender.origin->launch, sender.free(), sender.begun);
}

std::string_view where_of(const tile::PathKey& key, tile::TextStore& texts) {
  return key.has_where ? texts.place(key.file, key.line) : std::string_view();
}

/// Dispatch, the critical path of the program that ended last, completion: they tile the launch.
WholePath whole_path(const hardware::LaunchTimes& times, const tile::LaunchRecord& record,
                     const tile::Explainer& explainer, tile::TextStore& texts) {
  WholePath path;
  const tile::FoundPath found = explainer.critical_path(*record.explanation);
  const std::vector<hardware::WayStep> out = times.way_out(), back = times.way_back();
  const std::size_t ways = out.size() + back.size() + 4;
  path.parts.reserve(ways + found.sums.size());
  path.segments.reserve(ways + found.longest.size());
  add_way(path, "dispatch", out, times.requested, record.last_start);
  add_sender(path, found.sender, texts);
  for (const tile::PathSum& sum : found.sums) {
    const tile::PathKey& key = explainer.paths().key(sum.key);
    path.parts.push_back(
        {name(key.activity, key.engine), key.kind, where_of(key, texts), text_of(key.on), sum.time, sum.count, sum.on});
  }
  for (const tile::PathSegment& segment : found.longest) {
    const tile::PathKey& key = explainer.paths().key(segment.key);
    path.segments.push_back(
        {name(key.activity, key.engine), key.kind, where_of(key, texts), segment.on, segment.start, segment.end});
  }
  add_way(path, "completion", back, record.last_end, times.completed);
  return path;
}

/// The name of one part, or of those of one owner; empty for several. Cubes tell links apart where there are several.
/// `last`: the PE of most parts, whose name is at hand.
std::string instance_text(const PartId& part, bool has_cubes, PeCoordinate last, const std::string& last_name) {
  if (!part.known() && part.at == last) return last_name;
  const bool sip = part.at.sip.value >= 0, cube = sip && part.at.cube.value >= 0, pe = cube && part.at.pe.value >= 0;
  if (!part.known()) return pe ? to_text(part.at) : "";
  const std::string name = part.index >= 0 ? local_name(part) : std::string(local_name(part.kind));
  switch (scope_of(part.kind)) {
    case PartScope::machine:
      return part.index >= 0 ? name : "";
    case PartScope::sip:
      return sip ? to_text(part.at.sip) + "." + name : "";
    case PartScope::cube:
      return cube ? to_text(CubeCoordinate{part.at.sip, part.at.cube}) + "." + name : "";
    case PartScope::pe:
      if (pe) return to_text(part.at) + "." + name;
      return cube && has_cubes ? to_text(CubeCoordinate{part.at.sip, part.at.cube}) + ".pe*." + name : "";
  }
  return "";
}

/// What parts of equal texts add up to, the longest first; ties in the order of their texts.
std::vector<PathPart> parts_of(std::span<WholePath::Part> all, bool has_cubes, PeCoordinate last,
                               const std::string& last_name) {
  const std::vector<WholePath::Part*> order = tile::longest_first(all);
  std::vector<PathPart> parts;
  parts.reserve(order.size());
  for (const WholePath::Part* part : order) {
    parts.push_back({std::string(part->activity), std::string(part->operation), std::string(part->where),
                     std::string(part->on), part->time, part->count,
                     instance_text(part->instance, has_cubes, last, last_name)});
  }
  return parts;
}

/// The first entries; the rest as one, made by `rest` and added up.
template <class Entry>
void cut(std::vector<Entry>& entries, std::size_t most, Entry rest) {
  if (entries.size() <= most) return;
  for (std::size_t i = most - 1; i < entries.size(); ++i) {
    rest.time += entries[i].time;
    rest.count += entries[i].count;
  }
  entries.resize(most - 1);
  entries.push_back(std::move(rest));
}

std::vector<PathSegment> longest_of(const std::vector<WholePath::Segment>& path, tile::TextStore& texts) {
  using Segment = WholePath::Segment;
  std::vector<const Segment*> order;
  order.reserve(path.size());
  for (const Segment& segment : path) order.push_back(&segment);
  const std::size_t count = std::min(path.size(), kMostSegments);
  // Of equals the earlier one counts as longer.
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                            [](const Segment* a, const Segment* b) {
                              const Time of_a = a->end - a->start, of_b = b->end - b->start;
                              return of_a != of_b ? of_a > of_b : a < b;
                            });
  order.resize(count);
  std::ranges::stable_sort(order, {}, &Segment::start);
  std::vector<PathSegment> longest;
  longest.reserve(count);
  for (const Segment* segment : order) {
    longest.push_back({std::string(segment->activity), std::string(segment->operation), std::string(segment->where),
                       std::string(texts.part(segment->on)), segment->start, segment->end});
  }
  return longest;
}

/// Every program ends after its start and the work of its busiest resource, and the launch completes after the last.
void add_bound(LaunchResult& result, const hardware::LaunchTimes& times, const tile::LaunchRecord& record) {
  Time longest;
  for (const EngineResult& engine : result.engines) {
    if (engine.busiest <= longest) continue;
    longest = engine.busiest;
    result.bound_by = engine.engine;
  }
  const Time ways = (times.first_program - times.requested) + (times.completed - record.last_end);
  result.bound = ways + longest;
  // Of a launch that takes much longer than it must, the resource says more, unless it has hardly any part in it.
  const std::int64_t whole = (times.completed - times.requested).count();
  const bool is_near = 2 * result.bound.count() >= whole, hardly = 10 * longest.count() < whole;
  if (longest > Time::zero() && ways > longest && (is_near || hardly)) result.bound_by = "launch";
}

/// Collectives have an explanation of their own, and move what they have to.
Bytes tensor_bytes_of(const LaunchPlan& plan) {
  if (plan.explain) return {};
  std::set<const SimulatedStorage*> counted;
  Bytes bytes;
  for (const auto* list : {&plan.written, &plan.read}) {
    for (const auto& storage : *list) {
      if (!counted.insert(storage.get()).second) continue;
      const auto& descriptor = *storage->descriptor();
      std::int64_t elements = 1;
      for (const std::int64_t extent : descriptor.shape) elements *= extent;
      bytes += Bytes(elements * item_size(descriptor.dtype));
    }
  }
  return bytes;
}

void explain(LaunchResult& result, const hardware::LaunchTimes& times, const tile::LaunchRecord& record,
             const tile::Explainer& explainer, bool has_cubes, tile::TextStore& texts) {
  const auto breakdown = breakdown_of(times, record);
  result.breakdown.reserve(breakdown.size());
  for (std::size_t i = 0; i < breakdown.size(); ++i) {
    result.breakdown.emplace_back(kBreakdownCategories[i], breakdown[i]);
  }
  WholePath path = whole_path(times, record, explainer, texts);
  result.critical_path = parts_of(path.parts, has_cubes, record.last_pe, result.last_pe);
  cut(result.critical_path, kMostPathParts, PathPart{"other", "", "", "", {}, 0, ""});
  result.longest_segments = longest_of(path.segments, texts);
  result.waits = waits_of(record.explanation->account, texts);
  result.operations = operations_of(record.explanation->account);
}

}  // namespace

std::array<Time, kBreakdownCategories.size()> breakdown_of(const hardware::LaunchTimes& times,
                                                           const tile::LaunchRecord& record) {
  const tile::Breakdown& inside = record.explanation->breakdown;
  return {record.last_start - times.requested, inside.gemm, inside.vector, inside.dma, inside.messages, inside.control,
          times.completed - record.last_end};
}

std::vector<WaitResult> waits_of(const tile::LaunchAccount& account, tile::TextStore& texts) {
  const std::vector<tile::WaitTotal> totals = account.waits(texts);
  std::vector<WaitResult> waits;
  waits.reserve(totals.size());
  for (const tile::WaitTotal& wait : totals) {
    waits.push_back({std::string(wait.reason), std::string(wait.operation), std::string(wait.where),
                     std::string(wait.cause), std::string(wait.cause_where), wait.time, wait.count});
  }
  cut(waits, kMostWaits, WaitResult{"other", "", "", "", "", {}, 0});
  return waits;
}

std::vector<OperationResult> operations_of(const tile::LaunchAccount& account) {
  std::vector<OperationResult> operations;
  for (auto& total : account.operations()) {
    operations.push_back({std::move(total.operation), std::move(total.engine), total.count, total.waiting, total.work,
                          total.bound, total.bytes});
  }
  return operations;
}

LaunchResult launch_result(const LaunchPlan& plan, const hardware::Machine& machine, const hardware::LaunchTimes& times,
                           const tile::LaunchRecord& record, const tile::Explainer* explainer, tile::TextStore& texts) {
  LaunchResult result;
  result.name = record.name;
  result.kernel = plan.name;
  result.device = plan.device;
  result.start = times.requested;
  result.end = times.completed;
  result.programs = record.grid.count();
  result.pes = static_cast<std::int64_t>(plan.pes.size());
  result.available_pes = plan.available_pes;
  result.program_span = record.last_end - times.first_program;
  result.program_mean = Time::picoseconds(record.all_programs.count() / std::max<std::int64_t>(result.pes, 1));
  result.last_pe = to_text(record.last_pe);
  result.range = plan.range;
  for (const auto& type : record.work.gemm) result.flops += type.operations;
  result.hbm_bytes = record.hbm_bytes;
  for (const auto& [at, slice] : record.slices) result.hbm_occupied += slice.use.occupied();
  result.fused_bytes = record.fused_bytes;
  result.distance = record.distance;
  result.tensor_bytes = tensor_bytes_of(plan);
  result.engines = engines_of(record, SipId{plan.device}, plan.pes, times.completed - times.requested, machine);
  add_bound(result, times, record);
  result.roofline = roofline_of(result.engines);
  const bool has_cubes = machine.topology().sip.cubes.count() > 1;
  if (explainer != nullptr) explain(result, times, record, *explainer, has_cubes, texts);
  return result;
}

}  // namespace kernbench::runtime
