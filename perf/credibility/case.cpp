#include "perf/credibility/case.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::credibility {

namespace {

/// What more of a resource may cost, with a plan that is kept and with one that is chosen anew.
constexpr double kKept = 0.01, kAnew = 0.02;

/// More than that, for a cause that docs/model.md has; `most` is the largest that was measured, rounded up.
struct Exception {
  std::string_view resource, program;  // kind of program; empty: any
  double most;
  bool slow_hbm = false;  // only where a PE's part of the HBM's bandwidth is at most half of the shipped one
  std::string_view cause;
};

/// Products pay for what a larger array takes to fill: 2 R + C - 2 cycles of each command (docs/model-engines.md).
/// Flows that share a saturated server end later in some orders; docs/model-fabric.md has measured 11 %.
constexpr std::string_view kFill = "a larger array takes longer to fill and to drain";
constexpr std::string_view kSharing = "flows that share a saturated server take turns in another order";
constexpr std::array kExceptions{
    Exception{.resource = "array rows", .program = "", .most = 0.08, .cause = kFill},
    Exception{.resource = "array columns", .program = "", .most = 0.08, .cause = kFill},
    Exception{.resource = "", .program = "softmax", .most = 0.11, .slow_hbm = true, .cause = kSharing},
    Exception{.resource = "", .program = "all_reduce", .most = 0.11, .slow_hbm = true, .cause = kSharing},
};

/// GB/s of HBM for each PE of the machine.
double hbm_of_pe(const Values& values) {
  const auto number = [&](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
  };
  const auto found = values.find("cube.hbm.bandwidth");
  const bool tera = found != values.end() && found->second.find("TB") != std::string::npos;
  const auto mesh = values.find("cube.pes.mesh");
  int width = 1, height = 1;
  if (mesh != values.end()) std::sscanf(mesh->second.c_str(), "[%d, %d]", &width, &height);
  return number("cube.hbm.bandwidth") * (tera ? 1000 : 1) / (width * height);
}

const Exception* exception_of(const Case& one, const Outcome& outcome, const Values& values) {
  constexpr double kSlow = 75;
  for (const Exception& exception : kExceptions) {
    if (!exception.resource.empty() && exception.resource != one.resource->name) continue;
    if (!exception.program.empty() && exception.program != one.program.kind) continue;
    if (exception.slow_hbm && hbm_of_pe(values) > kSlow) continue;
    if (outcome.cost() <= exception.most) return &exception;
  }
  return nullptr;
}

RunResult run(const Machine& machine, const std::vector<std::string>& more, const Program& program, KeptPlan& plan) {
  SimulateOptions options;
  options.topology = machine.topology;
  options.overrides = machine.overrides;
  options.overrides.insert(options.overrides.end(), more.begin(), more.end());
  options.data = false;
  options.threads = 1;
  options.warn = [](std::string_view) {};
  return try_simulate(options, [&] { program.run(plan); });
}

}  // namespace

double Outcome::cost() const {
  return before > Time::zero() ? static_cast<double>(after.count()) / static_cast<double>(before.count()) - 1 : 0;
}

Baseline measure_baseline(const Machine& machine, const Program& program) {
  Baseline baseline;
  const RunResult result = run(machine, {}, program, baseline.plan);
  baseline.time = result.simulated_time;
  baseline.values.insert(result.machine.begin(), result.machine.end());
  if (result.error) {
    baseline.error = result.error->type + ": " + result.error->message;
    baseline.configuration_error = result.error->type == "ConfigurationError";
  }
  return baseline;
}

Outcome measure(const Case& one, Baseline& baseline) {
  Outcome outcome;
  outcome.before = baseline.time;
  if (!baseline.error.empty()) {
    outcome.verdict = baseline.configuration_error ? Verdict::not_applicable : Verdict::broken;
    outcome.text = baseline.error;
    return outcome;
  }
  const auto overrides = doubled(*one.resource, baseline.values);
  if (!overrides) {
    outcome.verdict = Verdict::not_applicable;
    return outcome;
  }
  const RunResult result = run(one.machine, *overrides, one.program, baseline.plan);
  if (result.error) {
    outcome.verdict = result.error->type == "ConfigurationError" ? Verdict::not_applicable : Verdict::broken;
    outcome.text = result.error->type + ": " + result.error->message;
    return outcome;
  }
  outcome.after = result.simulated_time;
  if (outcome.cost() <= (one.program.planned_anew ? kAnew : kKept)) return outcome;
  outcome.verdict = Verdict::slower;
  if (const Exception* exception = exception_of(one, outcome, baseline.values)) {
    outcome.verdict = Verdict::known;
    outcome.text = exception->cause;
  }
  return outcome;
}

std::string describe(const Case& one) {
  std::string text = one.program.name + " on " + one.machine.topology;
  for (const auto& override : one.machine.overrides) text += " --set '" + override + "'";
  return text + ", more of " + one.resource->name;
}

}  // namespace kernbench::credibility
