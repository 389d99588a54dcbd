#include "report/launch_group.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "report/sums.h"

namespace kernbench::report {
namespace {

void add_time(std::vector<std::pair<std::string, Time>>& breakdown, const std::string& category, Time time) {
  const auto same = [&](const auto& entry) { return entry.first == category; };
  const auto found = std::find_if(breakdown.begin(), breakdown.end(), same);
  if (found == breakdown.end()) {
    breakdown.emplace_back(category, time);
  } else {
    found->second += time;
  }
}

EngineTotal& sum_for(std::vector<EngineTotal>& sums, const std::string& engine) {
  const auto found = std::ranges::find(sums, engine, &EngineTotal::engine);
  if (found != sums.end()) return *found;
  sums.emplace_back().engine = engine;
  return sums.back();
}

void add_engine(EngineTotal& sum, const EngineTotal& more) {
  // Other links are no link's own.
  if (sum.engine == "link" && sum.work > 0 && sum.types != more.types) {
    sum.types.clear();
  } else if (more.most_work > sum.most_work) {
    sum.types = more.types;
  }
  sum.most_work = std::max(sum.most_work, more.most_work);
  sum.work += more.work;
  sum.busiest += more.busiest;
  sum.at_device_peak += more.at_device_peak;
  sum.at_used_peak += more.at_used_peak;
}

EngineTotal sum_of_one(const EngineResult& engine) {
  const auto at = [&](double peak) { return peak > 0 ? engine.work / peak : std::numeric_limits<double>::infinity(); };
  return {engine.engine,  engine.types,           engine.work,         engine.work,
          engine.busiest, at(engine.device_peak), at(engine.used_peak)};
}

}  // namespace

void LaunchGroup::add(const LaunchResult& launch) {
  const Time time = duration(launch);
  ++count;
  devices.insert(launch.device);
  total += time;
  shortest = std::min(shortest, time);
  longest = std::max(longest, time);
  for (const auto& [category, part] : launch.breakdown) add_time(breakdown, category, part);
  for (const EngineResult& engine : launch.engines) add_engine(sum_for(engines, engine.engine), sum_of_one(engine));
}

void LaunchGroup::add(const LaunchTotal& launches) {
  count += launches.count;
  devices.insert(launches.device);
  total += launches.total;
  shortest = std::min(shortest, launches.shortest);
  longest = std::max(longest, launches.longest);
  for (const auto& [category, part] : launches.breakdown) add_time(breakdown, category, part);
  for (const EngineTotal& engine : launches.engines) add_engine(sum_for(engines, engine.engine), engine);
}

Time LaunchGroup::time_of_a_device() const {
  if (devices.empty()) return under_way.value_or(Time());
  const Time mean = Time::picoseconds(total.count() / static_cast<std::int64_t>(devices.size()));
  return under_way ? std::min(*under_way, mean) : mean;
}

std::string LaunchGroup::label_with_line() const {
  return where.empty() || label_has_line ? label : label + " at " + where;
}

std::vector<LaunchGroup> each_launch(const std::vector<LaunchResult>& launches) {
  std::vector<LaunchGroup> groups;
  for (const LaunchResult& launch : launches) {
    LaunchGroup group;
    group.label = launch.name + " on sip" + std::to_string(launch.device);
    group.name = launch.kernel;
    group.where = launch.where;
    group.add(launch);
    groups.push_back(std::move(group));
  }
  return groups;
}

std::size_t launch_count(const RunResult& result) {
  std::size_t count = result.launches.size();
  for (const LaunchTotal& total : result.launch_totals) count += static_cast<std::size_t>(total.count);
  return count;
}

bool has_at_most(const RunResult& result, std::size_t launches) {
  return result.launch_totals.empty() && result.launches.size() <= launches;
}

std::vector<LaunchGroup> launches_by_name(const RunResult& result) {
  std::map<std::pair<std::string, std::string>, LaunchGroup> by_name;  // and line
  std::map<std::string, int> lines;
  const auto add = [&](const std::string& name, const auto& launches) {
    const auto [found, is_new] = by_name.try_emplace({name, launches.where});
    if (is_new) ++lines[name];
    found->second.name = name;
    found->second.where = launches.where;
    found->second.add(launches);
  };
  for (const LaunchResult& launch : result.launches) add(launch.kernel, launch);
  for (const LaunchTotal& total : result.launch_totals) add(total.name, total);
  std::map<std::pair<std::string, std::string>, std::pair<Time, std::int64_t>> under_way;  // and of how many devices
  for (const DeviceResult& device : result.devices) {
    for (const KernelTime& kernel : device.kernels) {
      auto& [time, devices] = under_way[{kernel.name, kernel.where}];
      time += kernel.time;
      ++devices;
    }
  }
  std::vector<LaunchGroup> groups;
  for (auto& [key, group] : by_name) {
    if (const auto found = under_way.find(key); found != under_way.end()) {
      const auto& [time, devices] = found->second;
      group.under_way = Time::picoseconds(time.count() / devices);
    }
    const auto& [name, where] = key;
    group.label_has_line = lines[name] > 1 && !where.empty();
    group.label = group.label_has_line ? name + " at " + where : name;
    groups.push_back(std::move(group));
  }
  const auto longer = [](const LaunchGroup& a, const LaunchGroup& b) { return a.total > b.total; };
  std::stable_sort(groups.begin(), groups.end(), longer);
  return groups;
}

std::vector<std::string> kernels_cut_short(const RunResult& result) {
  if (!result.error || result.region || result.switches.contains("alike_devices")) return {};
  std::map<std::string, Time> beyond;
  for (const DeviceResult& device : result.devices) {
    for (const KernelTime& kernel : device.kernels) beyond[kernel.name] = sum(beyond[kernel.name], kernel.time);
  }
  const auto completed = [&](const std::string& name, Time time) {
    if (const auto found = beyond.find(name); found != beyond.end()) found->second = found->second - time;
  };
  for (const LaunchResult& launch : result.launches) completed(launch.kernel, duration(launch));
  for (const LaunchTotal& total : result.launch_totals) completed(total.name, total.total);
  std::erase_if(beyond, [](const auto& kernel) { return kernel.second <= Time::zero(); });
  std::vector<std::pair<std::string, Time>> kernels(beyond.begin(), beyond.end());
  std::ranges::stable_sort(kernels, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (auto& [name, time] : kernels) names.push_back(std::move(name));
  return names;
}

const LaunchResult* longest_of(const RunResult& result, const LaunchGroup& group) {
  const LaunchResult* longest = nullptr;
  const auto consider = [&](const std::string& name, const LaunchResult& launch) {
    if (name != group.name || launch.where != group.where) return;
    const auto key = [](const LaunchResult& of) { return std::tuple(of.start - of.end, of.start, of.device); };
    if (longest == nullptr || key(launch) < key(*longest)) longest = &launch;
  };
  for (const LaunchResult& launch : result.launches) consider(launch.kernel, launch);
  for (const LaunchTotal& total : result.launch_totals) consider(total.name, total.longest_launch);
  return longest;
}

LaunchGroup sum_of(const std::vector<LaunchGroup>& groups) {
  LaunchGroup sum;
  for (const LaunchGroup& group : groups) {
    sum.count += group.count;
    sum.devices.insert(group.devices.begin(), group.devices.end());
    sum.total += group.total;
    sum.shortest = std::min(sum.shortest, group.shortest);
    sum.longest = std::max(sum.longest, group.longest);
    for (const auto& [category, time] : group.breakdown) add_time(sum.breakdown, category, time);
    for (const EngineTotal& engine : group.engines) add_engine(sum_for(sum.engines, engine.engine), engine);
  }
  return sum;
}

}  // namespace kernbench::report
