// The report that a user sees first: one screen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "report/launch_group.h"
#include "report/outcome.h"
#include "report/sections/metric_table.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kLines = 40, kColumns = 80;
constexpr std::size_t kMostParameterLines = 2;
constexpr std::size_t kMostLaunches = 5;
constexpr std::size_t kBriefCategories = 7;
constexpr std::size_t kMostPathParts = 3;
// Copies are shown where they take at least so much of the time.
constexpr double kLeastCopies = 0.05;
constexpr std::size_t kMostBriefCopies = 3;
constexpr std::size_t kMostFacts = 8;
constexpr std::size_t kLeastMetrics = 3;  // and a line that counts the others
constexpr std::size_t kMostFailed = 3;
constexpr std::size_t kMostWarningLines = 7;
constexpr std::size_t kBriefBarWidth = 30;

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string faint(const std::string& text, const Palette& palette) {
  return "  " + palette.paint(Style::faint, text) + "\n";
}

std::string title(const RunResult& result, const Palette& palette) {
  std::string out =
      palette.paint(Style::heading, palette.fit(result.bench + " on " + result.topology, kColumns)) + "\n";
  std::vector<std::string> words = override_words(result, palette);
  std::ranges::move(parameter_words(result, palette), std::back_inserter(words));
  if (words.empty()) return out;
  std::vector<std::string> lines = wrapped(words, kColumns - 6);
  if (lines.size() > kMostParameterLines) {
    lines.resize(kMostParameterLines);
    lines.back() += " ..";
  }
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out;
}

// ---- launches

std::string bound_text(const LaunchResult& launch) {
  if (launch.bound <= Time::zero() || launch.bound_by.empty()) return "-";
  return launch.bound_by + " " + percent_text(share(launch.bound, duration(launch)));
}

/// A table of launches: their name first, and last, where it is known, the line of the program that launched them.
class LaunchTable {
 public:
  explicit LaunchTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row, const std::string& where) {
    row.push_back({where});
    rows_.push_back(std::move(row));
  }

  std::string text(const Palette& palette) const {
    const std::size_t last = columns_.size();
    const auto none = [&](const std::vector<Cell>& row) { return row[last].text.empty(); };
    std::vector<Column> columns = columns_;
    if (!std::ranges::all_of(rows_, none)) {
      // Name and line share what the other columns leave of the screen.
      constexpr std::size_t kEdge = 2, kGap = 2;
      std::size_t room = kColumns - kEdge;
      for (std::size_t i = 1; i < last; ++i) room -= std::min(columns_[i].widest, width(i, columns_[i].title)) + kGap;
      room -= kGap;
      const std::size_t name = width(0, columns_[0].title), line = width(last, kLineTitle);
      columns[0].widest = std::max(room / 2, room - std::min(room, line));
      columns.push_back({kLineTitle, Align::left, room - std::min(columns[0].widest, name)});
    }
    TextTable table(columns);
    for (std::vector<Cell> row : rows_) {
      row.resize(columns.size());
      table.add(std::move(row));
    }
    return table.text(palette);
  }

 private:
  static constexpr const char* kLineTitle = "line";

  std::size_t width(std::size_t column, const std::string& title) const {
    std::size_t widest = display_width(title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(one_line(row[column].text)));
    return widest;
  }

  std::vector<Column> columns_;  // without that of the lines
  std::vector<std::vector<Cell>> rows_;
};

std::string each_of(const RunResult& result, const Palette& palette) {
  const Span span = span_of(result);
  LaunchTable table({{"launch", Align::left, 20},
                     {"device", Align::right, 6},
                     {"time", Align::right, 10},
                     {span.title, Align::right, 9},
                     {"bound", Align::left, 14},
                     {"PEs", Align::right, 9}});
  for (const LaunchResult& launch : result.launches) {
    table.add({{launch.name},
               {fmt::format("sip{}", launch.device)},
               {time_text(duration(launch))},
               {percent_text(share(time_in_span(result, launch), span.time))},
               {bound_text(launch)},
               {fmt::format("{}/{}", launch.pes, launch.available_pes)}},
              launch.where);
  }
  return table.text(palette);
}

