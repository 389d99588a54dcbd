// What the devices did in the region, in the mean, and what they waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/units.h"
#include "report/result.h"

namespace kernbench::report {

struct DeviceUse {
  std::size_t devices = 0;  // that had anything to do
  // Of the mean device; together the region, or the run.
  Time launches, copies, idle;
  std::int32_t least = 0;  // the one with least to do, and the time for which it had
  Time least_busy;
  std::vector<WaitResult> causes;  // of the idle time, of the mean device but with all counts; the longest first
};

/// None for a result without devices, as earlier versions wrote them.
std::optional<DeviceUse> device_use(const RunResult& result);

/// "to_host sip0 at train.cpp:12"; without a place the text alone.
std::string with_place(const std::string& text, const std::string& where);

/// "after synchronize at train.cpp:12", "until the call of add_ at train.cpp:11".
std::string idle_text(const WaitResult& idle);

/// "event at train.cpp:7, recorded at train.cpp:5"; of LaunchResult::waited_for.
std::string waited_for_text(const WaitResult& wait);

}  // namespace kernbench::report
