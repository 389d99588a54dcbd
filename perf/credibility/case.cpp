#include "perf/credibility/case.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::credibility {

namespace {

/// What more of a resource may cost, with a plan that is kept and with one that is chosen anew.
constexpr double kKept = 0.01, kAnew = 0.02;

/// A product that reaches more of a larger array takes longer to fill and to drain: 2 min(R, m) + min(C, n) - 2 cycles
/// of each command (docs/model-engines.md). No more is excused than the commands of a program that was planned for the
/// smaller one pay for it.
constexpr std::string_view kFill = "a larger array takes longer to fill and to drain";

Time more_fill(const Case& one, const Baseline& baseline) {
  const Change& change = one.resource->changes.front();
  const auto array = baseline.values.find("pe.gemm.array"), clock = baseline.values.find("pe.clock");
  int columns = 0, rows = 0;
  if (change.key != "pe.gemm.array" || array == baseline.values.end() || clock == baseline.values.end() ||
      std::sscanf(array->second.c_str(), "[%d, %d]", &columns, &rows) != 2)
    return {};
  const double gigahertz =
      std::strtod(clock->second.c_str(), nullptr) * (clock->second.find("MHz") != std::string::npos ? 1e-3 : 1);
  const double cycles = change.element == 0 ? columns : 2.0 * rows;
  return Time::picoseconds(std::llround(static_cast<double>(baseline.commands) * cycles * 1e3 / gigahertz));
}

std::string_view known_cause(const Case& one, const Outcome& outcome, const Baseline& baseline) {
  return outcome.after - outcome.before <= more_fill(one, baseline) ? kFill : std::string_view();
}

/// Of a program on the GEMM engine, on average, launch by launch.
std::int64_t commands_of_a_program(const RunResult& result) {
  std::int64_t sum = 0;
  for (const LaunchResult& launch : result.launches)
    for (const OperationResult& operation : launch.operations)
      if (operation.engine == "gemm") sum += (operation.count + launch.programs - 1) / launch.programs;
  return sum;
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
  baseline.commands = commands_of_a_program(result);
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
  outcome.text = known_cause(one, outcome, baseline);
  if (!outcome.text.empty()) outcome.verdict = Verdict::known;
  return outcome;
}

std::string describe(const Case& one) {
  std::string text = one.program.name + " on " + one.machine.topology;
  for (const auto& override : one.machine.overrides) text += " --set '" + override + "'";
  return text + ", more of " + one.resource->name;
}

}  // namespace kernbench::credibility
