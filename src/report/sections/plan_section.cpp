#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/difference/plan_difference.h"
#include "report/launch_group.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostPlans = 4;
constexpr std::size_t kMostFactLines = 2;
constexpr std::size_t kFactWidth = 65;
constexpr std::size_t kPlanWidth = 80;

/// Launches of one name that were planned alike.
struct PlannedLaunches {
  std::string name;
  const PlanResult* plan;
  std::size_t count;
  Time longest;
};

constexpr std::string_view kCollective = "collective";  // PlanResult::of

/// Of collectives, or of library kernels.
std::vector<PlannedLaunches> planned(const RunResult& result, bool collectives) {
  std::vector<PlannedLaunches> all;
  const auto add = [&](const std::string& name, const std::optional<PlanResult>& plan, std::size_t count,
                       Time longest) {
    if (!plan || (plan->of == kCollective) != collectives) return;
    const auto same = [&](const PlannedLaunches& other) { return other.name == name && *other.plan == *plan; };
    const auto found = std::ranges::find_if(all, same);
    if (found == all.end()) {
      all.push_back({name, &*plan, count, longest});
    } else {
      found->count += count;
      found->longest = std::max(found->longest, longest);
    }
  };
  for (const LaunchResult& launch : result.launches) add(launch.kernel, launch.plan, 1, duration(launch));
  for (const LaunchTotal& total : result.launch_totals) {
    add(total.name, total.plan, static_cast<std::size_t>(total.count), total.longest);
  }
  return all;
}

std::string choice(const PlanResult& plan, std::string_view name) {
  return shortened(one_line(value_of(plan, name)), 60);
}

/// Of the matrix product: tiles, loads ahead and the grid.
std::vector<std::string> words_of_gemm(const PlanResult& plan) {
  std::vector<std::string> words = {
      fmt::format("tile {}x{}x{} (m x n x k)", choice(plan, "tile_m"), choice(plan, "tile_n"), choice(plan, "tile_k"))};
  const auto add = [&](std::string_view label, std::string_view name, std::string_view plain = "1") {
    const std::string value = choice(plan, name);
    if (!value.empty() && value != plain) words.push_back(fmt::format("{} {}", label, value));
  };
  add("depth", "depth", "");
  add("split_k", "split_k");
  add("cubes", "over_cubes");
  add("PEs", "over_pes");
  return words;
}

std::vector<std::string> words_of(const PlanResult& plan) {
  if (plan.of == "gemm") return words_of_gemm(plan);
  std::vector<std::string> words;
  for (const auto& [name, value] : plan.choices) words.push_back(shortened(one_line(name + " " + value), 60));
  return words;
}

/// Where the operands of a matrix product are.
std::vector<std::string> operands_of(const PlanResult& plan) {
  if (plan.of != "gemm") return {};
  const std::string a = choice(plan, "a_from"), b = choice(plan, "b_from");
  if (a == b && !a.empty()) return {"A and B " + a};
  std::vector<std::string> words;
  for (const auto& [operand, value] : {std::pair{"A", a}, std::pair{"B", b}}) {
    if (!value.empty()) words.push_back(fmt::format("{} {}", operand, value));
  }
  return words;
}

void add_lines(Facts& facts, const std::string& label, std::vector<std::string> words, const char* between) {
  if (words.empty()) return;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] += between;
  std::vector<std::string> lines = wrapped(words, kFactWidth);
  if (lines.size() > kMostFactLines) {
    lines.resize(kMostFactLines);
    lines.back() += " ..";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) facts.emplace_back(i == 0 ? label : "", std::move(lines[i]));
}

/// Word by word: a fold order may be longer than a line.
std::vector<std::string> words_of_collective(const PlanResult& plan) {
  std::vector<std::string> words;
  for (const auto& [name, value] : plan.choices) {
    std::istringstream text((words.empty() ? "" : "; ") + one_line(name + " " + value));
    for (std::string word; text >> word;) {
      if (word == ";")
        words.back() += word;
      else
        words.push_back(word);
    }
  }
  return words;
}

std::string text_of(const PlannedLaunches& launches) {
  std::string line = "  " + shortened(one_line(launches.name), 30) + ":", out;
  const auto add = [&](const std::string& word) {
    if (display_width(line) + 1 + display_width(word) > kPlanWidth) {
      out += line + "\n";
      line = "   ";
    }
    line += " " + word;
  };
  if (launches.plan->of == kCollective) {
    for (const std::string& word : words_of_collective(*launches.plan)) add(word);
  } else {
    for (const auto& [name, value] : launches.plan->choices) add(shortened(one_line(name + " " + value), 70) + ",");
    add("estimated " + time_text(launches.plan->estimated));
  }
  if (launches.count > 1) add(fmt::format("({} launches)", launches.count));
  return out + line + "\n";
}

}  // namespace

Facts plan_facts(const RunResult& result, const std::string& shown) {
  const std::vector<PlannedLaunches> all = planned(result, false);
  if (all.empty()) return {};
  const PlannedLaunches& longest = *std::ranges::max_element(all, {}, &PlannedLaunches::longest);
  std::vector<std::string> words = words_of(*longest.plan);
  if (longest.name != shown && !words.empty()) words[0] = shortened(one_line(longest.name), 20) + ": " + words[0];
  Facts facts;
  add_lines(facts, "plan", std::move(words), ",");
  add_lines(facts, "operands", operands_of(*longest.plan), ";");
  return facts;
}

namespace {

std::string section_of(const char* heading, const std::vector<PlannedLaunches>& all, const Palette& palette) {
  if (all.empty()) return {};
  std::string out = palette.paint(Style::heading, heading) + "\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostPlans); ++i) out += text_of(all[i]);
  if (all.size() > kMostPlans) {
    out += "  " + palette.paint(Style::faint, fmt::format("and {} more (see --json)", all.size() - kMostPlans)) + "\n";
  }
  return out;
}

}  // namespace

std::string plans_section(const RunResult& result, const Palette& palette) {
  return section_of("Plans of library kernels", planned(result, false), palette);
}

std::string collectives_section(const RunResult& result, const Palette& palette) {
  return section_of("Reductions of collectives", planned(result, true), palette);
}

}  // namespace kernbench::report
