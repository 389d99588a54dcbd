// What several devices share must be a multiple of them: known before any rank starts.
#pragma once

#include <kernbench/kernbench.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "idle_devices.h"

namespace benches {

/// ConfigurationError unless `divisor` divides `value`: "num_attention_heads (8) must be divisible by …", with what to
/// do behind it.
inline void check_divides(const std::string& name, std::int64_t value, const std::string& by, std::int64_t divisor,
                          const std::string& fix = {}) {
  if (value % divisor == 0) return;
  throw kernbench::ConfigurationError(name + " (" + std::to_string(value) + ") must be divisible by " + by + " (" +
                                      std::to_string(divisor) + ")" + (fix.empty() ? "" : "; " + fix));
}

/// A parameter that the devices share in equal parts.
struct SharedSize {
  std::string name;
  std::int64_t value, otherwise;  // the bench's default
  std::string instead = {};       // another way out than a multiple: "sequence_parallel=no"
  /// What another value takes beside it: "hidden=1026" of 18 heads. Empty: nothing.
  std::function<std::string(std::int64_t other)> along = {};
};

/// The least multiple of `unit` that is no less than `value`.
inline std::int64_t next_multiple(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// " -p heads=18 -p hidden=1026": the next value that so many devices share, with what that takes.
inline std::string next_shared(const SharedSize& size, int devices) {
  const std::int64_t next = next_multiple(size.value, devices);
  const std::string more = size.along ? size.along(next) : "";
  return " -p " + size.name + "=" + std::to_string(next) + (more.empty() ? "" : " -p " + more);
}

/// How many devices share the sizes. All of them; where each size is the bench's default, the most that divide them,
/// with a warning if others idle. ConfigurationError for other sizes that they do not divide: with the next multiples,
/// and with the most devices that would do.
inline int devices_that_share(const std::vector<SharedSize>& sizes) {
  const int devices = kernbench::torch::accelerator::device_count();
  const auto undivided = [&](int ranks) {
    return std::ranges::find_if(sizes, [&](const SharedSize& size) { return size.value % ranks != 0; });
  };
  const auto wrong = undivided(devices);
  if (wrong == sizes.end()) return devices;
  int ranks = devices;
  while (undivided(ranks) != sizes.end()) --ranks;
  std::string next = "give";
  for (const SharedSize& size : sizes) {
    if (size.value % devices == 0) continue;
    next += next_shared(size, devices);
  }
  if (std::ranges::any_of(sizes, [](const SharedSize& size) { return size.value != size.otherwise; })) {
    check_divides(wrong->name, wrong->value, "the number of devices", devices,
                  next + ", " + (wrong->instead.empty() ? "" : "-p " + wrong->instead + ", ") +
                      "or fewer devices (--set system.sips.count=" + std::to_string(ranks) + ")");
  }
  warn_of_idle_devices(ranks, wrong->name + " (" + std::to_string(wrong->value) + ") is not divisible by " +
                                  std::to_string(devices) + "; " + next + " to use all");
  return ranks;
}

}  // namespace benches