std::string sums_of(const std::vector<LaunchGroup>& groups, const Span& span, const Palette& palette) {
  LaunchTable table({{"launches", Align::left, 20},
                     {"count", Align::right, 7},
                     {"total", Align::right, 11},
                     {"mean", Align::right, 10},
                     {"max", Align::right, 10},
                     {span.title, Align::right, 9}});
  for (std::size_t i = 0; i < std::min(groups.size(), kMostLaunches); ++i) {
    const LaunchGroup& group = groups[i];
    const TimeUnit unit = time_unit(group.longest);
    table.add({{group.name},
               {count_text(static_cast<std::uint64_t>(group.count))},
               {time_text(group.total)},
               {time_text(Time::picoseconds(group.total.count() / group.count), unit)},
               {time_text(group.longest, unit)},
               {percent_text(share(std::min(group.time_of_a_device(), span.time), span.time))}},
              group.where);
  }
  return table.text(palette);
}

std::string launches_text(const RunResult& result, const std::vector<LaunchGroup>& groups, const Palette& palette) {
  if (has_at_most(result, kMostLaunches)) return each_of(result, palette);
  std::string out = sums_of(groups, span_of(result), palette);
  if (groups.size() > kMostLaunches) {
    const LaunchGroup rest = sum_of({groups.begin() + kMostLaunches, groups.end()});
    out += faint(fmt::format("and {} more kernels: {} launches, {}", groups.size() - kMostLaunches,
                             count_text(static_cast<std::uint64_t>(rest.count)), time_text(rest.total)),
                 palette);
  }
  return out;
}

/// What of the busy time is in no row.
std::string cut_short_line(const RunResult& result, const Palette& palette) {
  const std::vector<std::string> names = kernels_cut_short(result);
  if (names.empty()) return {};
  constexpr std::size_t kMostNames = 2;
  std::string text = "not completed, and in no row: launches of ";
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : names.size() == 2 ? " and " : ", ") + palette.fit(names[i], 24);
  }
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  std::string out;
  for (const std::string& line : wrapped(split_at_blanks(text), kColumns - 2)) out += faint(line, palette);
  return out;
}

// ---- the kernel that took most

std::string bar(double part) {
  if (!(part > 0)) return {};
  const auto length = static_cast<std::size_t>(std::lround(std::min(part, 1.0) * static_cast<double>(kBriefBarWidth)));
  return std::string(std::max<std::size_t>(length, 1), '#');
}

std::string breakdown_text(const LaunchGroup& group, const Palette& palette) {
  if (group.breakdown.empty() || group.total <= Time::zero()) return {};
  const TimeUnit unit = time_unit(group.total);
  TextTable table({{"", Align::left, 16}, {"", Align::right, 12}, {"", Align::right, 8}, {"", Align::left}});
  std::size_t rows = 0;
  for (const auto& [category, time] : group.breakdown) {
    if (time == Time::zero() || rows++ >= kBriefCategories) continue;
    const double part = share(time, group.total);
    table.add({{category}, {time_text(time, unit)}, {percent_text(part)}, {bar(part)}});
  }
  const std::string of = group.count == 1 ? group.label : fmt::format("{} (all {})", group.label, group.count);
  return palette.paint(Style::heading, "Where the time went in " + palette.fit(of, 50)) + "\n" + table.text(palette);
}

std::string part_text(const PathPart& part) {
  std::string what = activity_text(part);
  if (!part.where.empty()) what += " at " + part.where;
  return what;
}

/// Where `long_names` says so, one name that does not fit has a line of its own; of others their kind has to do.
std::string path_text(const LaunchResult& launch, bool long_names, const Palette& palette) {
  if (launch.critical_path.empty()) return {};
  const TimeUnit unit = time_unit(duration(launch));
  constexpr std::size_t kWidest = 52;
  TextTable table({{"", Align::right, 8}, {"", Align::right, 12}, {"", Align::left, kWidest}});
  for (std::size_t i = 0; i < std::min(launch.critical_path.size(), kMostPathParts); ++i) {
    const PathPart& part = launch.critical_path[i];
    std::string what = part_text(part), due = due_to(part, launch);
    const bool is_long = !part.instance.empty() && display_width(what) + 2 + display_width(due) > kWidest;
    const bool own_line = is_long && std::exchange(long_names, long_names && !is_long);
    if (is_long && !own_line) due = kind_within_pe(part.on);
    if (!due.empty()) what += own_line ? "," : ", " + due;
    table.add({{percent_text(share(part.time, duration(launch)))}, {time_text(part.time, unit)}, {what}});
    if (own_line) table.add({{}, {}, {"  " + due}});
  }
  return palette.paint(Style::heading, "Longest parts of the critical path of " + palette.fit(launch.name, 36)) + "\n" +
         table.text(palette);
}

