#include "runtime/launch_result.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "hardware/bounds.h"
#include "kernel/explain/critical_path.h"

namespace kernbench::runtime {
namespace {

constexpr std::size_t kMostPathParts = 32;
constexpr std::size_t kMostSegments = 12;
constexpr std::size_t kMostWaits = 64;

/// Dispatch, the critical path of the program that ended last, completion: they tile the launch.
std::vector<PathSegment> whole_path(const hardware::LaunchTimes& times, const kernel::LaunchRecord& record,
                                    const kernel::TraceStore& traces) {
  std::vector<PathSegment> path;
  const auto add = [&](std::string activity, std::string operation, std::string where, std::string on, Time start,
                       Time end) {
    if (start >= end) return;
    path.push_back({std::move(activity), std::move(operation), std::move(where), std::move(on), start, end});
  };
  const auto add_way = [&](const char* activity, const std::vector<hardware::WayStep>& way, Time start, Time end) {
    for (const hardware::WayStep& step : way) {
      const Time until = std::min(step.end, end);
      add(activity, step.what, "", step.on, start, until);
      start = std::max(start, until);
    }
    add(activity, "", "", "", start, end);
  };
  add_way("dispatch", times.out, times.requested, record.last_start);
  const kernel::ProgramTrace none;
  for (const auto& segment : kernel::critical_path(record.last_trace ? *record.last_trace : none, &traces)) {
    add(std::string(name(segment.activity, segment.engine)), segment.kind,
        segment.has_where ? kernel::place(segment.where) : "", segment.on == nullptr ? "" : *segment.on, segment.start,
        segment.end);
  }
  add_way("completion", times.back, record.last_end, times.completed);
  return path;
}

std::vector<PathPart> parts_of(const std::vector<PathSegment>& path) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, PathPart> by_text;
  for (const PathSegment& segment : path) {
    const std::string on = kernel::kind_of_part(segment.on);
    PathPart& part = by_text[{segment.activity, segment.operation, segment.where, on}];
    part.activity = segment.activity;
    part.operation = segment.operation;
    part.where = segment.where;
    part.on = on;
    part.time += segment.end - segment.start;
    ++part.count;
  }
  std::vector<PathPart> parts;
  for (auto& [texts, part] : by_text) parts.push_back(std::move(part));
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

std::vector<WaitResult> waits_of(const kernel::LaunchAccount& account) {
  std::vector<WaitResult> waits;
  for (auto& wait : account.waits()) {
    waits.push_back({std::move(wait.reason), std::move(wait.operation), std::move(wait.where), std::move(wait.cause),
                     std::move(wait.cause_where), wait.time, wait.count});
  }
  return waits;
}

std::vector<OperationResult> operations_of(const kernel::LaunchAccount& account) {
  std::vector<OperationResult> operations;
  for (auto& total : account.operations()) {
    operations.push_back(
        {std::move(total.operation), std::move(total.engine), total.count, total.waiting, total.work, total.bound});
  }
  return operations;
}

/// Every program ends after its start and the work of its busiest resource, and the launch completes after the last.
void add_bound(LaunchResult& result, const topology::Topology& topology, const hardware::LaunchTimes& times,
               const kernel::LaunchRecord& record) {
  Bytes most_of_a_slice;
  for (const auto& [slice, bytes] : record.slice_bytes) most_of_a_slice = std::max(most_of_a_slice, bytes);
  const std::pair<const char*, Time> resources[] = {
      {"gemm", record.account.gemm_busy()},
      {"vector", record.account.vector_busy()},
      {"hbm", transfer_time(most_of_a_slice, hardware::slice_bandwidth(topology))},
      {"tcm", transfer_time(record.account.tcm_bytes(), topology.pe.tcm.bandwidth)},
  };
  Time longest;
  for (const auto& [resource, time] : resources) {
    if (time <= longest) continue;
    longest = time;
    result.bound_by = resource;
  }
  result.bound = (times.first_program - times.requested) + longest + (times.completed - record.last_end);
}

Roof roof_of(double compute, double bandwidth, const Roofline& roofline) {
  Roof roof{compute, bandwidth, 0, 0, false};
  const double memory = roofline.intensity * bandwidth;
  roof.compute_bound = compute <= memory;
  roof.roof = std::min(compute, memory);
  roof.share = roof.roof > 0 ? roofline.attained / roof.roof : 0;
  return roof;
}

/// The compute roof is what the engines do at their full rate for this launch's mix of operand types and operations.
Roofline roofline_of(const LaunchResult& result, const topology::Topology& topology,
                     const kernel::LaunchRecord& record) {
  const auto& account = record.account;
  const bool gemm = result.flops > 0 && account.gemm_bound() > Time::zero();
  const bool vector = account.vector_operations() > 0 && account.vector_bound() > Time::zero();
  Roofline roofline;
  if (result.hbm_bytes == Bytes() || result.end == result.start || !(gemm || vector)) return roofline;
  const double operations = gemm ? result.flops : static_cast<double>(account.vector_operations());
  const Time at_full_rate = gemm ? account.gemm_bound() : account.vector_bound();
  roofline.engine = gemm ? "gemm" : "vector";
  roofline.intensity = operations / static_cast<double>(result.hbm_bytes.count());
  roofline.attained = operations / (result.end - result.start).in_seconds();
  const double one_pe = operations / at_full_rate.in_seconds();
  const auto slice = static_cast<double>(hardware::slice_bandwidth(topology).count());
  roofline.used = roof_of(one_pe * static_cast<double>(record.programs),
                          slice * static_cast<double>(record.slice_bytes.size()), roofline);
  roofline.device = roof_of(one_pe * topology.pes_per_sip(), slice * topology.pes_per_sip(), roofline);
  return roofline;
}

}  // namespace

LaunchResult launch_result(int device, const topology::Topology& topology, const hardware::LaunchTimes& times,
                           const kernel::LaunchRecord& record, const kernel::TraceStore& traces) {
  LaunchResult result;
  result.name = record.name;
  result.device = device;
  result.start = times.requested;
  result.end = times.completed;
  result.programs = record.programs;
  result.flops = record.flops;
  result.hbm_bytes = record.hbm_bytes;
  const auto& inside = record.last_breakdown;
  result.breakdown = {{"dispatch", record.last_start - times.requested},
                      {"gemm", inside.gemm},
                      {"vector", inside.vector},
                      {"dma", inside.dma},
                      {"control", inside.control},
                      {"completion", times.completed - record.last_end}};
  add_bound(result, topology, times, record);
  result.roofline = roofline_of(result, topology, record);
  std::vector<PathSegment> path = whole_path(times, record, traces);
  result.critical_path = parts_of(path);
  cut(result.critical_path, kMostPathParts, PathPart{"other", "", "", "", {}, 0});
  result.longest_segments = longest_of(std::move(path));
  result.waits = waits_of(record.account);
  cut(result.waits, kMostWaits, WaitResult{"other", "", "", "", "", {}, 0});
  result.operations = operations_of(record.account);
  return result;
}

}  // namespace kernbench::runtime
