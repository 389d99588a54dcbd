// Benches in a file of yours, which `kernbench run FILE.cpp` compiles and runs.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernbench/parameters.h"

namespace kernbench {

/// What KERNBENCH_BENCH says of a bench.
struct BenchDefinition {
  std::string name, help;
  int line = 0;  // of the file, to keep its benches in order
  std::vector<BenchParameter> parameters;
  void (*run)() = nullptr;
};

namespace detail {
/// The parameters of the calling worker's run. ProgramError ("ContextError") outside of a simulation and inside of a
/// kernel, ValueError when the bench declares no parameter `name`.
const Parameters& run_parameters(std::string_view name);
}  // namespace detail

/// The value of a parameter of the bench that runs (or of SimulateOptions::parameters): what the user gave, else the
/// default. T: an integer type, float, double, bool, std::string. Called by the host program; a kernel gets values as
/// its own parameters. ConfigurationError when the value is no T, or not from `least` to `most`, both included;
/// ValueError when the bench declares no such parameter.
template <class T>
  requires std::is_arithmetic_v<T>
T parameter(std::string_view name, T least = std::numeric_limits<T>::lowest(), T most = std::numeric_limits<T>::max()) {
  const Parameters& parameters = detail::run_parameters(name);
  if constexpr (std::same_as<T, bool>) {
    return parameters.boolean(name);
  } else if constexpr (std::integral<T>) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const auto limit = most > T{} && static_cast<std::uint64_t>(most) > kMost ? static_cast<T>(kMost) : most;
    return static_cast<T>(parameters.integer(name, static_cast<std::int64_t>(least), static_cast<std::int64_t>(limit)));
  } else {
    return static_cast<T>(parameters.real(name, static_cast<double>(least), static_cast<double>(most)));
  }
}
template <std::same_as<std::string> T>
T parameter(std::string_view name) {
  return detail::run_parameters(name).text(name);
}

/// The value of a parameter that is one of `choices`: parameter_choice("dtype", {"f16", "f32"}).
inline std::string parameter_choice(std::string_view name, std::initializer_list<std::string_view> choices) {
  return detail::run_parameters(name).choice(name, choices);
}

}  // namespace kernbench

/// Names a function of the file as a bench: its name, one line of help, and its parameters, each with a name, a default
/// and a line of help. The body is the simulation's host program. A file may have several, none in an unnamed
/// namespace:
///
///   KERNBENCH_BENCH(scaled_add, "x*2 + y on every PE", {"n", 1 << 20, "elements"}, {"alpha", 2.0, "factor"}) {
///     const auto n = kernbench::parameter<std::int64_t>("n", 1);
///     …
///   }
///
/// It defines a function of C linkage, `kernbench_bench_NAME`, that fills in a BenchDefinition: this is what the
/// program looks for in what it has compiled. Nothing runs when the file is loaded.
#define KERNBENCH_BENCH(bench_name, help_text, ...)                                                                  \
  static void kernbench_run_##bench_name();                                                                          \
  extern "C" [[gnu::visibility("default")]] void kernbench_bench_##bench_name(::kernbench::BenchDefinition& bench) { \
    bench = {#bench_name, help_text, __LINE__, {__VA_ARGS__}, &kernbench_run_##bench_name};                          \
  }                                                                                                                  \
  static void kernbench_run_##bench_name()
