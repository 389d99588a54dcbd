// Texts that several sections share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/part.h"
#include "report/launch_group.h"
#include "report/outcome.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

std::size_t count_of(const RunResult& result, CheckStatus status) {
  const auto same = [&](const CheckResult& check) { return check.status == status; };
  return static_cast<std::size_t>(std::count_if(result.checks.begin(), result.checks.end(), same));
}

std::vector<std::string> value_words(const std::map<std::string, std::string>& values, const std::string& before,
                                     const Palette& palette) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(palette.fit(before + name + "=" + value, 60));
  return words;
}

}  // namespace

std::vector<std::string> wrapped(const std::vector<std::string>& words, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : words) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (display_width(line) + 1 + display_width(word) <= width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::vector<std::string> split_at_blanks(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> override_words(const RunResult& result, const Palette& palette) {
  return value_words(result.overrides, "--set ", palette);
}
std::vector<std::string> parameter_words(const RunResult& result, const Palette& palette) {
  return value_words(result.parameters, "", palette);
}

Style style_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::passed:
      return Style::good;
    case CheckStatus::failed:
      return Style::bad;
    case CheckStatus::skipped:
      return Style::warning;
  }
  return Style::plain;
}

Style style_of(RunStatus status) {
  return status == RunStatus::ok ? Style::good : Style::bad;
}

Span span_of(const RunResult& result) {
  if (result.region) return {result.region->time, "of region"};
  return {result.simulated_time, "of run"};
}

Time time_in_span(const RunResult& result, const LaunchResult& launch) {
  if (!result.region) return duration(launch);
  const Time begin = std::max(launch.start, result.region->start), end = std::min(launch.end, result.region->end);
  return begin < end ? std::min(end - begin, result.region->time) : Time();
}

std::string activity_text(const PathPart& part) {
  if (part.operation.empty()) return part.activity;
  return part.activity + (part.activity == "sender busy" ? " with " : " of ") + part.operation;
}

std::string outside_of_span(const RunResult& result, const Palette& palette) {
  const LaunchResult* most = nullptr;
  std::size_t others = 0;
  const auto outside = [&](const LaunchResult& launch) { return duration(launch) - time_in_span(result, launch); };
  for (const LaunchResult& launch : result.launches) {
    if (outside(launch) <= Time::zero()) continue;
    if (most != nullptr) ++others;
    if (most == nullptr || outside(launch) > outside(*most)) most = &launch;
  }
  if (most == nullptr) return {};
  std::string text = fmt::format("{} of {}", time_text(outside(*most)), most->name);
  if (others > 0) text += fmt::format(", and parts of {} more,", count_text(others));
  const char* verb = others > 0 ? "are" : "is";
  text = palette.fit(fmt::format("{} {} outside of the region and in no share", text, verb), 78);
  return "  " + palette.paint(Style::faint, text) + "\n";
}

std::string kind_within_pe(const std::string& kind) {
  const std::optional<PartKind> known = part_kind(kind);
  return known && scope_of(*known) == PartScope::pe ? std::string(local_name(*known)) : kind;
}

std::string due_to(const PathPart& part, const LaunchResult& launch) {
  if (part.on.empty()) return part.instance == launch.last_pe ? "" : part.instance;
  return part.instance.empty() ? kind_within_pe(part.on) : part.instance;
}

std::string metric_text(const Metric& metric) {
  constexpr double kMost = 9e15;
  const bool fits = std::abs(metric.value) < kMost;
  if (metric.unit == "ns" && fits) return time_text(Time::picoseconds(std::llround(metric.value * 1e3)));
  if (metric.unit == "B" && fits) return bytes_text(Bytes(std::llround(metric.value)));
  return metric.unit.empty() ? value_text(metric.value) : value_text(metric.value) + " " + metric.unit;
}

std::string verdict(const RunResult& result) {
  if (result.error) return "error: " + headline(*result.error);
  const std::size_t failed = count_of(result, CheckStatus::failed);
  const std::size_t passed = count_of(result, CheckStatus::passed);
  const std::size_t skipped = count_of(result, CheckStatus::skipped);
  std::vector<std::string> parts;
  if (failed > 0) parts.push_back(fmt::format("{} failed", count_text(failed)));
  if (passed > 0) parts.push_back(fmt::format("{} passed", count_text(passed)));
  if (skipped > 0) parts.push_back(fmt::format("{} skipped", count_text(skipped)));
  std::string text = parts.empty() ? "no checks" : fmt::format("checks: {}", fmt::join(parts, ", "));
  if (races_were_looked_for(result) && result.races.empty()) text += "; no races";
  if (!result.races.empty())
    text = fmt::format("{} race{}; ", count_text(result.races.size()), result.races.size() == 1 ? "" : "s") + text;
  return (failed > 0 ? "check failed; " : result.races.empty() ? "ok; " : "") + text;
}

}  // namespace kernbench::report
