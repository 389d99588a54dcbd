#include "report/launch_group.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

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

EngineSum& sum_for(std::vector<EngineSum>& sums, const std::string& engine) {
  const auto found = std::ranges::find(sums, engine, &EngineSum::engine);
  if (found != sums.end()) return *found;
  sums.emplace_back().engine = engine;
  return sums.back();
}

void add_engine(EngineSum& sum, const EngineSum& more) {
  if (more.most_work > sum.most_work) {
    sum.most_work = more.most_work;
    sum.types = more.types;
  }
  sum.work += more.work;
  sum.busiest += more.busiest;
  sum.at_device_peak += more.at_device_peak;
  sum.at_used_peak += more.at_used_peak;
}

EngineSum sum_of_one(const EngineResult& engine) {
  const auto at = [&](double peak) { return peak > 0 ? engine.work / peak : std::numeric_limits<double>::infinity(); };
  return {engine.engine,  engine.types,           engine.work,         engine.work,
          engine.busiest, at(engine.device_peak), at(engine.used_peak)};
}

}  // namespace

void LaunchGroup::add(const LaunchResult& launch) {
  const Time time = duration(launch);
  ++count;
  total += time;
  shortest = std::min(shortest, time);
  longest = std::max(longest, time);
  for (const auto& [category, part] : launch.breakdown) add_time(breakdown, category, part);
  for (const EngineResult& engine : launch.engines) add_engine(sum_for(engines, engine.engine), sum_of_one(engine));
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

std::vector<LaunchGroup> launches_by_name(const std::vector<LaunchResult>& launches) {
  std::map<std::pair<std::string, std::string>, LaunchGroup> by_name;  // and line
  std::map<std::string, int> lines;
  for (const LaunchResult& launch : launches) {
    const std::string& name = launch.kernel;
    const auto [found, is_new] = by_name.try_emplace({name, launch.where});
    if (is_new) ++lines[name];
    found->second.name = name;
    found->second.where = launch.where;
    found->second.add(launch);
  }
  std::vector<LaunchGroup> groups;
  for (auto& [key, group] : by_name) {
    const auto& [name, where] = key;
    group.label_has_line = lines[name] > 1 && !where.empty();
    group.label = group.label_has_line ? name + " at " + where : name;
    groups.push_back(std::move(group));
  }
  const auto longer = [](const LaunchGroup& a, const LaunchGroup& b) { return a.total > b.total; };
  std::stable_sort(groups.begin(), groups.end(), longer);
  return groups;
}

LaunchGroup sum_of(const std::vector<LaunchGroup>& groups) {
  LaunchGroup sum;
  for (const LaunchGroup& group : groups) {
    sum.count += group.count;
    sum.total += group.total;
    sum.shortest = std::min(sum.shortest, group.shortest);
    sum.longest = std::max(sum.longest, group.longest);
    for (const auto& [category, time] : group.breakdown) add_time(sum.breakdown, category, time);
    for (const EngineSum& engine : group.engines) add_engine(sum_for(sum.engines, engine.engine), engine);
  }
  return sum;
}

}  // namespace kernbench::report
