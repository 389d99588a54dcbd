#include "report/difference/difference_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "report/description/difference.h"
#include "report/difference/origin_difference.h"
#include "report/json/kernel_name.h"
#include "report/json/writer.h"
#include "report/text/format.h"
#include "report/text/text_table.h"
#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostInputs = 20;
constexpr std::size_t kMostChanges = 12;

std::string value_or_none(const std::string& value) {
  return value.empty() ? "-" : value;
}

// ---- text ------------------------------------------------------------------------------------------------------

/// "+41.2 us".
std::string signed_time(Time from, Time to) {
  return from <= to ? "+" + time_text(to - from) : "-" + time_text(from - to);
}

/// "+28.6 %"; "-" from nothing.
std::string relative(double from, double to) {
  if (!(from > 0) || !std::isfinite(to)) return "-";
  const double change = to / from - 1;
  const double percent = std::fabs(change) * 100;
  if (percent != 0 && percent < 0.05) return change > 0 ? "+<0.1 %" : "-<0.1 %";
  return fmt::format("{}{} %", change < 0 ? "-" : "+", decimal_text(percent, 1));
}
std::string relative(Time from, Time to) {
  return relative(static_cast<double>(from.count()), static_cast<double>(to.count()));
}

std::string optional_time(const std::optional<Time>& time) {
  return time ? time_text(*time) : "-";
}

std::string remainder(std::size_t count, std::size_t most, const Palette& palette) {
  if (count <= most) return {};
  return "  " + palette.paint(Style::faint, fmt::format("and {} more (see --format json)", count_text(count - most))) +
         "\n";
}

/// What the change of an input does; may be empty.
std::string effect_of(const InputChange& input) {
  if (input.kind == "switch") {
    constexpr std::array<std::string_view, 3> kShowOnly = {"detailed_launches", "explain", "whole_run"};
    if (std::ranges::find(kShowOnly, input.key) != kShowOnly.end()) return "changes what is shown";
    return input.key == "exact_events" ? "changes no result" : "may explain other values";
  }
  if (input.kind == "origin") return is_program_text(input.key) ? "the program changed" : "";
  if (input.part.empty()) return {};
  const bool same = input.busy_a == input.busy_b;
  return input.part + " busy " + (same ? "as before" : relative(input.busy_a, input.busy_b));
}

std::string inputs_section(const Difference& difference, const Palette& palette) {
  if (difference.inputs.empty()) return {};
  TextTable table({{"", Align::left, 30},
                   {"", Align::left, 15},
                   {"", Align::left, 2},
                   {"", Align::left, 15},
                   {"", Align::left, 28}});
  for (std::size_t i = 0; i < std::min(difference.inputs.size(), kMostInputs); ++i) {
    const InputChange& input = difference.inputs[i];
    table.add(
        {{input.key, Style::heading}, {value_or_none(input.a)}, {"->"}, {value_or_none(input.b)}, {effect_of(input)}});
  }
  return palette.paint(Style::heading, "What changed") + "\n" + table.text(palette) +
         remainder(difference.inputs.size(), kMostInputs, palette);
}

std::string times_section(const char* title, const char* what, const std::vector<TimeChange>& changes,
                          const Palette& palette) {
  if (changes.empty()) return {};
  TextTable table({{what, Align::left, 44},
                   {"A", Align::right, 11},
                   {"B", Align::right, 11},
                   {"change", Align::right, 12},
                   {"", Align::right, 10}});
  for (std::size_t i = 0; i < std::min(changes.size(), kMostChanges); ++i) {
    const TimeChange& change = changes[i];
    const Time a = change.a.value_or(Time::zero()), b = change.b.value_or(Time::zero());
    table.add(
        {{change.name}, {optional_time(change.a)}, {optional_time(change.b)}, {signed_time(a, b)}, {relative(a, b)}});
  }
  return palette.paint(Style::heading, title) + "\n" + table.text(palette) +
         remainder(changes.size(), kMostChanges, palette);
}

/// "matmul" of "matmul#0.2 on sip0", "matmul on sip0" and "further matmul on sip0".
std::string kernel_of(const std::string& launch) {
  const std::string kernel = kernel_name(launch.substr(0, launch.rfind(" on sip")));
  constexpr std::string_view kFurther = "further ";
  return kernel.starts_with(kFurther) ? kernel.substr(kFurther.size()) : kernel;
}

/// Of more launches than are shown, the sums by kernel, of all devices; the largest change first.
std::vector<TimeChange> by_kernel(const std::vector<TimeChange>& changes) {
  if (changes.size() <= kMostChanges) return {};
  std::map<std::string, TimeChange> sums;
  const auto add = [](std::optional<Time>& sum, std::optional<Time> time) {
    if (time) sum = sum.value_or(Time::zero()) + *time;
  };
  for (const TimeChange& change : changes) {
    TimeChange& sum = sums[kernel_of(change.name)];
    add(sum.a, change.a);
    add(sum.b, change.b);
  }
  std::vector<TimeChange> kernels;
  for (auto& [name, sum] : sums) kernels.push_back({name, sum.a, sum.b});
  std::ranges::stable_sort(kernels, std::greater{}, [](const TimeChange& change) {
    const Time a = change.a.value_or(Time::zero()), b = change.b.value_or(Time::zero());
    return std::max(a, b) - std::min(a, b);
  });
  return kernels;
}

