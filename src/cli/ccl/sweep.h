// Measures and checks an operation over sizes, types, reductions and roots, in simulations of their own.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/ccl/request.h"
#include "cli/ccl/tests.h"
#include "kernbench/simulate.h"

namespace kernbench::cli::ccl {

/// One row: one size of one type, reduction and root, by one algorithm.
struct Row {
  std::string algorithm;  // empty: the default
  Bytes size;
  std::int64_t count = 0;
  std::string type, reduction, root;                  // "none" and "-1" where there is none
  double time_us = 0;                                 // of a call, over all ranks on average
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  // GB/s
  std::optional<std::int64_t> wrong;                  // elements; none: not checked
  std::string taken, reason;  // the algorithm that ran, and why (Group::reason_of); empty where there is no group's
  std::string fold_order;     // of that algorithm; empty where nothing is reduced
  double slowest_us = 0;      // of a call, of the rank that is through last
  std::optional<double> bound_us;  // the least that a call can take (bound.h); none: not asked for
  std::int64_t sent = 0;           // bytes of payload that a rank hands to the fabric in a call: of the one with most
  double setup_us = 0;             // of the algorithm: to write the neighbour registers, once, outside of `time_us`
};

/// What a simulation ended with, with all that is known of it.
class SimulationFailed : public std::runtime_error {
 public:
  explicit SimulationFailed(ErrorResult error) : std::runtime_error(error.message), error_(std::move(error)) {}
  const ErrorResult& error() const { return error_; }

 private:
  ErrorResult error_;
};

/// Runs a simulation: torch's simulate(), or with what the command line adds. Throws what the program has thrown, or
/// SimulationFailed.
using Simulate = std::function<void(const SimulateOptions&, const std::function<void()>& program)>;

struct Sweep {
  int ranks = 0;  // that took part
  std::vector<Row> rows;
  std::vector<std::string> left_out;  // reductions of types that none has: "avg of int32"
  /// What ended it after these rows.
  std::optional<ErrorResult> failure;
  double average_bus_bandwidth() const;
  std::int64_t wrong() const;
};

/// Times come from simulations without values, checks from others with one call of each row. Of several types or
/// reductions those are left out that do not go together; of one it is a ConfigurationError. An error of a simulation
/// ends the sweep: as its `failure`, or where no row has been measured by being thrown.
Sweep sweep(const Test& test, const Request& request, const SimulateOptions& options, const Simulate& simulate);

}  // namespace kernbench::cli::ccl
