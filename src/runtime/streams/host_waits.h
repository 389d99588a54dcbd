// The time for which host programs waited for places in the devices' queues.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/name.h"
#include "kernbench/result.h"
#include "kernbench/units.h"

namespace kernbench::runtime {

/// Adds waits up by line and stream.
class HostWaits {
 public:
  /// A launch at `where` ("train.cpp:12") waited for a place among those of `stream`.
  void add(const std::string& where, const Name& stream, Time time) {
    WaitResult& wait = waits_[{where, stream}];
    wait.time += time;
    ++wait.count;
  }
  /// The longest first.
  std::vector<WaitResult> results() const {
    std::vector<WaitResult> all;
    for (const auto& [key, wait] : waits_) {
      all.push_back({"queue full", "launch", key.first, key.second, "", wait.time, wait.count});
    }
    std::ranges::stable_sort(all, [](const WaitResult& a, const WaitResult& b) { return a.time > b.time; });
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, WaitResult> waits_;
};

}  // namespace kernbench::runtime
