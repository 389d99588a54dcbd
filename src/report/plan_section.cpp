#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/format.h"
#include "report/launch_group.h"
#include "report/sections.h"
#include "report/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostPlans = 4;
constexpr std::size_t kWidth = 80;

/// Launches of one name that were planned alike.
struct PlannedLaunches {
  std::string name;
  const PlanResult* plan;
  std::size_t count;
};

std::vector<PlannedLaunches> planned(const RunResult& result) {
  std::vector<PlannedLaunches> all;
  for (const LaunchResult& launch : result.launches) {
    if (!launch.plan) continue;
    const std::string name = base_name(launch.name);
    const auto same = [&](const PlannedLaunches& other) { return other.name == name && *other.plan == *launch.plan; };
    const auto found = std::ranges::find_if(all, same);
    if (found == all.end()) {
      all.push_back({name, &*launch.plan, 1});
    } else {
      ++found->count;
    }
  }
  return all;
}

std::string text_of(const PlannedLaunches& launches) {
  std::string line = "  " + shortened(one_line(launches.name), 30) + ":", out;
  const auto add = [&](const std::string& word) {
    if (display_width(line) + 1 + display_width(word) > kWidth) {
      out += line + "\n";
      line = "   ";
    }
    line += " " + word;
  };
  for (const auto& [name, value] : launches.plan->choices) add(shortened(one_line(name + " " + value), 70) + ",");
  add("estimated " + time_text(launches.plan->estimated));
  if (launches.count > 1) add(fmt::format("({} launches)", launches.count));
  return out + line + "\n";
}

}  // namespace

std::string plans_section(const RunResult& result, const Palette& palette) {
  const std::vector<PlannedLaunches> all = planned(result);
  if (all.empty()) return {};
  std::string out = palette.paint(Style::heading, "Plans of library kernels") + "\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostPlans); ++i) out += text_of(all[i]);
  if (all.size() > kMostPlans) {
    out += "  " + palette.paint(Style::faint, fmt::format("and {} more (see --json)", all.size() - kMostPlans)) + "\n";
  }
  return out;
}

}  // namespace kernbench::report
