#include "cli/sweep/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "report/outcome.h"
#include "report/sections/metric_table.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "report/text/text_table.h"

namespace kernbench::cli::sweep {
namespace {

using report::Align;
using report::Cell;
using report::Column;
using report::RunResult;
using report::RunStatus;
using report::Style;

constexpr std::size_t kMostMetrics = 3;

Time time_of(const RunResult& result) {
  return result.region ? result.region->time : result.simulated_time;
}

/// Of the launches of the region of interest, or of all.
struct Work {
  double flops = 0, bytes = 0;
};
Work work_of(const RunResult& result) {
  Work work;
  for (const report::LaunchResult& launch : result.launches) {
    if (!launch.in_region) continue;
    work.flops += launch.flops;
    work.bytes += static_cast<double>(launch.hbm_bytes.count());
  }
  for (const LaunchTotal& total : result.launch_totals) {
    if (!total.in_region) continue;
    work.flops += total.flops;
    work.bytes += static_cast<double>(total.hbm_bytes.count());
  }
  return work;
}

double per_second(double amount, Time time) {
  return time > Time::zero() ? amount / time.in_seconds() : 0;
}

std::string ending_of(const RunResult& result) {
  if (result.error) return "error: " + report::headline(*result.error);
  if (!result.races.empty()) return "races";
  return report::status_of(result) == RunStatus::ok ? "ok" : "check failed";
}

report::Metrics metrics_of(const std::vector<Run>& runs) {
  report::Metrics all;
  for (const Run& run : runs) all.insert(run.result.metrics.begin(), run.result.metrics.end());
  return all;
}

std::set<std::pair<std::string, std::string>> names_and_units(const std::vector<Run>& runs) {
  std::set<std::pair<std::string, std::string>> all;
  for (const Run& run : runs) {
    for (const auto& [name, metric] : run.result.metrics) all.emplace(name, metric.unit);
  }
  return all;
}

/// As CSV has it: in quotes where it needs them.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// What all rows are compared with.
const Run* first_that_ended_well(const std::vector<Run>& runs) {
  const auto found = std::ranges::find_if(
      runs, [](const Run& run) { return !run.result.error && time_of(run.result) > Time::zero(); });
  return found == runs.end() ? nullptr : &*found;
}

Cell rate_cell(double amount, const RunResult& result, const char* unit) {
  return {amount > 0 && !result.error ? report::rate_text(per_second(amount, time_of(result)), unit) : "-"};
}

}  // namespace

std::string to_table(const std::string& title, const std::vector<Axis>& axes, const std::vector<Run>& runs,
                     std::vector<std::string> metrics, bool colour) {
  const report::Palette palette(colour);
  const report::Metrics all_metrics = metrics_of(runs);
  std::vector<std::string> unknown;
  for (const std::string& name : metrics) {
    if (!all_metrics.contains(name)) unknown.push_back(in_quotes(name));
  }
  if (metrics.empty()) metrics = report::main_metrics(all_metrics, kMostMetrics);
  std::vector<Column> columns;
  for (const Axis& axis : axes) columns.push_back({axis.name});
  columns.insert(columns.end(), {{"time"}, {"speed"}, {"GEMM"}, {"HBM"}});
  const auto is_taken = [&columns](const std::string& name) {
    return std::ranges::any_of(columns, [&](const Column& column) { return column.title == name; });
  };
  for (const std::string& name : metrics) columns.push_back({is_taken(name) ? "metric " + name : name});
  columns.push_back({"result", Align::left, 60});
  report::TextTable table(columns);
  const Run* first = first_that_ended_well(runs);
  for (const Run& run : runs) {
    const RunResult& result = run.result;
    const Time time = time_of(result);
    const bool has_time = !result.error && time > Time::zero();
    std::vector<Cell> row;
    for (const std::string& value : run.point) row.push_back({value});
    row.push_back({has_time ? report::time_text(time) : "-"});
    row.push_back({has_time ? report::decimal_text(time_of(first->result).in_seconds() / time.in_seconds(), 3) : "-"});
    const Work work = work_of(result);
    row.push_back(rate_cell(work.flops, result, "FLOP/s"));
    row.push_back(rate_cell(work.bytes, result, "B/s"));
    for (const std::string& name : metrics) {
      const auto found = result.metrics.find(name);
      row.push_back({found == result.metrics.end() ? "-" : report::metric_text(found->second)});
    }
    row.push_back({ending_of(result), report::status_of(result) == RunStatus::ok ? Style::plain : Style::bad});
    table.add(std::move(row));
  }
  std::string text = palette.paint(Style::heading, title) + "\n" + table.text(palette);
  if (!unknown.empty()) {
    text += fmt::format(
        "  no run has a metric {}; there {}\n", fmt::join(unknown, " or "),
        all_metrics.empty() ? "are none" : fmt::format("are: {}", fmt::join(std::views::keys(all_metrics), ", ")));
  } else if (all_metrics.size() > metrics.size()) {
    const std::size_t more = all_metrics.size() - metrics.size();
    text +=
        fmt::format("  and {} more metric{} (--metric NAME shows them, --csv has all)\n", more, more == 1 ? "" : "s");
  }
  return text;
}

std::string to_csv(const std::vector<Axis>& axes, const std::vector<Run>& runs) {
  const auto metrics = names_and_units(runs);
  std::string text;
  for (const Axis& axis : axes) text += field(axis.name) + ",";
  text += "result,time_ps,simulated_time_ps,flops_per_s,hbm_bytes_per_s,launches,events,wall_time_s";
  for (const auto& [name, unit] : metrics)
    text += "," + field(unit.empty() ? name : fmt::format("{} ({})", name, unit));
  text += ",error\n";
  for (const Run& run : runs) {
    const RunResult& result = run.result;
    const Work work = work_of(result);
    const Time time = time_of(result);
    std::size_t launches = result.launches.size();
    for (const LaunchTotal& total : result.launch_totals) launches += static_cast<std::size_t>(total.count);
    for (const std::string& value : run.point) text += field(value) + ",";
    text += fmt::format("{},{},{},{:.6g},{:.6g},{},{},{:.6g}", result.error ? "error" : ending_of(result), time.count(),
                        result.simulated_time.count(), per_second(work.flops, time), per_second(work.bytes, time),
                        launches, result.events, result.wall_time_s);
    for (const auto& [name, unit] : metrics) {
      const auto found = result.metrics.find(name);
      const bool is_there = found != result.metrics.end() && found->second.unit == unit;
      text += is_there ? fmt::format(",{:.9g}", found->second.value) : ",";
    }
    text += "," + (result.error ? field(report::headline(*result.error)) : "") + "\n";
  }
  return text;
}

}  // namespace kernbench::cli::sweep
