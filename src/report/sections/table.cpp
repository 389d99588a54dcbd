#include "report/sections/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "report/outcome.h"
#include "report/sections/metric_table.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "report/text/text_table.h"
#include "report/text/utf8.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kMostChecks = 20;
constexpr std::size_t kMostCopies = 20;
constexpr std::size_t kMostMetrics = 40;
constexpr std::size_t kWidestMetrics = 120;  // columns of a matrix of metrics; a wider one is listed

// Labels on the left, text on the right.
class FactTable {
 public:
  void add(std::string label, std::string text, Style style = Style::plain) {
    table_.add({{std::move(label), Style::faint}, {std::move(text), style}});
  }
  std::string text(const Palette& palette) const { return table_.text(palette); }

 private:
  TextTable table_{{{"", Align::left, 16}, {"", Align::left, kWidth - 20}}};
};

std::string header(const RunResult& result, const Palette& palette) {
  const std::string title = one_line(result.bench + " on " + result.topology);
  FactTable facts;
  const auto add_words = [&](std::string label, const std::vector<std::string>& words) {
    if (words.empty()) return;
    for (std::string& line : wrapped(words, kWidth - 20)) {
      facts.add(label, std::move(line));
      label.clear();
    }
  };
  add_words("topology", override_words(result, palette));
  add_words("parameters", parameter_words(result, palette));
  facts.add("seed", std::to_string(result.seed));
  if (!result.correlation_id.empty()) facts.add("correlation id", result.correlation_id);
  return palette.paint(Style::heading, palette.fit(title, kWidth)) + "\n" + facts.text(palette);
}

std::string checks_section(const RunResult& result, const Palette& palette) {
  if (result.checks.empty()) return {};
  // Failed checks first when not all have room.
  std::vector<CheckResult> checks = result.checks;
  if (checks.size() > kMostChecks) {
    const auto failed = [](const CheckResult& check) { return check.status == CheckStatus::failed; };
    std::stable_partition(checks.begin(), checks.end(), failed);
  }
  TextTable table({{"check", Align::left, 48}, {"status", Align::left}, {"max abs error"}, {"max rel error"}});
  for (std::size_t i = 0; i < std::min(checks.size(), kMostChecks); ++i) {
    const CheckResult& check = checks[i];
    const bool skipped = check.status == CheckStatus::skipped;
    table.add({{check.name},
               {std::string(name(check.status)), style_of(check.status)},
               {skipped ? "-" : deviation_text(check.max_abs_error)},
               {skipped ? "-" : deviation_text(check.max_rel_error)}});
  }
  std::string out = palette.paint(Style::heading, "Checks") + "\n" + table.text(palette);
  for (std::size_t i = 0; i < std::min(checks.size(), kMostChecks); ++i) {
    if (checks[i].status != CheckStatus::failed || checks[i].mismatched == 0) continue;
    const std::string place = checks[i].where.empty() ? "" : " at " + one_line(checks[i].where);
    for (const std::string& line :
         wrapped(split_at_blanks(one_line(checks[i].name) + place + ": " + mismatch_text(checks[i])), kWidth - 2))
      out += "  " + line + "\n";
  }
  if (checks.size() > kMostChecks) {
    const std::string rest = fmt::format("and {} more", count_text(checks.size() - kMostChecks));
    out += "  " + palette.paint(Style::faint, rest) + "\n";
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    lines.push_back(text.substr(start, end - start));
  }
  return lines;
}

/// Several quantities of the same items, one column each; empty when they do not fit side by side.
std::string compared_metrics(const RunResult& result, const MetricTable& compared, const Palette& palette) {
  std::vector<Column> columns{{"", Align::left, 24}};
  for (const std::string& quantity : compared.quantities) {
    columns.push_back({quantity.starts_with("bytes ") ? quantity.substr(6) : quantity, Align::right, 24});
  }
  TextTable table(std::move(columns));
  std::size_t widest = 0;
  for (std::size_t item = 0; item < compared.items.size(); ++item) {
    std::vector<Cell> row{{compared.items[item]}};
    for (std::size_t quantity = 0; quantity < compared.quantities.size(); ++quantity) {
      row.push_back({metric_text(compared.at(result.metrics, quantity, item))});
    }
    table.add(std::move(row));
  }
  for (const std::string& line : lines_of(table.text(Palette(false)))) widest = std::max(widest, display_width(line));
  return widest <= kWidestMetrics ? table.text(palette) : std::string();
}