std::string resources_section(const Difference& difference, const Palette& palette) {
  if (difference.resources.empty()) return {};
  TextTable table({{"resource", Align::left, 30},
                   {"busy A", Align::right, 11},
                   {"busy B", Align::right, 11},
                   {"", Align::right, 10},
                   {"bytes A", Align::right, 12},
                   {"bytes B", Align::right, 12}});
  const auto moved = [](Bytes bytes) { return bytes > Bytes() ? bytes_text(bytes) : std::string("-"); };
  for (std::size_t i = 0; i < std::min(difference.resources.size(), kMostChanges); ++i) {
    const ResourceChange& change = difference.resources[i];
    table.add({{change.kind},
               {time_text(change.busy_a)},
               {time_text(change.busy_b)},
               {relative(change.busy_a, change.busy_b)},
               {moved(change.bytes_a)},
               {moved(change.bytes_b)}});
  }
  return palette.paint(Style::heading, "Resources, all of a kind") + "\n" + table.text(palette) +
         remainder(difference.resources.size(), kMostChanges, palette);
}

std::string metrics_section(const Difference& difference, const Palette& palette) {
  if (difference.metrics.empty()) return {};
  TextTable table({{"metric", Align::left, 36},
                   {"A", Align::right, 14},
                   {"B", Align::right, 14},
                   {"", Align::right, 10},
                   {"", Align::left, 14}});
  const auto text = [](const std::optional<double>& value) { return value ? value_text(*value) : std::string("-"); };
  for (std::size_t i = 0; i < std::min(difference.metrics.size(), kMostChanges); ++i) {
    const ValueChange& change = difference.metrics[i];
    const std::string ratio = change.a && change.b ? relative(*change.a, *change.b) : "-";
    table.add({{change.name}, {text(change.a)}, {text(change.b)}, {ratio}, {change.unit}});
  }
  return palette.paint(Style::heading, "Metrics") + "\n" + table.text(palette) +
         remainder(difference.metrics.size(), kMostChanges, palette);
}

std::string plans_section(const Difference& difference, const Palette& palette) {
  if (difference.plans.empty()) return {};
  std::string out = palette.paint(Style::heading, "Plans of library kernels") + "\n";
  for (std::size_t i = 0; i < std::min(difference.plans.size(), kMostChanges); ++i) {
    const PlanChange& change = difference.plans[i];
    const auto text = [](const std::string& value) { return shortened(one_line(value_or_none(value)), 40); };
    out += fmt::format("  plan of {}: {} {} -> {}", shortened(one_line(change.launch), 30), one_line(change.choice),
                       text(change.a), text(change.b));
    if (change.count > 1) out += fmt::format(" ({} launches)", change.count);
    out += "\n";
  }
  return out + remainder(difference.plans.size(), kMostChanges, palette);
}

std::string outcome_section(const Difference& difference, const Palette& palette) {
  std::string time = time_text(difference.time_a);
  if (difference.time_a != difference.time_b) {
    time +=
        fmt::format(" -> {} ({}, {})", time_text(difference.time_b), signed_time(difference.time_a, difference.time_b),
                    relative(difference.time_a, difference.time_b));
  } else {
    time += " in both";
  }
  std::string out = palette.paint(Style::heading, "Simulated time") + "  " + time + "\n";
  if (difference.region_a && difference.region_b) {
    const Time a = *difference.region_a, b = *difference.region_b;
    out += palette.paint(Style::heading, "Region") + "  " + time_text(a) +
           (a == b ? " in both" : fmt::format(" -> {} ({}, {})", time_text(b), signed_time(a, b), relative(a, b))) +
           "\n";
  }
  if (difference.status_a != difference.status_b) {
    out += palette.paint(Style::heading, "Result") + "  " + palette.fit(difference.status_a, 40) + " -> " +
           palette.paint(Style::warning, palette.fit(difference.status_b, 40)) + "\n";
  }
  if (!difference.same_values) out += "The checked values differ.\n";
  if (difference.same_outcome()) {
    out += difference.inputs.empty() ? "Nothing differs.\n" : "What changed made no difference.\n";
  }
  return out;
}

}  // namespace

std::string to_table(const Difference& difference, const std::string& a, const std::string& b, bool colour, bool cuts) {
  const Palette palette(colour, cuts);
  std::string out = palette.paint(Style::faint, "A") + "  " + palette.fit(a, 96) + "\n" +
                    palette.paint(Style::faint, "B") + "  " + palette.fit(b, 96) + "\n";
  for (const std::string& section :
       {inputs_section(difference, palette), outcome_section(difference, palette), plans_section(difference, palette),
        times_section("What the devices did, on average: adds up to the region, or the run", "time", difference.devices,
                      palette),
        times_section("Where the time went: critical paths of all launches", "activity", difference.activities,
                      palette),
        times_section("Launches that differ, by kernel, of all devices together", "kernel",
                      by_kernel(difference.launches), palette),
        times_section("Launches", "launch", difference.launches, palette),
        times_section("Copies", "copies", difference.copies, palette), resources_section(difference, palette),
        times_section("Waits of all programs", "wait", difference.waits, palette),
        metrics_section(difference, palette)}) {
    if (!section.empty()) out += "\n" + section;
  }
  for (const std::string& what : difference.not_compared)
    out += "\n" + palette.paint(Style::faint, "Not compared: " + what) + "\n";
  return out;
}

std::string to_json(const Difference& difference, const std::string& a, const std::string& b) {
  std::string out;
  Writer(out).document(ComparedFiles{difference, a, b});
  return out;
}

}  // namespace kernbench::report
