// What the devices did in the region, and why they had nothing to do.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "report/device_use.h"
#include "report/sections/sections.h"
#include "report/sums.h"
#include "report/text/format.h"

namespace kernbench::report {
namespace {

constexpr double kLeastIdle = 0.05;  // of the region, below which the short report says nothing
constexpr std::size_t kMostDevices = 20, kMostCauses = 10;
constexpr std::size_t kDeviceWidth = 78;

/// "device busy 57.0 %", "4 devices busy 57.0 % on average, sip2 40.1 %".
std::string busy_text(const DeviceUse& use, Time span) {
  const std::string busy = percent_text(share(use.launches + use.copies, span));
  if (use.devices == 1) return "device busy " + busy;
  const std::string least = percent_text(share(use.least_busy, span));
  const std::string all = fmt::format("{} devices busy {} on average", use.devices, busy);
  return least == busy ? all : fmt::format("{}, sip{} {}", all, use.least, least);
}

/// Of many the busiest and the least busy ones, between which the others lie, in the order of all.
std::vector<std::size_t> shown_devices(const std::vector<DeviceResult>& devices) {
  std::vector<std::size_t> shown(devices.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= kMostDevices) return shown;
  std::ranges::stable_sort(shown, std::greater<>(),
                           [&](std::size_t i) { return sum(devices[i].launches, devices[i].copies); });
  shown.erase(shown.begin() + kMostDevices / 2, shown.end() - kMostDevices / 2);
  std::ranges::sort(shown);
  return shown;
}

}  // namespace

std::string devices_line(const RunResult& result, const Palette& palette) {
  const Span span = span_of(result);
  const auto use = device_use(result);
  if (!use || use->causes.empty() || share(use->idle, span.time) < kLeastIdle) return {};
  const WaitResult& most = use->causes.front();
  std::string text = fmt::format("{}, idle {}: {}", busy_text(*use, span.time),
                                 percent_text(share(use->idle, span.time)), time_text(use->idle));
  text += use->causes.size() == 1 ? ", " : fmt::format(", of that {} ", time_text(most.time));
  text += idle_text(most);
  if (most.count > 1) text += fmt::format(" ({} times)", count_text(static_cast<std::uint64_t>(most.count)));
  std::string out;
  for (const std::string& line : wrapped(split_at_blanks(text), kDeviceWidth))
    out += "  " + palette.fit(line, kDeviceWidth) + "\n";
  return out;
}

std::string devices_section(const RunResult& result, const Palette& palette) {
  const auto use = device_use(result);
  if (!use) return {};
  const Span span = span_of(result);
  TextTable table({{"device", Align::left, 8},
                   {"launches", Align::right, 11},
                   {span.title, Align::right, 9},
                   {"only copies", Align::right, 11},
                   {span.title, Align::right, 9},
                   {"idle", Align::right, 11},
                   {span.title, Align::right, 9}});
  for (const std::size_t i : shown_devices(result.devices)) {
    const DeviceResult& device = result.devices[i];
    Time idle;
    for (const WaitResult& cause : device.idle) idle += cause.time;
    table.add({{fmt::format("sip{}", device.device)},
               {time_text(device.launches)},
               {percent_text(share(device.launches, span.time))},
               {time_text(device.copies)},
               {percent_text(share(device.copies, span.time))},
               {time_text(idle)},
               {percent_text(share(idle, span.time))}});
  }
  const auto more = [&](std::size_t count, std::size_t most, std::string_view what) {
    if (count <= most) return std::string();
    return "  " + palette.paint(Style::faint, fmt::format("and {} {}(see --json)", count_text(count - most), what)) +
           "\n";
  };
  std::string out = palette.paint(Style::heading, "Devices") + "\n" + table.text(palette) +
                    more(result.devices.size(), kMostDevices, "more, between the ten busiest and the ten least busy ");
  if (use->causes.empty()) return out;
  TextTable causes({{use->devices == 1 ? "idle" : "idle, on average", Align::left, 60},
                    {"count", Align::right, 8},
                    {"time", Align::right, 11},
                    {span.title, Align::right, 9}});
  for (std::size_t i = 0; i < std::min(use->causes.size(), kMostCauses); ++i) {
    const WaitResult& cause = use->causes[i];
    causes.add({{idle_text(cause)},
                {count_text(static_cast<std::uint64_t>(cause.count))},
                {time_text(cause.time)},
                {percent_text(share(cause.time, span.time))}});
  }
  return out + "\n" + causes.text(palette) + more(use->causes.size(), kMostCauses, "more ");
}

}  // namespace kernbench::report
