// A warning of devices that have nothing to do while the host waits or gives launches.
#pragma once

#include <string>
#include <vector>

#include "kernbench/result.h"

namespace kernbench::runtime {

/// At most one, where devices are idle because of the host for a quarter of the region of interest or more, in many
/// pieces. It names the line of the host program that has most of them. `idle`: DeviceActivity::before_launches.
std::vector<std::string> idle_advice(const RunResult& result, const std::vector<WaitResult>& idle);

}  // namespace kernbench::runtime
