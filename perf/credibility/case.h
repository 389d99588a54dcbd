// One case: a program on a machine, and on one with a resource doubled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernbench/units.h"
#include "perf/credibility/machines.h"
#include "perf/credibility/programs.h"
#include "perf/credibility/resources.h"

namespace kernbench::credibility {

struct Case {
  Machine machine;
  Program program;
  const Resource* resource = nullptr;
};

enum class Verdict : std::uint8_t {
  ok,
  slower,          // more than allowed
  not_applicable,  // the machine has none of the resource, or cannot have twice of it
  broken,          // the program does not run
};

struct Outcome {
  Verdict verdict = Verdict::ok;
  Time before, after;
  std::string text;  // what did not run
  /// Of the time: 0.01 is one percent more.
  double cost() const;
};

/// A program's time on the first machine, for several cases with it.
struct Baseline {
  Time time;
  Values values;  // of the machine
  KeptPlan plan;
  std::string error;
  bool configuration_error = false;  // there is no such machine
};

Baseline measure_baseline(const Machine& machine, const Program& program);
Outcome measure(const Case& one, Baseline& baseline);

std::string describe(const Case& one);

}  // namespace kernbench::credibility