/// "own slice 78.0 %, cube 22.0 % of 204.00 MiB".
std::string distance_text(const LaunchResult& launch) {
  const double all = static_cast<double>(launch.hbm_bytes.count());
  const std::pair<const char*, Bytes> parts[] = {{"own slice", launch.distance.own_slice},
                                                 {"cube", launch.distance.same_cube},
                                                 {"SIP", launch.distance.same_sip},
                                                 {"beyond", launch.distance.other_sips}};
  std::vector<std::string> texts;
  for (const auto& [name, bytes] : parts) {
    if (bytes > Bytes())
      texts.push_back(fmt::format("{} {}", name, percent_text(static_cast<double>(bytes.count()) / all)));
  }
  if (texts.empty()) return {};
  std::string text = fmt::format("{} of {}", fmt::join(texts, ", "), bytes_text(launch.hbm_bytes));
  // Short accesses: the channels are busy with bytes that nobody asked for.
  if (launch.hbm_occupied > launch.hbm_bytes * 2) text += ", in accesses of " + bytes_text(launch.hbm_occupied);
  return text;
}

/// "12.00 MiB of inner values did not pass the TCM port".
std::string fused_text(const LaunchResult& launch) {
  if (launch.fused_bytes == Bytes()) return {};
  return bytes_text(launch.fused_bytes) + " of inner values did not pass the TCM ports";
}

