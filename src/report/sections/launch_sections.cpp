#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/device_use.h"
#include "report/launch_group.h"
#include "report/sections/sections.h"
#include "report/text/format.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostRows = 20;       // of launches one by one, and of groups
constexpr std::size_t kMostDetailed = 6;    // launches that are broken down one by one
constexpr std::size_t kMostBarBlocks = 3;   // groups that get a bar for each category
constexpr std::size_t kMostCategories = 5;  // columns of the breakdown that fit beside name and time
constexpr std::size_t kBarWidth = 40;

// At least one '#' for any share above 0.
std::string bar(double share, std::size_t width) {
  if (!(share > 0)) return {};
  const auto length = static_cast<std::size_t>(std::lround(std::min(share, 1.0) * static_cast<double>(width)));
  return std::string(std::max<std::size_t>(length, 1), '#');
}

std::string remainder_line(const std::vector<LaunchGroup>& groups, const Palette& palette) {
  if (groups.size() <= kMostRows) return {};
  const LaunchGroup rest = sum_of({groups.begin() + kMostRows, groups.end()});
  const std::string line = fmt::format("and {} more names: {} launches, {}", groups.size() - kMostRows,
                                       count_text(static_cast<std::uint64_t>(rest.count)), time_text(rest.total));
  return "  " + palette.paint(Style::faint, line) + "\n";
}

/// The lines of the program that launched, in the order of their first launch, each with its launches.
std::string lines_of_launches(const RunResult& result, const Palette& palette) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const LaunchResult& launch : result.launches) {
    if (launch.where.empty()) continue;
    const auto same = [&](const auto& line) { return line.first == launch.where; };
    const auto found = std::ranges::find_if(lines, same);
    if (found == lines.end()) {
      lines.emplace_back(launch.where, launch.name);
    } else {
      found->second += ", " + launch.name;
    }
  }
  if (lines.empty()) return {};
  TextTable table({{"called at", Align::left, 30}, {"launches", Align::left, 66}});
  for (auto& [where, launches] : lines) table.add({{where}, {launches}});
  return "\n" + table.text(palette);
}

/// Launches that something held up for a tenth of their time or more, the longest first. Host calls that just take
/// their time are in the JSON.
std::string late_launches(const RunResult& result, const Palette& palette) {
  constexpr std::size_t kMostLate = 8;
  std::vector<const LaunchResult*> late;
  for (const LaunchResult& launch : result.launches) {
    const WaitResult& wait = launch.waited_for;
    if (wait.reason.empty() || wait.reason == "host call" || share(wait.time, duration(launch)) < 0.1) continue;
    late.push_back(&launch);
  }
  if (late.empty()) return {};
  std::ranges::stable_sort(late, [](const auto* a, const auto* b) { return a->waited_for.time > b->waited_for.time; });
  TextTable table({{"held up", Align::left, 18}, {"time", Align::right, 10}, {"by", Align::left, 66}});
  for (std::size_t i = 0; i < std::min(late.size(), kMostLate); ++i) {
    const WaitResult& wait = late[i]->waited_for;
    table.add({{late[i]->name}, {time_text(wait.time)}, {waited_for_text(wait)}});
  }
  std::string out = "\n" + table.text(palette);
  if (late.size() > kMostLate) {
    out += "  " + palette.paint(Style::faint, fmt::format("and {} more (see --json)", late.size() - kMostLate)) + "\n";
  }
  return out;
}

std::string listed_launches(const RunResult& result, const Palette& palette) {
  const Span span = span_of(result);
  TextTable table({{"launch", Align::left, 18},
                   {"device", Align::right, 6},
                   {"start", Align::right, 10},
                   {"time", Align::right, 10},
                   {span.title, Align::right, 7},
                   {"at least", Align::right, 10},
                   {"bound", Align::left, 6},
                   {"of time", Align::right, 7},
                   {"programs", Align::right, 8}});
  for (const LaunchResult& launch : result.launches) {
    const Time time = duration(launch);
    table.add({{launch.name},
               {fmt::format("sip{}", launch.device)},
               {time_text(launch.start)},
               {time_text(time)},
               {percent_text(share(time_in_span(result, launch), span.time))},
               {launch.bound > Time::zero() ? time_text(launch.bound) : "-"},
               {launch.bound_by},
               {launch.bound > Time::zero() ? percent_text(share(launch.bound, time)) : "-"},
               {count_text(static_cast<std::uint64_t>(launch.programs))}});
  }
  return table.text(palette) + outside_of_span(result, palette) + lines_of_launches(result, palette) +
         late_launches(result, palette);
}

