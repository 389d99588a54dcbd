#include "runtime/observe/launch_result.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/observe/engine_use.h"

namespace kernbench::runtime {
namespace {

constexpr std::size_t kMostPathParts = 32;
constexpr std::size_t kMostWaits = 64;  // of a launch, or of several that are added up
constexpr std::size_t kMostSegments = tile::PathTree::kLongest;

using PartTexts = std::tuple<std::string, std::string, std::string, std::string>;

/// A critical path: what its parts add up to, and those of them that may be among the longest, in order of time.
struct WholePath {
  std::map<PartTexts, PathPart> parts;
  std::vector<PathSegment> segments;

  void add(std::string activity, std::string operation, std::string where, PartKind on, Time time, std::int64_t count) {
    const std::string kind = to_text(on);
    PathPart& part = parts[{activity, operation, where, kind}];
    part.activity = std::move(activity);
    part.operation = std::move(operation);
    part.where = std::move(where);
    part.on = kind;
    part.time += time;
    part.count += count;
  }
  /// A segment of dispatch or completion.
  void add(const std::string& activity, const std::string& operation, const PartId& on, Time start, Time end) {
    if (start >= end) return;
    add(activity, operation, "", on.kind, end - start, 1);
    segments.push_back({activity, operation, "", to_text(on), start, end});
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
  add_way(path, "dispatch", times.out, times.requested, record.last_start);
  const tile::FoundPath found = explainer.critical_path(*record.explanation);
  for (const tile::PathSum& sum : found.sums) {
    const tile::PathKey& key = explainer.paths().key(sum.key);
    path.add(std::string(name(key.activity, key.engine)), key.kind, where_of(key), key.on, sum.time, sum.count);
  }
  for (const tile::PathSegment& segment : found.longest) {
    const tile::PathKey& key = explainer.paths().key(segment.key);
    path.segments.push_back({std::string(name(key.activity, key.engine)), key.kind, where_of(key), to_text(segment.on),
                             segment.start, segment.end});
  }
  add_way(path, "completion", times.back, record.last_end, times.completed);
  return path;
}

std::vector<PathPart> parts_of(WholePath& path) {
  std::vector<PathPart> parts;
  for (auto& [texts, part] : path.parts) parts.push_back(std::move(part));
  std::ranges::stable_sort(parts, std::greater{}, &PathPart::time);
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

std::vector<PathSegment> longest_of(std::vector<PathSegment> path) {
  const auto longer = [](const PathSegment& a, const PathSegment& b) { return a.end - a.start > b.end - b.start; };
  std::ranges::stable_sort(path, longer);
  path.resize(std::min(path.size(), kMostSegments));
  std::ranges::stable_sort(path, {}, &PathSegment::start);
  return path;
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
  result.critical_path = parts_of(path);
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
  std::vector<WaitResult> waits;
  for (auto& wait : account.waits()) {
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
  result.programs = record.programs;
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
