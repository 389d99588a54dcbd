// Why launches took as long as they did: critical path, waits, kinds of operation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "report/launch_group.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostExplained = 3;  // launches
constexpr std::size_t kMostParts = 8;      // of a critical path
constexpr std::size_t kMostWaits = 10;
constexpr std::size_t kMostOperations = 10;

/// All of a few launches; of many, the longest one of each name, by the time that all of the name took.
std::vector<const LaunchResult*> representatives(const RunResult& result, std::size_t most) {
  std::vector<const LaunchResult*> chosen;
  if (has_at_most(result, most)) {
    for (const LaunchResult& launch : result.launches) chosen.push_back(&launch);
    return chosen;
  }
  for (const LaunchGroup& group : launches_by_name(result)) {
    if (chosen.size() == most) break;
    chosen.push_back(longest_of(result, group));
  }
  return chosen;
}

std::string heading(const std::string& title, const LaunchResult& launch, const Palette& palette) {
  const bool known = !launch.where.empty();
  const std::string name = palette.fit(launch.name, known ? 24 : 40);
  const std::string line = known ? " (" + palette.fit(launch.where, 24) + ")" : "";
  return palette.paint(Style::heading, fmt::format("{} of {}{} on sip{}", title, name, line, launch.device)) + "\n";
}

std::string remainder(std::size_t count, std::string_view what, const Palette& palette) {
  return "  " + palette.paint(Style::faint, fmt::format("and {} more {} (see --json)", count_text(count), what)) + "\n";
}

std::string operation_text(const std::string& operation, const std::string& where) {
  if (where.empty()) return operation;
  return operation.empty() ? where : operation + " " + where;
}

/// " at neighbours.cpp:17 (train.cpp:12)": a line of the library with that of the program, which lies in another file.
std::string line_text(const std::string& where, const std::string& called) {
  if (where.empty()) return "";
  const bool same_file = called.empty() || where.substr(0, where.rfind(':')) == called.substr(0, called.rfind(':'));
  return " at " + where + (same_file ? "" : " (" + called + ")");
}

std::string path_section(const LaunchResult& launch, const Palette& palette) {
  if (launch.critical_path.empty()) return {};
  const TimeUnit unit = time_unit(duration(launch));
  TextTable table(
      {{"share", Align::right, 10}, {"time", Align::right, 14}, {"count", Align::right, 9}, {"what", Align::left, 56}});
  for (std::size_t i = 0; i < std::min(launch.critical_path.size(), kMostParts); ++i) {
    const PathPart& part = launch.critical_path[i];
    std::string what = activity_text(part);
    what += line_text(part.where, launch.where);
    if (const std::string due = due_to(part, launch); !due.empty()) what += ", " + due;
    table.add({{percent_text(share(part.time, duration(launch)))},
               {time_text(part.time, unit)},
               {count_text(static_cast<std::uint64_t>(part.count))},
               {what}});
  }
  std::string out = heading("Critical path", launch, palette) + table.text(palette);
  if (launch.critical_path.size() > kMostParts) {
    out += remainder(launch.critical_path.size() - kMostParts, "parts", palette);
  }
  return out;
}

std::string waits_section(const LaunchResult& launch, const Palette& palette) {
  if (launch.waits.empty()) return {};
  TextTable table({{"reason", Align::left, 12},
                   {"waits", Align::left, 24},
                   {"for", Align::left, 23},
                   {"total", Align::right, 11},
                   {"count", Align::right, 8},
                   {"mean", Align::right, 10}});
  for (std::size_t i = 0; i < std::min(launch.waits.size(), kMostWaits); ++i) {
    const WaitResult& wait = launch.waits[i];
    const bool counted = wait.count > 0;
    table.add(
        {{wait.reason},
         {operation_text(wait.operation.empty() && wait.reason != "other" ? "program" : wait.operation, wait.where)},
         {wait.cause.empty() ? "-" : operation_text(kind_within_pe(wait.cause), wait.cause_where)},
         {time_text(wait.time)},
         {count_text(static_cast<std::uint64_t>(wait.count))},
         {counted ? time_text(Time::picoseconds(wait.time.count() / wait.count)) : "-"}});
  }
  std::string out = heading("Top waits, all programs", launch, palette) + table.text(palette);
  if (launch.waits.size() > kMostWaits) out += remainder(launch.waits.size() - kMostWaits, "kinds of wait", palette);
  return out;
}

std::string operations_section(const LaunchResult& launch, const Palette& palette) {
  if (launch.operations.empty()) return {};
  TextTable table({{"operation", Align::left, 22},
                   {"engine", Align::left, 7},
                   {"count", Align::right, 10},
                   {"bytes each", Align::right, 10},
                   {"waiting", Align::right, 12},
                   {"work", Align::right, 12},
                   {"at least", Align::right, 12},
                   {"of work", Align::right, 8}});
  for (std::size_t i = 0; i < std::min(launch.operations.size(), kMostOperations); ++i) {
    const OperationResult& kind = launch.operations[i];
    table.add({{kind.operation},
               {kind.engine},
               {count_text(static_cast<std::uint64_t>(kind.count))},
               {kind.bytes > Bytes(0) && kind.count > 0 ? bytes_text(Bytes(kind.bytes.count() / kind.count)) : "-"},
               {time_text(kind.waiting)},
               {time_text(kind.work)},
               {time_text(kind.bound)},
               {percent_text(share(kind.bound, kind.work))}});
  }
  std::string out = heading("Operations, all programs", launch, palette) + table.text(palette);
  if (launch.operations.size() > kMostOperations) {
    out += remainder(launch.operations.size() - kMostOperations, "kinds of operation", palette);
  }
  return out;
}

}  // namespace

bool is_explained(const RunResult& result) {
  const auto found = result.switches.find("explain");
  return found == result.switches.end() || found->second != "false";
}

bool devices_are_alike(const RunResult& result) {
  return result.switches.contains("alike_devices");
}

std::string explanation_sections(const RunResult& result, const Palette& palette) {
  std::string out;
  if (!is_explained(result) && !result.launches.empty()) {
    out =
        palette.paint(Style::faint, "not explained (--no-explain): no breakdown, critical path, waits and operations") +
        "\n";
  }
  for (const LaunchResult* launch : representatives(result, kMostExplained)) {
    for (const std::string& section :
         {path_section(*launch, palette), waits_section(*launch, palette), operations_section(*launch, palette)}) {
      if (section.empty()) continue;
      if (!out.empty()) out += "\n";
      out += section;
    }
  }
  return out;
}

}  // namespace kernbench::report