std::string attained_text(const LaunchResult& launch) {
  std::vector<std::string> texts;
  for (const EngineResult& engine : launch.engines) {
    const bool limits = engine.engine != "tcm" && (engine.engine != "link" || launch.bound_by == "link");
    if (!limits || engine.device_peak <= 0) continue;
    const std::string first_type = engine.types.substr(0, engine.types.find(','));
    const std::string name = engine.engine == "hbm" ? "HBM" : engine.engine + " " + first_type;
    texts.push_back(name + " " + percent_text(engine.attained / engine.device_peak));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string facts_text(const Facts& facts, const Palette& palette) {
  TextTable table({{"", Align::left, 10}, {"", Align::left, 66}});
  for (const auto& [label, text] : facts) {
    if (!text.empty()) table.add({{label, Style::faint}, {text}});
  }
  return table.empty() ? std::string() : table.text(palette);
}

/// How much of a kernel is told where there is little room.
struct KernelDetail {
  bool long_names = true;
  std::size_t facts = kMostFacts;
};

std::string kernel_text(const RunResult& result, const std::vector<LaunchGroup>& groups, KernelDetail detail,
                        const Palette& palette) {
  if (groups.empty()) return {};
  const LaunchResult* launch = longest_of(result, groups.front());
  Facts facts = {
      {"of peak", attained_text(*launch)}, {"HBM bytes", distance_text(*launch)}, {"fused", fused_text(*launch)}};
  for (auto& fact : plan_facts(result, groups.front().name)) facts.push_back(std::move(fact));
  std::string out;
  if (!is_explained(result)) out = faint("not explained (--no-explain): no breakdown and no critical path", palette);
  facts.resize(std::min(facts.size(), detail.facts));
  for (const std::string& part : {breakdown_text(groups.front(), palette),
                                  path_text(*launch, detail.long_names, palette), facts_text(facts, palette)}) {
    if (!part.empty()) out += (out.empty() ? "" : "\n") + part;
  }
  return out;
}

// ---- the rest

/// Where there is no largest error, as with a NaN, the value says more.
std::string deviation_of(const CheckResult& check, const Palette& palette) {
  if (std::isfinite(check.max_abs_error) || check.mismatched == 0) {
    return "max abs error " + deviation_text(check.max_abs_error);
  }
  return fmt::format("{} is {}, expected {}", palette.fit(check.worst_index, 16), value_text(check.worst_actual),
                     value_text(check.worst_expected));
}

std::string failed_checks(const RunResult& result, std::size_t most, const Palette& palette) {
  std::string out;
  std::size_t failed = 0;
  for (const CheckResult& check : result.checks) {
    if (check.status != CheckStatus::failed || failed++ >= most) continue;
    const std::string text = "failed: " + palette.fit(check.name, 40) + ", " + deviation_of(check, palette) +
                             (check.where.empty() ? "" : " at " + palette.fit(check.where, 20));
    out += "  " + palette.paint(Style::bad, palette.fit(text, kColumns - 2)) + "\n";
  }
  return out;
}

/// Failed checks and races, a line each; of both where there are both.
std::string failures(const RunResult& result, const Palette& palette) {
  const auto failed = [](const CheckResult& check) { return check.status == CheckStatus::failed; };
  const bool both = std::ranges::any_of(result.checks, failed);
  const std::size_t races = std::min(result.races.size(), both ? 1 : kMostFailed);
  return failed_checks(result, kMostFailed - races, palette) + race_lines(result, races, palette);
}

/// What the full report has that this one has not.
std::string of_full_report(std::size_t warnings_left_out) {
  if (warnings_left_out == 0) return "--report full has waits, operations, peaks, resources and checks";
  return fmt::format("--report full has {} more warning{}, waits, operations, peaks and checks",
                     count_text(warnings_left_out), warnings_left_out == 1 ? "" : "s");
}

std::string totals(const RunResult& result, std::size_t warnings_left_out, const Palette& palette) {
  const Span span = span_of(result);
  std::string time = time_text(result.simulated_time);
  if (result.region) time = fmt::format("{} in the region, {} in all", time_text(span.time), time);
  std::string wall = fmt::format("{} s", decimal_text(result.wall_time_s, 3));
  if (result.wall_time_s > 0 && result.events > 0) {
    wall += fmt::format(", {} events ({})", count_text(result.events),
                        rate_text(static_cast<double>(result.events) / result.wall_time_s, "events/s"));
  }
  TextTable table({{"", Align::left, 14}, {"", Align::left, 60}});
  table.add({{"simulated time", Style::faint}, {time}});
  table.add({{"wall time", Style::faint}, {wall}});
  if (devices_are_alike(result)) table.add({{"devices", Style::faint}, {kAlikeDevices}});
  table.add({{"fingerprint", Style::faint},
             {fmt::format("times {:016x}, values {:016x}", result.times_fingerprint, result.values_fingerprint)}});
  table.add({{"result", Style::faint}, {verdict(result), style_of(status_of(result))}});
  return table.text(palette) + failures(result, palette) + faint(of_full_report(warnings_left_out), palette);
}

std::string metrics_text(const RunResult& result, std::size_t most, const Palette& palette) {
  // A single line that says how many there are would say little.
  if (result.metrics.empty() || most < std::min<std::size_t>(result.metrics.size(), 2)) return {};
  TextTable table({{"", Align::left, 50}, {"", Align::right, 24}});
  const bool all = result.metrics.size() <= most;
  for (const std::string& name : main_metrics(result.metrics, all ? most : most - 1)) {
    table.add({{name}, {metric_text(result.metrics.at(name))}});
  }
  std::string out = table.text(palette);
  if (!all) out += faint(fmt::format("and {} more metrics", result.metrics.size() - (most - 1)), palette);
  return out;
}

/// The lines that they have at least.
std::size_t least_metric_lines(const RunResult& result) {
  return std::min(result.metrics.size(), kLeastMetrics + 1);
}

}  // namespace

std::string brief_report(const RunResult& result, const Palette& palette) {
  const std::vector<LaunchGroup> groups = launches_by_name(result);
  const std::string launches = launch_count(result) == 0 ? "" : launches_text(result, groups, palette);
  std::vector<std::string> sections = {
      title(result, palette),    launches, "", kernel_text(result, groups, KernelDetail(), palette), "", "",
      totals(result, 0, palette)};
  // Warnings, what is outside of the launches, the main metrics, copies, then more metrics take what is left; a blank
  // line parts them from the rest.
  const auto room = [&] {
    std::size_t used = 0;
    for (const std::string& section : sections) used += section.empty() ? 0 : line_count(section) + 1;
    return used < kLines ? kLines - used : 0;
  };
  KernelDetail detail{.long_names = room() > 0};
  if (!detail.long_names) sections[3] = kernel_text(result, groups, detail, palette);
  SomeWarnings warnings = first_warnings(result, std::min(kMostWarningLines, room()), palette);
  // One that is longer than that would hide all others, too.
  if (warnings.text.empty()) warnings = first_warnings(result, room(), palette);
  sections[5] = warnings.text;
  sections[6] = totals(result, warnings.left_out, palette);
  // What belongs to the launches.
  const std::string outside = has_at_most(result, kMostLaunches) ? outside_of_span(result, palette) : "";
  for (const std::string& line : {cut_short_line(result, palette), outside, devices_line(result, palette)}) {
    if (!launches.empty() && line_count(line) <= room()) sections[1] += line;
  }
  const std::size_t metrics = least_metric_lines(result);
  while (room() < metrics && detail.facts > 0) {
    --detail.facts;
    sections[3] = kernel_text(result, groups, detail, palette);
  }
  const std::string copies = copies_section(result, kMostBriefCopies, kLeastCopies, palette);
  if (line_count(copies) + metrics < room()) sections[2] = copies;
  sections[4] = metrics_text(result, room(), palette);
  std::string out;
  for (const std::string& section : sections) {
    if (!section.empty()) out += (out.empty() ? "" : "\n") + section;
  }
  return out;
}

}  // namespace kernbench::report
