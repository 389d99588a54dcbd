// The parameters of a program: named texts with defaults, read as what they stand for.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kernbench {

/// One parameter of a bench: "M", "2048", "rows of A and C".
struct BenchParameter {
  BenchParameter() = default;
  BenchParameter(std::string parameter, std::string otherwise, std::string meaning)
      : name(std::move(parameter)), default_value(std::move(otherwise)), help(std::move(meaning)) {}
  /// The default as a number or as true or false: {"n", 1 << 20, "elements"}.
  template <class T>
    requires std::is_arithmetic_v<T>
  BenchParameter(std::string parameter, T otherwise, std::string meaning)
      : BenchParameter(std::move(parameter), text_of(static_cast<Widest<T>>(otherwise)), std::move(meaning)) {}

  std::string name, default_value, help;

 private:
  template <class T>
  using Widest = std::conditional_t<std::same_as<T, bool> || std::is_floating_point_v<T>, T,
                                    std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
  static std::string text_of(bool value);
  static std::string text_of(long long value);
  static std::string text_of(unsigned long long value);
  static std::string text_of(float value);
  static std::string text_of(double value);
  static std::string text_of(long double value);
};

/// The values of one bench's parameters for one run: what the user gave, else the defaults. Every accessor throws
/// ConfigurationError that names the parameter, the value and what is expected; asking for a parameter that the bench
/// does not declare is a std::logic_error.
class Parameters {
 public:
  /// No parameters.
  Parameters() = default;
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

  /// The bench that declares them; empty when there is none.
  const std::string& bench() const { return bench_; }
  bool contains(std::string_view name) const { return values_.contains(std::string(name)); }
  /// All values by name, as the result shows them.
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  const std::string& value(std::string_view name) const;
  [[noreturn]] void reject(std::string_view name, const std::string& expected, std::string_view suggestion = {}) const;

  std::string bench_;
  std::map<std::string, std::string> values_;
};

}  // namespace kernbench
