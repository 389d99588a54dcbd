#include "report/difference/plan_difference.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/launch_group.h"

namespace kernbench::report {
namespace {

using Plans = std::map<std::pair<std::string, std::int32_t>, const LaunchResult*>;

/// By launch and device.
Plans plans_of(const RunResult& result) {
  Plans plans;
  for (const LaunchResult& launch : result.launches) {
    if (launch.plan) plans[{launch.name, launch.device}] = &launch;
  }
  return plans;
}

void add(std::vector<PlanChange>& changes, PlanChange change) {
  const auto same = [&](const PlanChange& other) {
    return other.launch == change.launch && other.choice == change.choice && other.a == change.a && other.b == change.b;
  };
  const auto found = std::ranges::find_if(changes, same);
  if (found == changes.end()) {
    changes.push_back(std::move(change));
  } else {
    ++found->count;
  }
}

}  // namespace

std::string value_of(const PlanResult& plan, std::string_view choice) {
  for (const auto& [name, value] : plan.choices) {
    if (name == choice) return value;
  }
  return {};
}

std::vector<PlanChange> plan_changes(const RunResult& a, const RunResult& b) {
  std::vector<PlanChange> changes;
  const Plans others = plans_of(b);
  for (const auto& [key, launch] : plans_of(a)) {
    const auto found = others.find(key);
    if (found == others.end()) continue;
    const PlanResult &plan = *launch->plan, &other = *found->second->plan;
    const std::string& name = launch->kernel;
    for (const auto& [choice, value] : plan.choices) {
      const std::string now = value_of(other, choice);
      if (now != value) add(changes, {name, choice, value, now, 1});
    }
    for (const auto& [choice, value] : other.choices) {
      if (value_of(plan, choice).empty()) add(changes, {name, choice, "", value, 1});
    }
  }
  std::ranges::stable_sort(changes, {}, &PlanChange::launch);
  return changes;
}

}  // namespace kernbench::report