std::string summed_launches(const RunResult& result, const Palette& palette) {
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  TextTable table({{"launch", Align::left, 34}, {"count"}, {"total"}, {"min"}, {"mean"}, {"max"}});
  for (std::size_t i = 0; i < std::min(groups.size(), kMostRows); ++i) {
    const LaunchGroup& group = groups[i];
    // One unit for the whole row, so that the spread is seen at a glance.
    const TimeUnit unit = time_unit(group.longest);
    table.add({{group.label_with_line()},
               {count_text(static_cast<std::uint64_t>(group.count))},
               {time_text(group.total)},
               {time_text(group.shortest, unit)},
               {time_text(Time::picoseconds(group.total.count() / group.count), unit)},
               {time_text(group.longest, unit)}});
  }
  return table.text(palette) + remainder_line(groups, palette);
}

std::vector<LaunchGroup> detailed_groups(const RunResult& result) {
  return has_at_most(result, kMostDetailed) ? each_launch(result.launches) : launches_by_name(result);
}

std::string bar_block(const LaunchGroup& group, const Palette& palette) {
  const TimeUnit unit = time_unit(group.total);
  TextTable table({{"", Align::left, 30}, {""}, {""}, {"", Align::left}});
  table.add({{group.label, Style::faint}, {time_text(group.total, unit), Style::faint}});
  for (const auto& [category, time] : group.breakdown) {
    if (time.count() == 0) continue;
    const double part = share(time, group.total);
    table.add({{"  " + category}, {time_text(time, unit)}, {percent_text(part)}, {bar(part, kBarWidth)}});
  }
  return table.text(palette);
}

// The largest categories of `sum`, in their own order.
std::vector<std::string> main_categories(const LaunchGroup& sum) {
  auto by_time = sum.breakdown;
  const auto longer = [](const auto& a, const auto& b) { return a.second > b.second; };
  std::stable_sort(by_time.begin(), by_time.end(), longer);
  const bool all = by_time.size() <= kMostCategories + 1;
  const Time least = all ? Time::zero() : by_time[kMostCategories - 1].second;
  std::vector<std::string> names;
  for (const auto& [category, time] : sum.breakdown) {
    if (time >= least && names.size() < kMostCategories + (all ? 1 : 0)) names.push_back(category);
  }
  return names;
}

Time time_of(const LaunchGroup& group, const std::string& category) {
  Time time;
  for (const auto& [name, part] : group.breakdown) {
    if (name == category) time += part;
  }
  return time;
}

// Two lines for each group, times over shares; what has no column of its own is "other".
void add_matrix_rows(TextTable& table, const LaunchGroup& group, const std::vector<std::string>& categories,
                     bool with_other) {
  const TimeUnit unit = time_unit(group.total);
  std::vector<Cell> times = {{group.label}, {time_text(group.total, unit)}};
  std::vector<Cell> shares = {{""}, {""}};
  const auto add = [&](Time time) {
    const bool none = time == Time::zero();
    const double part = share(time, group.total);
    times.push_back({none ? "-" : time_text(time, unit), Style::plain});
    shares.push_back({none ? "" : percent_text(part), part >= 0.5 ? Style::heading : Style::faint});
  };
  Time rest;
  for (const auto& [category, time] : group.breakdown) rest += time;
  for (const std::string& category : categories) {
    const Time time = time_of(group, category);
    rest -= time;
    add(time);
  }
  if (with_other) add(rest);
  table.add(std::move(times));
  table.add(std::move(shares));
}

std::string breakdown_matrix(const std::vector<LaunchGroup>& groups, const Palette& palette) {
  LaunchGroup sum = sum_of(groups);
  sum.label = "all launches";
  const std::vector<std::string> categories = main_categories(sum);
  const bool with_other = categories.size() < sum.breakdown.size();
  std::vector<Column> columns = {{"launch", Align::left, 14}, {"time", Align::right, 10}};
  for (const std::string& category : categories) columns.push_back({category.substr(0, 10), Align::right, 10});
  if (with_other) columns.push_back({"other", Align::right, 10});
  TextTable table(columns);
  for (std::size_t i = 0; i < std::min(groups.size(), kMostRows); ++i) {
    add_matrix_rows(table, groups[i], categories, with_other);
  }
  add_matrix_rows(table, sum, categories, with_other);
  return table.text(palette);
}

}  // namespace

std::string launches_section(const RunResult& result, const Palette& palette) {
  const std::size_t count = launch_count(result);
  if (count == 0) return {};
  const bool few = has_at_most(result, kMostRows);
  const std::string title = few ? "Launches" : fmt::format("Launches ({}, by name)", count_text(count));
  return palette.paint(Style::heading, title) + "\n" +
         (few ? listed_launches(result, palette) : summed_launches(result, palette));
}

std::string breakdown_section(const RunResult& result, const Palette& palette) {
  std::vector<LaunchGroup> groups = detailed_groups(result);
  std::erase_if(groups, [](const LaunchGroup& group) { return group.breakdown.empty(); });
  if (groups.empty()) return {};
  std::string out = palette.paint(Style::heading, "Where the time went") + "\n";
  if (groups.size() > kMostBarBlocks) return out + breakdown_matrix(groups, palette);
  for (const LaunchGroup& group : groups) out += bar_block(group, palette);
  return out;
}

}  // namespace kernbench::report
