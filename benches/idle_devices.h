// A program that uses some of the devices says that others idle.
#pragma once

#include <kernbench/kernbench.h>

#include <string>

namespace benches {

/// A warning unless `used` are all devices: "15 of 16 SIPs idle: ", and why.
inline void warn_of_idle_devices(int used, const std::string& why) {
  const int devices = kernbench::torch::accelerator::device_count();
  if (used == devices) return;
  kernbench::report_warning(std::to_string(devices - used) + " of " + std::to_string(devices) +
                            (devices - used == 1 ? " SIPs idles: " : " SIPs idle: ") + why);
}

}  // namespace benches
