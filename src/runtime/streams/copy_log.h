// What copies between the host and devices, and from device to device, took.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/result.h"
#include "kernbench/units.h"
#include "sim/program_call.h"

namespace kernbench::runtime {

/// A copy under way.
struct CopyUnderWay {
  const char* direction;  // "to", "from", or "between"
  int device;             // of several the one that sends
  std::source_location where;
  Bytes bytes;
  bool in_region;
  Time start;
};

/// Adds copies up by direction, device and line.
class CopyLog {
 public:
  void add(const CopyUnderWay& copy, Time end) {
    CopyTotal& total = totals_[{copy.direction, copy.device, sim::place_text(copy.where), copy.in_region}];
    total.bytes += copy.bytes;
    total.time += end - copy.start;
    total.longest = std::max(total.longest, end - copy.start);
    ++total.count;
  }
  /// Those that took longest first.
  std::vector<CopyTotal> results() const {
    std::vector<CopyTotal> all;
    for (const auto& [key, total] : totals_) {
      all.push_back(total);
      std::tie(all.back().direction, all.back().device, all.back().where, all.back().in_region) = key;
    }
    std::ranges::stable_sort(all, [](const CopyTotal& a, const CopyTotal& b) { return a.time > b.time; });
    return all;
  }

 private:
  std::map<std::tuple<std::string, std::int32_t, std::string, bool>, CopyTotal> totals_;
};

}  // namespace kernbench::runtime
