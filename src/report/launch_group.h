// Launches summed up: one launch, or all launches of one name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/units.h"
#include "report/result.h"

namespace kernbench::report {

/// From its leaving the host to its completion there.
inline Time duration(const LaunchResult& launch) {
  return launch.end - launch.start;
}

/// How many launches completed.
std::size_t launch_count(const RunResult& result);
/// The result has all launches one by one, and at most so many.
bool has_at_most(const RunResult& result, std::size_t launches);

/// The sum of one or more launches.
struct LaunchGroup {
  std::string label;  // "gemm on sip0" for one launch, the bare name for several, with the line if there are several
  std::string name;   // under which they were launched
  bool label_has_line = false;
  std::string where;  // the line of the program that launched them; empty: not known, or several
  std::int64_t count = 0;
  Time total;  // of the launches' durations, which may overlap in time
  std::set<std::int32_t> devices;
  Time shortest = Time::max();
  Time longest;
  std::vector<std::pair<std::string, Time>> breakdown;  // categories in order of first appearance
  std::vector<EngineTotal> engines;                     // in order of first appearance

  void add(const LaunchResult& launch);
  void add(const LaunchTotal& launches);
  /// Of the mean device: for how long any of them was, and any that the run's end has cut short; not known for every
  /// result.
  std::optional<Time> under_way;
  /// The time that they took of the mean device that has such launches: where that is not known, the total, which is
  /// longer where they overlap.
  Time time_of_a_device() const;
  /// The label, with the line if it is known: "matmul at train.cpp:12".
  std::string label_with_line() const;
};

/// One group per launch, in order.
std::vector<LaunchGroup> each_launch(const std::vector<LaunchResult>& launches);

/// One group per name of a kernel and line of the program, the longest total first; ties by name. Where a name stands
/// on several lines, the label says which: "matmul at train.cpp:12".
std::vector<LaunchGroup> launches_by_name(const RunResult& result);

/// The kernels that devices had under way for longer than the launches that completed took: an error has cut launches
/// of theirs short. The longest of these times first. None where the result has not all launches: where a region leaves
/// some out, and of devices that follow the first one.
std::vector<std::string> kernels_cut_short(const RunResult& result);

/// The longest launch of a group; of several the one that started first.
const LaunchResult* longest_of(const RunResult& result, const LaunchGroup& group);

/// The sum of `groups`, with their categories in order of first appearance.
LaunchGroup sum_of(const std::vector<LaunchGroup>& groups);

}  // namespace kernbench::report
