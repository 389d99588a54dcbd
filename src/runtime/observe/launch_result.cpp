#include "runtime/observe/launch_result.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/observe/engine_use.h"

namespace kernbench::runtime {
namespace {

constexpr std::size_t kMostPathParts = 32;
constexpr std::size_t kMostWaits = 64;  // of a launch, or of several that are added up
constexpr std::size_t kMostSegments = tile::PathTree::kLongest;

/// "sip*.cube*.pe*.dma.queue*", made once.
std::string_view text_of(PartKind kind) {
  static const auto texts = [] {
    std::array<std::string, kPartKindCount> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = to_text(static_cast<PartKind>(i));
    return all;
  }();
  return texts[static_cast<std::size_t>(kind)];
}

/// A critical path in pieces. Its texts are those of the program and of the launch, which outlive it.
struct WholePath {
  struct Part {
    std::string_view activity, operation;
    std::string where;
    std::string_view on;  // kind of a server
    Time time;
    std::int64_t count = 0;
    auto texts() const { return std::tuple(activity, operation, std::string_view(where), on); }
  };
  struct Segment {
    std::string_view activity, operation;
    const tile::PathKey* place = nullptr;  // none of dispatch and completion
    PartId on;
    Time start, end;
  };
  std::vector<Part> parts;
  std::vector<Segment> segments;  // those that may be among the longest, in order of time