std::string metrics_section(const RunResult& result, const Palette& palette) {
  if (result.metrics.empty()) return {};
  const MetricTable compared = metric_table(result.metrics);
  const std::string side_by_side = compared.items.empty() ? "" : compared_metrics(result, compared, palette);
  std::string out = palette.paint(Style::heading, "Metrics") + "\n" + side_by_side;
  TextTable table({{"", Align::left, 48}, {""}, {"", Align::left, 24}});
  std::size_t listed = 0;
  for (const auto& [name, metric] : shown(result.metrics)) {
    const bool in_table = std::ranges::count(compared.quantities, quantity_of(std::string(name))) > 0;
    if (in_table && !side_by_side.empty()) continue;
    if (listed++ < kMostMetrics) table.add({{std::string(name)}, {value_text(metric->value)}, {metric->unit}});
  }
  if (!table.empty()) out += table.text(palette);
  if (listed > kMostMetrics) {
    const std::string rest = fmt::format("and {} more (see --json)", count_text(listed - kMostMetrics));
    out += "  " + palette.paint(Style::faint, rest) + "\n";
  }
  return out;
}

/// "25.750 us, from 2.611 ms on", "1.200 ms in 12 windows".
std::string region_text(const RegionResult& region) {
  const std::string time = time_text(region.time);
  if (region.windows == 1) return time + ", from " + time_text(region.start) + " on";
  return fmt::format("{} in {} windows, from {} to {}", time, count_text(static_cast<std::uint64_t>(region.windows)),
                     time_text(region.start), time_text(region.end));
}

/// "1.880 us for neighbour registers, 1 installation, in no launch".
std::string setup_text(const SetupResult& setup) {
  return fmt::format("{} for neighbour registers, {} installation{}, in no launch", time_text(setup.time),
                     count_text(static_cast<std::uint64_t>(setup.count)), setup.count == 1 ? "" : "s");
}

std::string totals_section(const RunResult& result, const Palette& palette) {
  FactTable facts;
  facts.add("simulated time", time_text(result.simulated_time));
  if (result.region) facts.add("in the region", region_text(*result.region));
  if (result.setup.count > 0) facts.add("setup", setup_text(result.setup));
  facts.add("events", count_text(result.events));
  std::string wall = decimal_text(result.wall_time_s, 3) + " s";
  if (result.wall_time_s > 0 && result.events > 0) {
    wall += fmt::format(" ({})", rate_text(static_cast<double>(result.events) / result.wall_time_s, "events/s"));
  }
  facts.add("wall time", wall);
  if (devices_are_alike(result)) facts.add("devices", kAlikeDevices);
  facts.add("fingerprint",
            fmt::format("times {:016x}, values {:016x}", result.times_fingerprint, result.values_fingerprint));
  facts.add("result", verdict(result), style_of(status_of(result)));
  return palette.paint(Style::heading, "Totals") + "\n" + facts.text(palette);
}

RunResult in_region(const RunResult& result) {
  RunResult out = result;
  std::erase_if(out.launches, [](const LaunchResult& launch) { return !launch.in_region; });
  std::erase_if(out.launch_totals, [](const LaunchTotal& total) { return !total.in_region; });
  return out;
}

std::string full_report(const RunResult& result, const Palette& palette) {
  const std::array<std::string, 18> sections = {launches_section(result, palette),
                                                devices_section(result, palette),
                                                copies_section(result, kMostCopies, 0, palette),
                                                plans_section(result, palette),
                                                collectives_section(result, palette),
                                                breakdown_section(result, palette),
                                                explanation_sections(result, palette),
                                                peaks_section(result, palette),
                                                distance_section(result, palette),
                                                ranges_section(result, palette),
                                                range_tree_section(result, palette),
                                                host_waits_section(result, palette),
                                                races_section(result, palette),
                                                checks_section(result, palette),
                                                metrics_section(result, palette),
                                                resources_section(result, palette),
                                                warnings_section(result, palette),
                                                totals_section(result, palette)};
  std::string out = header(result, palette);
  for (const std::string& section : sections) {
    if (!section.empty()) out += "\n" + section;
  }
  return out;
}

}  // namespace

std::string to_table(const RunResult& result, TableOptions options) {
  const Palette palette(options.colour, options.cuts);
  const auto report = [&](const RunResult& shown) {
    return options.kind == TableKind::full ? full_report(shown, palette) : brief_report(shown, palette);
  };
  // A run of many launches is mostly these: a copy of all would double what it takes.
  const bool is_whole = std::ranges::all_of(result.launches, &LaunchResult::in_region) &&
                        std::ranges::all_of(result.launch_totals, &LaunchTotal::in_region);
  return is_whole ? report(result) : report(in_region(result));
}

}  // namespace kernbench::report
