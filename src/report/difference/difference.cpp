#include "report/difference/difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/part.h"
#include "report/device_use.h"
#include "report/difference/inputs.h"
#include "report/difference/origin_difference.h"
#include "report/launch_group.h"
#include "report/outcome.h"
#include "report/sections/sections.h"
#include "report/sums.h"

namespace kernbench::report {
namespace {

/// Both are at least 0.
Time distance(Time a, Time b) {
  return a < b ? b - a : a - b;
}
Time distance(const TimeChange& change) {
  return distance(change.a.value_or(Time::zero()), change.b.value_or(Time::zero()));
}

// ---- what the keys of a machine are about ----------------------------------------------------------------------

enum class Part : std::uint8_t { hbm, tcm, gemm, vector, dma, host, links, processors, none };
constexpr std::array<std::string_view, 8> kPartNames = {"HBM channels", "TCM ports",  "GEMM engines", "vector engines",
                                                        "DMA queues",   "host links", "links",        "processors"};

Part part_of_resource(PartKind kind) {
  switch (kind) {
    case PartKind::hbm_channel:
      return Part::hbm;
    case PartKind::tcm_port:
      return Part::tcm;
    case PartKind::gemm:
      return Part::gemm;
    case PartKind::vector:
      return Part::vector;
    case PartKind::dma_queue:
      return Part::dma;
    case PartKind::io_cpu:
    case PartKind::m_cpu:
      return Part::processors;
    case PartKind::host_to_sip:
    case PartKind::io_to_host:
      return Part::host;
    default:
      return Part::links;
  }
}

/// Of a link by the name, or the pattern of names, that an override gives.
Part part_of_link(std::string_view name) {
  const std::optional<PartKind> kind = part_kind(name);
  return kind ? part_of_resource(*kind) : Part::links;
}

/// Of "overrides.sip0.io.to_sip1.bandwidth": links have names of their own, a PE is known by its keys.
Part part_of_override(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const std::string_view value = key.substr(dot + 1);
  if (value == "clock" || value == "gemm_array") return Part::gemm;
  if (value == "vector_lanes") return Part::vector;
  return part_of_link(key.substr(0, dot));
}

Part part_of_key(std::string_view key) {
  constexpr std::string_view kOverrides = "overrides.";
  if (key.starts_with(kOverrides)) return part_of_override(key.substr(kOverrides.size()));
  constexpr std::array<std::pair<std::string_view, Part>, 18> kPrefixes = {{
      {"cube.hbm", Part::hbm},
      {"cube.noc", Part::links},
      {"cube.m_cpu", Part::processors},
      {"sip.cubes.link", Part::links},
      {"sip.io.attachment", Part::links},
      {"sip.io.cpu", Part::processors},
      {"sip.io.counter", Part::processors},
      {"system.sips.link", Part::links},
      {"system.link", Part::links},
      {"host.link", Part::host},
      {"pe.tcm", Part::tcm},
      {"pe.gemm", Part::gemm},
      {"pe.vector", Part::vector},
      {"pe.dma", Part::dma},
      {"pe.mmu", Part::dma},
      {"pe.clock", Part::gemm},
      {"pe.control", Part::none},
      {"pe.ipcq", Part::none},
  }};
  for (const auto& [prefix, part] : kPrefixes) {
    if (key.starts_with(prefix)) return part;
  }
  return Part::none;
}

using BusyByPart = std::array<Time, kPartNames.size()>;

BusyByPart busy_by_part(const RunResult& result) {
  BusyByPart busy{};
  for (const ResourceResult& resource : result.resources) {
    Time& time = busy[static_cast<std::size_t>(part_of_resource(part_kind(resource.kind).value_or(PartKind::none)))];
    time = sum(time, resource.busy);
  }
  return busy;
}

// ---- inputs ----------------------------------------------------------------------------------------------------

template <class Add>
void for_each_difference(const Texts& a, const Texts& b, Add add) {
  Texts keys = a;
  keys.insert(b.begin(), b.end());
  const auto value = [](const Texts& texts, const std::string& key) {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
  };
  for (const auto& [key, ignored] : keys) {
    const std::string left = value(a, key), right = value(b, key);
    if (left != right || a.count(key) != b.count(key)) add(key, left, right);
  }
}

/// With the busy times of the part of the machine that each key describes; what explains most first.
void rank_machine_keys(std::vector<InputChange>& changes, const RunResult& a, const RunResult& b) {
  const BusyByPart busy_a = busy_by_part(a), busy_b = busy_by_part(b);
  for (InputChange& change : changes) {
    const Part part = part_of_key(change.key);
    if (part == Part::none) continue;
    const auto index = static_cast<std::size_t>(part);
    change.part = kPartNames[index];
    change.busy_a = busy_a[index];
    change.busy_b = busy_b[index];
  }
  std::ranges::stable_sort(changes, [](const InputChange& left, const InputChange& right) {
    return distance(left.busy_a, left.busy_b) > distance(right.busy_a, right.busy_b);
  });
}

/// Of overrides of one part the last one counts: two machines may differ in their order alone.
std::optional<InputChange> order_change(const RunResult& a, const RunResult& b) {
  constexpr std::string_view kOverrides = "overrides.";
  const auto differ = std::ranges::mismatch(a.machine, b.machine);
  if (differ.in1 == a.machine.end() || differ.in2 == b.machine.end()) return std::nullopt;
  if (!differ.in1->first.starts_with(kOverrides) || !differ.in2->first.starts_with(kOverrides)) return std::nullopt;
  return InputChange{"machine",
                     "order of the overrides",
                     differ.in1->first.substr(kOverrides.size()) + " first",
                     differ.in2->first.substr(kOverrides.size()) + " first",
                     "",
                     {},
                     {}};
}

std::vector<InputChange> input_changes(const RunResult& a, const RunResult& b) {
  static const std::array<std::string, 6> kKinds = {"bench", "parameter", "switch", "machine", "seed", "program"};
  std::vector<InputChange> all = origin_changes(a.origin, b.origin);
  const auto left = inputs_of(a), right = inputs_of(b);
  for (const std::string& kind : kKinds) {
    const Texts& from = left.at(kind);
    const Texts& to = right.at(kind);
    // An earlier version's result has none.
    if (kind == "switch" && (from.empty() || to.empty())) continue;
    std::vector<InputChange> changes;
    for_each_difference(from, to, [&](const auto& key, const auto& was, const auto& is) {
      changes.push_back({kind, key, was, is, "", {}, {}});
    });
    if (kind == "machine" && changes.empty()) {
      if (auto order = order_change(a, b)) changes.push_back(*std::move(order));
    }
    if (kind == "machine") rank_machine_keys(changes, a, b);
    all.insert(all.end(), changes.begin(), changes.end());
  }
  return all;
}

// ---- outcome ---------------------------------------------------------------------------------------------------

using Times = std::map<std::string, Time>;

std::vector<TimeChange> changes_of(const Times& a, const Times& b) {
  std::vector<TimeChange> changes;
  Times names = a;
  names.insert(b.begin(), b.end());
  for (const auto& [name, ignored] : names) {
    TimeChange change{name, {}, {}};
    if (const auto found = a.find(name); found != a.end()) change.a = found->second;
    if (const auto found = b.find(name); found != b.end()) change.b = found->second;
    if (change.a != change.b) changes.push_back(std::move(change));
  }
  const auto larger = [](const TimeChange& left, const TimeChange& right) { return distance(left) > distance(right); };
  std::ranges::stable_sort(changes, larger);
  return changes;
}

void add(Times& times, const std::string& name, Time time) {
  Time& total = times[name];
  total = sum(total, time);
}

Times activities_of(const RunResult& result) {
  Times times;
  for (const LaunchResult& launch : result.launches) {
    for (const PathPart& part : launch.critical_path) add(times, part.activity, part.time);
  }
  for (const LaunchTotal& total : result.launch_totals) {
    for (const auto& [activity, time] : total.critical_path) add(times, activity, time);
  }
  return times;
}

/// `one_by_one`: those that the result has details of; else the sums of all of a kernel.
Times launches_of(const RunResult& result, bool one_by_one) {
  Times times;
  for (const LaunchResult& launch : result.launches) {
    add(times, (one_by_one ? launch.name : launch.kernel) + " on sip" + std::to_string(launch.device),
        duration(launch));
  }
  for (const LaunchTotal& total : result.launch_totals) {
    add(times, (one_by_one ? "further " : "") + total.name + " on sip" + std::to_string(total.device), total.total);
  }
  return times;
}

Times copies_of(const RunResult& result) {
  Times times;
  for (const CopyTotal& copy : result.copies) {
    add(times, with_place(copy.direction + " sip" + std::to_string(copy.device), copy.where), copy.time);
  }
  return times;
}

Times devices_of(const RunResult& result) {
  Times times;
  const auto use = device_use(result);
  if (!use) return times;
  add(times, "launches", use->launches);
  add(times, "only copies", use->copies);
  for (const WaitResult& idle : use->causes) add(times, "idle " + idle_text(idle), idle.time);
  return times;
}

/// Whether one tells what devices did, and the other does not, or not of a region.
bool have_unlike_devices(const RunResult& a, const RunResult& b) {
  const bool either = !a.devices.empty() || !b.devices.empty();
  return either && (a.devices.empty() != b.devices.empty() || a.region.has_value() != b.region.has_value());
}

Times waits_of(const RunResult& result) {
  Times times;
  const auto add_all = [&](const std::vector<WaitResult>& waits) {
    for (const WaitResult& wait : waits) {
      std::string name = wait.reason;
      if (!wait.operation.empty()) name += ": " + wait.operation;
      if (!wait.where.empty()) name += " " + wait.where;
      if (!wait.cause.empty()) name += " for " + wait.cause + " " + wait.cause_where;
      add(times, name, wait.time);
    }
  };
  for (const LaunchResult& launch : result.launches) add_all(launch.waits);
  for (const LaunchTotal& total : result.launch_totals) add_all(total.waits);
  return times;
}

std::vector<ResourceChange> resources_of(const RunResult& a, const RunResult& b) {
  std::map<std::string, ResourceChange> by_kind;
  for (const ResourceResult& resource : a.resources) {
    ResourceChange& change = by_kind[resource.kind];
    change.busy_a = sum(change.busy_a, resource.busy);
    change.bytes_a = sum(change.bytes_a, resource.bytes);
  }
  for (const ResourceResult& resource : b.resources) {
    ResourceChange& change = by_kind[resource.kind];
    change.busy_b = sum(change.busy_b, resource.busy);
    change.bytes_b = sum(change.bytes_b, resource.bytes);
  }
  std::vector<ResourceChange> changes;
  for (auto& [kind, change] : by_kind) {
    if (change.busy_a == change.busy_b && change.bytes_a == change.bytes_b) continue;
    change.kind = kind;
    changes.push_back(std::move(change));
  }
  std::ranges::stable_sort(changes, [](const ResourceChange& left, const ResourceChange& right) {
    return distance(left.busy_a, left.busy_b) > distance(right.busy_a, right.busy_b);
  });
  return changes;
}

bool equal(const std::optional<double>& a, const std::optional<double>& b) {
  return a == b || (a && b && std::isnan(*a) && std::isnan(*b));
}

std::vector<ValueChange> metrics_of(const RunResult& a, const RunResult& b) {
  std::map<std::pair<std::string, std::string>, ValueChange> by_name;
  for (const auto& [name, metric] : a.metrics) by_name[{name, metric.unit}].a = metric.value;
  for (const auto& [name, metric] : b.metrics) by_name[{name, metric.unit}].b = metric.value;
  std::vector<ValueChange> changes;
  for (auto& [key, change] : by_name) {
    if (equal(change.a, change.b)) continue;
    change.name = key.first;
    change.unit = key.second;
    changes.push_back(std::move(change));
  }
  return changes;
}

bool is_of_the_whole_run(const RunResult& result) {
  return result.switches.contains("whole_run");
}

/// Whether both have details of as many launches, of those that they have.
bool have_equal_details(const RunResult& a, const RunResult& b) {
  const bool cut = !a.launch_totals.empty() || !b.launch_totals.empty();
  return !cut || a.launches.size() == b.launches.size();
}

std::string status_text(const RunResult& result) {
  return result.error ? "error: " + result.error->type : std::string(name(result.status));
}

}  // namespace

bool Difference::same_outcome() const {
  const bool same_region = !region_a || !region_b || region_a == region_b;
  return same_times && same_values && time_a == time_b && same_region && status_a == status_b && activities.empty() &&
         launches.empty() && copies.empty() && devices.empty() && waits.empty() && resources.empty() &&
         metrics.empty() && plans.empty();
}

Difference difference(const RunResult& a, const RunResult& b) {
  Difference out;
  out.status_a = status_text(a);
  out.status_b = status_text(b);
  out.time_a = a.simulated_time;
  out.time_b = b.simulated_time;
  out.same_times = a.times_fingerprint == b.times_fingerprint;
  out.same_values = a.values_fingerprint == b.values_fingerprint;
  out.inputs = input_changes(a, b);
  if (a.region) out.region_a = a.region->time;
  if (b.region) out.region_b = b.region->time;
  out.copies = changes_of(copies_of(a), copies_of(b));
  if (have_unlike_devices(a, b)) {
    out.not_compared.emplace_back("what devices did: only one result has it, or only one has a region of interest");
  } else {
    out.devices = changes_of(devices_of(a), devices_of(b));
  }
  const bool equal_details = have_equal_details(a, b);
  out.launches = changes_of(launches_of(a, equal_details), launches_of(b, equal_details));
  if (!equal_details) {
    out.not_compared.emplace_back(
        "single launches, their waits and critical paths: the runs have details of different numbers of launches");
  } else if (is_explained(a) != is_explained(b)) {
    out.not_compared.emplace_back("waits and critical paths: one run was not explained (--no-explain)");
  } else {
    out.activities = changes_of(activities_of(a), activities_of(b));
    out.waits = changes_of(waits_of(a), waits_of(b));
  }
  if (is_of_the_whole_run(a) == is_of_the_whole_run(b)) {
    out.resources = resources_of(a, b);
  } else {
    out.not_compared.emplace_back("resources: one run counts outside of its region, too (--whole-run)");
  }
  out.metrics = metrics_of(a, b);
  out.plans = plan_changes(a, b);
  return out;
}

}  // namespace kernbench::report