  /// A segment of dispatch or completion.
  void add(std::string_view activity, std::string_view operation, const PartId& on, Time start, Time end) {
    if (start >= end) return;
    parts.push_back({activity, operation, "", text_of(on.kind), end - start, 1});
    segments.push_back({activity, operation, nullptr, on, start, end});
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

std::string where_of(const tile::PathKey& key) {
  return key.has_where ? tile::place(key.file, key.line) : "";
}

/// Dispatch, the critical path of the program that ended last, completion: they tile the launch.
WholePath whole_path(const hardware::LaunchTimes& times, const tile::LaunchRecord& record,
                     const tile::Explainer& explainer) {
  WholePath path;
  const std::size_t ways = times.out.size() + times.back.size() + 2;
  path.parts.reserve(ways);
  path.segments.reserve(ways + tile::PathTree::kLongest);
  add_way(path, "dispatch", times.out, times.requested, record.last_start);
  const tile::FoundPath found = explainer.critical_path(*record.explanation);
  for (const tile::PathSum& sum : found.sums) {
    const tile::PathKey& key = explainer.paths().key(sum.key);
    path.parts.push_back(
        {name(key.activity, key.engine), key.kind, where_of(key), text_of(key.on), sum.time, sum.count});
  }
  for (const tile::PathSegment& segment : found.longest) {
    const tile::PathKey& key = explainer.paths().key(segment.key);
    path.segments.push_back({name(key.activity, key.engine), key.kind, &key, segment.on, segment.start, segment.end});
  }
  add_way(path, "completion", times.back, record.last_end, times.completed);
  return path;
}

/// What parts of equal texts add up to, the longest first; ties in the order of their texts.
std::vector<PathPart> parts_of(std::span<WholePath::Part> all) {
  std::vector<WholePath::Part*> order;
  order.reserve(all.size());
  for (WholePath::Part& part : all) order.push_back(&part);
  std::ranges::sort(order, {}, [](const WholePath::Part* part) { return part->texts(); });
  std::size_t count = 0;
  for (WholePath::Part* part : order) {
    if (count == 0 || order[count - 1]->texts() != part->texts()) {
      order[count++] = part;
    } else {
      order[count - 1]->time += part->time;
      order[count - 1]->count += part->count;
    }
  }
  order.resize(count);
  std::ranges::stable_sort(order, std::greater{}, &WholePath::Part::time);
  std::vector<PathPart> parts(count);
  for (std::size_t i = 0; i < count; ++i) {
    PathPart& part = parts[i];
    part.activity = order[i]->activity;
    part.operation = order[i]->operation;
    part.where = std::move(order[i]->where);
    part.on = order[i]->on;
    part.time = order[i]->time;
    part.count = order[i]->count;
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

std::vector<PathSegment> longest_of(std::vector<WholePath::Segment> path) {
  const auto longer = [](const auto& a, const auto& b) { return a.end - a.start > b.end - b.start; };
  std::ranges::stable_sort(path, longer);
  path.resize(std::min(path.size(), kMostSegments));
  std::ranges::stable_sort(path, {}, &WholePath::Segment::start);
  std::vector<PathSegment> longest(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    PathSegment& segment = longest[i];
    segment.activity = path[i].activity;
    segment.operation = path[i].operation;
    if (path[i].place != nullptr) segment.where = where_of(*path[i].place);
    segment.on = to_text(path[i].on);
    segment.start = path[i].start;
    segment.end = path[i].end;
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
  result.bound = (times.first_program - times.requested) + longest + (times.completed - record.last_end);
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
             const tile::Explainer& explainer) {
  const auto breakdown = breakdown_of(times, record);
  for (std::size_t i = 0; i < breakdown.size(); ++i) {
    result.breakdown.emplace_back(kBreakdownCategories[i], breakdown[i]);
  }
  WholePath path = whole_path(times, record, explainer);
  result.critical_path = parts_of(path.parts);
  cut(result.critical_path, kMostPathParts, PathPart{"other", "", "", "", {}, 0});
  result.longest_segments = longest_of(std::move(path.segments));
  result.waits = waits_of(record.explanation->account);
  result.operations = operations_of(record.explanation->account);
}

}  // namespace

std::array<Time, kBreakdownCategories.size()> breakdown_of(const hardware::LaunchTimes& times,
                                                           const tile::LaunchRecord& record) {
  const tile::Breakdown& inside = record.explanation->breakdown;
  return {record.last_start - times.requested, inside.gemm, inside.vector, inside.dma, inside.control,
          times.completed - record.last_end};
}

std::vector<WaitResult> waits_of(const tile::LaunchAccount& account) {
  std::vector<tile::WaitTotal> totals = account.waits();
  std::vector<WaitResult> waits;
  waits.reserve(totals.size());
  for (tile::WaitTotal& wait : totals) {
    waits.push_back({std::move(wait.reason), std::move(wait.operation), std::move(wait.where), std::move(wait.cause),
                     std::move(wait.cause_where), wait.time, wait.count});
  }
  cut(waits, kMostWaits, WaitResult{"other", "", "", "", "", {}, 0});
  return waits;
}

std::vector<OperationResult> operations_of(const tile::LaunchAccount& account) {
  std::vector<OperationResult> operations;
  for (auto& total : account.operations()) {
    operations.push_back(
        {std::move(total.operation), std::move(total.engine), total.count, total.waiting, total.work, total.bound});
  }
  return operations;
}

LaunchResult launch_result(const LaunchPlan& plan, const hardware::Machine& machine, const hardware::LaunchTimes& times,
                           const tile::LaunchRecord& record, const tile::Explainer* explainer) {
  LaunchResult result;
  result.name = record.name;
  result.kernel = plan.name;
  result.device = plan.device;
  result.start = times.requested;
  result.end = times.completed;
  result.programs = record.grid.count();
  result.pes = static_cast<std::int64_t>(plan.pes.size());
  result.available_pes = plan.available_pes;
  result.range = plan.range;
  for (const auto& type : record.work.gemm) result.flops += type.operations;
  result.hbm_bytes = record.hbm_bytes;
  result.distance = record.distance;
  result.tensor_bytes = tensor_bytes_of(plan);
  result.engines = engines_of(record, SipId{plan.device}, plan.pes, times.completed - times.requested, machine);
  add_bound(result, times, record);
  result.roofline = roofline_of(result.engines);
  if (explainer != nullptr) explain(result, times, record, *explainer);
  return result;
}

}  // namespace kernbench::runtime
