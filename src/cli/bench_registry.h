// What the program knows of a built-in bench, and how a run of one is asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/result.h"

namespace kernbench::cli {

/// One parameter of a bench: "M", "2048", "rows of A and C".
struct BenchParameter {
  std::string name, default_value, help;
};

/// The values of one bench's parameters for one run: what the user gave, else the defaults. Every accessor throws
/// ConfigurationError that names the parameter, the value and what is expected; asking for a parameter that the bench
/// does not declare is a std::logic_error.
class Parameters {
 public:
  /// Throws ConfigurationError for a name in `given` that `declared` lacks.
  Parameters(std::string bench, const std::vector<BenchParameter>& declared,
             const std::map<std::string, std::string>& given);

  /// A whole number from `least` to `most`, both included: "2048", "-1".
  std::int64_t integer(std::string_view name, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// A finite number from `least` to `most`, both included: "0.5", "1e-3".
  double real(std::string_view name, double least = std::numeric_limits<double>::lowest(),
              double most = std::numeric_limits<double>::max()) const;
  /// "true" or "false".
  bool boolean(std::string_view name) const;
  /// The text as it is.
  const std::string& text(std::string_view name) const;
  /// A text that is one of `choices`.
  const std::string& choice(std::string_view name, std::initializer_list<std::string_view> choices) const;

  /// All values by name, as the result shows them.
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  const std::string& value(std::string_view name) const;
  [[noreturn]] void reject(std::string_view name, const std::string& expected, std::string_view suggestion = {}) const;

  std::string bench_;
  std::map<std::string, std::string> values_;
};

/// A program that KernBench brings along. `run` is the body of the simulation's main fiber.
struct Bench {
  std::string name, help;
  std::vector<BenchParameter> parameters;
  std::function<void(const Parameters&)> run;
};

/// How to run a bench.
struct RunOptions {
  std::string topology = "ahbm-1sip";             // a shipped topology's name or a file
  std::vector<std::string> overrides;             // "cube.hbm.bandwidth=2TB/s"
  std::map<std::string, std::string> parameters;  // as given; not yet checked
  bool data = true;
  bool exact_events = false;
  std::uint64_t seed = 0;
  int threads = 0;  // for values; 0: all processors
  Time max_time = Time::max();
  /// Wall-clock seconds a fiber may run without waiting; then on_stuck is called, which must end the process. 0: never.
  double watchdog_seconds = 0;
  std::function<void(const std::string&)> on_stuck;
  std::string op_log;  // file; empty: none
  std::string correlation_id;
  /// Set from a signal handler when the user wants the run to stop. A run that sees it throws
  /// Error("Interrupted", …), or returns what it has with such an error. May be null.
  const std::atomic<bool>* stop_requested = nullptr;
};

/// Runs `bench` in a fresh simulation. An error of the simulated program is either thrown or, with what was measured
/// before it, part of the result.
report::RunResult execute(const Bench& bench, const RunOptions& options);

/// All built-in benches, in the order in which `kernbench list` shows them.
const std::vector<Bench>& built_in_benches();

}  // namespace kernbench::cli
