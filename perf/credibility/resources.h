// What a machine can have twice of, or wait half as long for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kernbench::credibility {

/// One value of the topology file, multiplied.
struct Change {
  std::string key;
  double factor = 2;
  int element = -1;  // of a pair such as [64, 64]; -1: all numbers of the value
};

struct Resource {
  std::string name;
  std::vector<Change> changes;
};

/// Every bandwidth, clock, array, lanes, TCM, channels, queues and buffers twice, every latency half.
const std::vector<Resource>& resources();

/// A machine's keys and values.
using Values = std::map<std::string, std::string>;

/// The overrides that give a machine with `values` the resource twice; nothing when it has none of it.
std::optional<std::vector<std::string>> doubled(const Resource& resource, const Values& values);

/// `value` with its number (or one of its numbers) multiplied: "1.2TB/s" by 2 is "2.4TB/s". Nothing when it has none.
std::optional<std::string> scaled(const std::string& value, double factor, int element = -1);

}  // namespace kernbench::credibility
