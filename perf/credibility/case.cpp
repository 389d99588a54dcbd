#include "perf/credibility/case.h"

#include <string_view>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::credibility {

namespace {

/// What more of a resource may cost, with a plan that is kept and with one that is chosen anew.
constexpr double kKept = 0.01, kAnew = 0.02;

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
  return outcome;
}

std::string describe(const Case& one) {
  std::string text = one.program.name + " on " + one.machine.topology;
  for (const auto& override : one.machine.overrides) text += " --set '" + override + "'";
  return text + ", more of " + one.resource->name;
}

}  // namespace kernbench::credibility
