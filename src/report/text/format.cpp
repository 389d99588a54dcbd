#include "report/text/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace kernbench::report {
namespace {

constexpr std::array<std::string_view, 5> kTimeUnits = {"ps", "ns", "us", "ms", "s"};

std::int64_t picoseconds_in(TimeUnit unit) {
  std::int64_t factor = 1;
  for (auto i = static_cast<int>(unit); i > 0; --i) factor *= 1000;
  return factor;
}

std::string separated(std::string digits) {
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace

TimeUnit time_unit(Time largest) {
  int unit = 0;
  for (std::int64_t rest = largest.count(); rest >= 1000 && unit < 4; rest /= 1000) ++unit;
  return static_cast<TimeUnit>(unit);
}

std::string time_text(Time time, TimeUnit unit) {
  const std::string_view name = kTimeUnits[static_cast<std::size_t>(unit)];
  if (unit == TimeUnit::ps) return fmt::format("{} {}", time.count(), name);
  const double value = static_cast<double>(time.count()) / static_cast<double>(picoseconds_in(unit));
  if (value > 0 && value < 0.0005) return fmt::format("<0.001 {}", name);
  return fmt::format("{:.3f} {}", value, name);
}

std::string time_text(Time time) {
  return time_text(time, time_unit(time));
}

std::string decimal_text(double value, int decimals) {
  return std::fabs(value) < 1e5 ? fmt::format("{:.{}f}", value, decimals) : fmt::format("{:.3g}", value);
}

std::string count_text(std::uint64_t count) {
  return separated(fmt::format("{}", count));
}

double share(Time part, Time whole) {
  return whole.count() <= 0 ? NAN : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "-";
  if (share > 0 && share < 0.0005) return "<0.1 %";
  return decimal_text(share * 100, 1) + " %";
}

std::string rate_text(double per_second, std::string_view unit) {
  if (!std::isfinite(per_second) || per_second < 0) return "-";
  if (per_second == 0) return fmt::format("0 {}", unit);
  constexpr std::array<std::string_view, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  // 999.95 would round up to a four-digit number.
  while (per_second >= 999.95 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  if (per_second >= 999.95) return fmt::format("{:.3g} {}{}", per_second, kPrefixes[prefix], unit);
  // At least three digits; 9.995 would round up to four.
  return fmt::format("{:.{}f} {}{}", per_second, per_second < 9.995 ? 2 : 1, kPrefixes[prefix], unit);
}

std::string bytes_text(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes.count() < 1024) return fmt::format("{} B", bytes.count());
  double value = static_cast<double>(bytes.count()) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string value_text(double value) {
  if (std::isnan(value)) return "nan";  // of either sign
  const double magnitude = std::fabs(value);
  if (value == std::floor(value) && magnitude < 1e15) {
    const std::string digits = separated(fmt::format("{:.0f}", magnitude));
    return value < 0 ? "-" + digits : digits;
  }
  return fmt::format("{:.6g}", value);
}

std::string deviation_text(double value) {
  return value == 0 ? "0" : fmt::format("{:.3g}", value);
}

}  // namespace kernbench::report
