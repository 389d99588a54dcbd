// Bytes by distance, ranges of host code, warnings.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "report/launch_group.h"
#include "report/sections/sections.h"
#include "report/text/format.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostRanges = 20;

void add(DistanceBytes& sum, const DistanceBytes& bytes) {
  sum.own_slice += bytes.own_slice;
  sum.same_cube += bytes.same_cube;
  sum.same_sip += bytes.same_sip;
  sum.other_sips += bytes.other_sips;
}

Cell cell_of(Bytes bytes) {
  return {bytes > Bytes() ? bytes_text(bytes) : "-"};
}

std::string remainder(std::size_t count, const Palette& palette, std::size_t most = kMostRanges) {
  if (count <= most) return {};
  return "  " + palette.paint(Style::faint, fmt::format("and {} more (see --json)", count_text(count - most))) + "\n";
}

}  // namespace

std::string distance_section(const RunResult& result, const Palette& palette) {
  std::map<std::string, DistanceBytes> by_name;
  for (const LaunchResult& launch : result.launches) {
    if (launch.hbm_bytes > Bytes()) add(by_name[launch.kernel], launch.distance);
  }
  for (const LaunchTotal& total : result.launch_totals) {
    if (total.hbm_bytes > Bytes()) add(by_name[total.name], total.distance);
  }
  if (by_name.empty()) return {};
  TextTable table({{"launch", Align::left, 24}, {"own slice"}, {"same cube"}, {"same SIP"}, {"other SIPs"}});
  std::size_t shown = 0;
  for (const auto& [name, bytes] : by_name) {
    if (shown++ == kMostRanges) break;
    table.add({{name},
               cell_of(bytes.own_slice),
               cell_of(bytes.same_cube),
               cell_of(bytes.same_sip),
               cell_of(bytes.other_sips)});
  }
  return palette.paint(Style::heading, "Bytes of HBM by distance from the PE") + "\n" + table.text(palette) +
         remainder(by_name.size(), palette);
}

std::string ranges_section(const RunResult& result, const Palette& palette) {
  if (result.ranges.empty()) return {};
  TextTable table({{"range", Align::left, 28},
                   {"count", Align::right, 8},
                   {"host", Align::right, 11},
                   {"complete", Align::right, 11},
                   {"launches", Align::right, 8},
                   {"their time", Align::right, 11}});
  for (std::size_t i = 0; i < std::min(result.ranges.size(), kMostRanges); ++i) {
    const RangeResult& range = result.ranges[i];
    table.add({{range.name},
               {count_text(static_cast<std::uint64_t>(range.count))},
               {time_text(range.host)},
               {time_text(range.complete)},
               {count_text(static_cast<std::uint64_t>(range.launches))},
               {range.launches > 0 ? time_text(range.launch_time) : "-"}});
  }
  return palette.paint(Style::heading, "Ranges") + "\n" + table.text(palette) +
         remainder(result.ranges.size(), palette);
}

std::string copies_section(const RunResult& result, std::size_t most, double least, const Palette& palette) {
  const Span span = span_of(result);
  std::vector<CopyTotal> copies;
  Time all;
  for (const CopyTotal& copy : result.copies) {
    if (!copy.in_region) continue;
    copies.push_back(copy);
    all += copy.time;
  }
  if (copies.empty() || share(all, span.time) < least) return {};
  TextTable table({{"copies", Align::left, 14},
                   {"count", Align::right, 7},
                   {"bytes", Align::right, 10},
                   {"total", Align::right, 11},
                   {"max", Align::right, 10},
                   {span.title, Align::right, 9},
                   {"line", Align::left, 16}});
  for (std::size_t i = 0; i < std::min(copies.size(), most); ++i) {
    const CopyTotal& copy = copies[i];
    table.add({{fmt::format("{} sip{}", copy.direction, copy.device)},
               {count_text(static_cast<std::uint64_t>(copy.count))},
               {bytes_text(copy.bytes)},
               {time_text(copy.time)},
               {time_text(copy.longest)},
               {percent_text(share(copy.time, span.time))},
               {copy.where}});
  }
  return table.text(palette) + remainder(copies.size(), palette, most);
}

std::string host_waits_section(const RunResult& result, const Palette& palette) {
  if (result.host_waits.empty()) return {};
  TextTable table({{"host waits", Align::left, 16},
                   {"for a place in", Align::left, 18},
                   {"at", Align::left, 24},
                   {"count", Align::right, 8},
                   {"time", Align::right, 11}});
  for (std::size_t i = 0; i < std::min(result.host_waits.size(), kMostRanges); ++i) {
    const WaitResult& wait = result.host_waits[i];
    table.add({{wait.reason},
               {wait.cause},
               {wait.where},
               {count_text(static_cast<std::uint64_t>(wait.count))},
               {time_text(wait.time)}});
  }
  return palette.paint(Style::heading, "Waits of the host for a device's queue of launches") + "\n" +
         table.text(palette) + remainder(result.host_waits.size(), palette);
}

SomeWarnings first_warnings(const RunResult& result, std::size_t most_lines, const Palette& palette) {
  SomeWarnings shown;
  std::size_t lines = 1;  // the heading
  for (const std::string& warning : result.warnings) {
    std::istringstream text(warning);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) continue;
    const std::vector<std::string> wrapped_lines = wrapped(words, 74);
    lines += wrapped_lines.size();
    if (lines > most_lines) {
      ++shown.left_out;
      continue;
    }
    bool first = true;
    for (const std::string& line : wrapped_lines) {
      shown.text += (first ? "  - " : "    ") + palette.paint(Style::warning, palette.fit(line, 74)) + "\n";
      first = false;
    }
  }
  if (!shown.text.empty()) shown.text = palette.paint(Style::heading, "Warnings") + "\n" + shown.text;
  return shown;
}

std::string warnings_section(const RunResult& result, const Palette& palette) {
  return first_warnings(result, std::numeric_limits<std::size_t>::max(), palette).text;
}

}  // namespace kernbench::report
