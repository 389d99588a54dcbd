// What one run of a program yields: plain values, the source of the JSON result and of the table for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace kernbench {

enum class RunStatus : std::uint8_t { ok, check_failed, error };
enum class CheckStatus : std::uint8_t { passed, failed, skipped };

struct LaunchResult {
  std::string name;
  std::int32_t device = 0;
  Time start, end;
  std::int64_t programs = 0;
  /// Categories ("dispatch", "gemm", "vector", "dma", "control", "completion") that tile end - start exactly.
  std::vector<std::pair<std::string, Time>> breakdown;
  double flops = 0;  // performed
  Bytes hbm_bytes;   // moved
};

struct CheckResult {
  std::string name;
  CheckStatus status = CheckStatus::skipped;
  double max_abs_error = 0;
  double max_rel_error = 0;
};

struct Metric {
  double value = 0;
  std::string unit;
};

struct ResourceResult {
  std::string name;
  Time busy;
  Bytes bytes;
  double utilisation = 0;  // busy / simulated time
};

struct ErrorResult {
  std::string type, message, where;
};

struct RunResult {
  std::string version, bench, topology;
  std::map<std::string, std::string> parameters;
  std::uint64_t seed = 0;
  std::string correlation_id;
  RunStatus status = RunStatus::ok;
  Time simulated_time;
  double wall_time_s = 0;
  std::uint64_t events = 0;
  std::vector<LaunchResult> launches;
  std::vector<CheckResult> checks;
  std::map<std::string, Metric> metrics;
  std::vector<ResourceResult> resources;
  std::optional<ErrorResult> error;
  std::uint64_t times_fingerprint = 0, values_fingerprint = 0;
  /// The machine's peaks for one device, for "achieved against peak".
  double peak_flops = 0;
  Bandwidth peak_hbm_bandwidth;
};

}  // namespace kernbench
