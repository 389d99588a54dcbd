// What several devices share must be a multiple of them: known before any rank starts.
#pragma once

#include <kernbench/kernbench.h>

#include <algorithm>
#include <cstdint>
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
  std::int64_t value, otherwise;  // what the bench takes where the user gives none
  std::string instead = {};       // another way out than a multiple: "sequence_parallel=no"
};

/// How many devices share the sizes. All of them; where the user gave none of the sizes, the most that divide them,
/// with a warning if others idle. ConfigurationError for sizes that were given and do not divide: with the next
/// multiples, and with the most devices that would do.
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
    next += " -p " + size.name + "=" + std::to_string((size.value / devices + 1) * devices);
  }
  if (std::ranges::any_of(sizes, [](const SharedSize& size) { return size.value != size.otherwise; })) {
    check_divides(wrong->name, wrong->value, "the number of devices", devices,
                  next + ", " + (wrong->instead.empty() ? "" : wrong->instead + ", ") +
                      "or fewer devices (--set system.sips.count=" + std::to_string(ranks) + ")");
  }
  warn_of_idle_devices(ranks, wrong->name + " (" + std::to_string(wrong->value) + ") is not divisible by " +
                                  std::to_string(devices) + "; " + next + " to use all");
  return ranks;
}

}  // namespace benches
