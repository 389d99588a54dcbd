// Programs of several devices, each with one bug: what the scorecard runs and the documentation shows.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kernbench::deadlocks_test {

struct SeededBug {
  std::string bench;                 // the name of the bench that runs it
  std::string what;                  // in words
  std::string type;                  // of the error that it must end with
  std::vector<std::string> culprit;  // what the message must name
  std::function<void()> program;
};

/// The devices that each of them runs on.
inline constexpr int kScorecardDevices = 3;

const std::vector<SeededBug>& seeded_bugs();

}  // namespace kernbench::deadlocks_test
