// The differences between two results: inputs, durations, and where the time went.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/difference/plan_difference.h"
#include "report/result.h"

namespace kernbench::report {

/// Something that went into the runs and differs. A side that lacks it has an empty text.
struct InputChange {
  std::string
      kind;         // "origin", "bench", "parameter", "switch", "machine", "seed", "program" (the version of kernbench)
  std::string key;  // "cube.hbm.bandwidth"
  std::string a, b;
  /// The part of the machine whose busy time shows the change: "HBM channels"; empty where there is none.
  std::string part;
  Time busy_a, busy_b;  // of that part, all together
};

/// A time of both results.
struct TimeChange {
  std::string name;
  std::optional<Time> a, b;  // absent: only the other result has it
};

struct ResourceChange {
  std::string kind;  // "sip*.cube*.pe*.hbm.channel*"
  Time busy_a, busy_b;
  Bytes bytes_a, bytes_b;
};

struct ValueChange {
  std::string name, unit;
  std::optional<double> a, b;
};

struct Difference {
  std::string status_a, status_b;
  Time time_a, time_b;
  std::optional<Time> region_a, region_b;        // of the regions of interest
  bool same_times = false, same_values = false;  // by the fingerprints
  /// What explains most comes first: bench, parameters and switches, then keys of the machine by how much the busy time
  /// of the part that they describe has changed.
  std::vector<InputChange> inputs;
  // Of these, only what differs, the largest change first; ties in the order of names.
  std::vector<TimeChange> activities;  // of the critical paths of all launches
  std::vector<TimeChange> launches;    // "gemm#0 on sip0"
  std::vector<TimeChange> copies;      // "to sip0 at gemm.cpp:20"
  /// What the region consists of for the mean device: "launches", "only copies", "idle after synchronize at a.cpp:7".
  std::vector<TimeChange> devices;
  std::vector<TimeChange> waits;  // "operand: dot gemm.cpp:29 for load gemm.cpp:28", of all launches
  std::vector<ResourceChange> resources;
  std::vector<ValueChange> metrics;
  /// Of library kernels that were planned differently: in the order of names.
  std::vector<PlanChange> plans;
  /// What only one of the results has, or both for other spans of time, and why: "waits and critical paths: one run was
  /// not explained".
  std::vector<std::string> not_compared;

  /// Nothing that the simulation yields differs.
  bool same_outcome() const;
};

Difference difference(const RunResult& a, const RunResult& b);

}  // namespace kernbench::report
