#include "kernbench/parameters.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench {
namespace {

[[noreturn]] void reject_unknown(const std::string& bench, const std::vector<BenchParameter>& declared,
                                 const std::string& name) {
  std::vector<std::string_view> names;
  for (const BenchParameter& parameter : declared) names.push_back(parameter.name);
  const std::string_view near = nearest(name, names);
  std::string message = fmt::format("{} has no parameter {}", bench, in_quotes(name));
  if (!near.empty()) message += fmt::format(", did you mean \"{}\"?", near);
  if (names.empty()) {
    message += "; it takes none";
  } else {
    message += fmt::format("{} it takes: {}", near.empty() ? ";" : "", fmt::join(names, ", "));
  }
  throw ConfigurationError(message);
}

// Reads all of `text` with std::from_chars, which knows no locale and skips no blanks.
template <class T>
bool parse_all(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end && !text.empty();
}

template <class T>
std::string shortest(T value) {
  char text[64];  // more than the shortest text of any number
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  return {std::begin(text), end};
}

}  // namespace

std::string BenchParameter::text_of(bool value) {
  return value ? "true" : "false";
}
std::string BenchParameter::text_of(long long value) {
  return shortest(value);
}
std::string BenchParameter::text_of(unsigned long long value) {
  return shortest(value);
}
std::string BenchParameter::text_of(float value) {
  return shortest(value);
}
std::string BenchParameter::text_of(double value) {
  return shortest(value);
}
std::string BenchParameter::text_of(long double value) {
  return shortest(value);
}

Parameters::Parameters(std::string bench, const std::vector<BenchParameter>& declared,
                       const std::map<std::string, std::string>& given)
    : bench_(std::move(bench)) {
  for (const BenchParameter& parameter : declared) values_[parameter.name] = parameter.default_value;
  for (const auto& [name, value] : given) {
    const auto found = values_.find(name);
    if (found == values_.end()) reject_unknown(bench_, declared, name);
    found->second = value;
  }
}

const std::string& Parameters::value(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) throw std::logic_error(fmt::format("bench {} declares no parameter {}", bench_, name));
  return found->second;
}

void Parameters::reject(std::string_view name, const std::string& expected, std::string_view suggestion) const {
  std::string message =
      fmt::format("parameter {} of {} is {}; expected {}", name, bench_, in_quotes(value(name)), expected);
  if (!suggestion.empty()) message += fmt::format("; did you mean \"{}\"?", suggestion);
  throw ConfigurationError(message);
}

std::int64_t Parameters::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
  std::int64_t number = 0;
  const bool parsed = parse_all(value(name), number);
  if (parsed && number >= least && number <= most) return number;
  using Limits = std::numeric_limits<std::int64_t>;
  if (least == Limits::min() && most == Limits::max()) reject(name, "a whole number");
  if (most == Limits::max()) reject(name, fmt::format("a whole number of at least {}", least));
  if (least == Limits::min()) reject(name, fmt::format("a whole number of at most {}", most));
  reject(name, fmt::format("a whole number from {} to {}", least, most));
}

double Parameters::real(std::string_view name, double least, double most) const {
  double number = 0;
  const bool parsed = parse_all(value(name), number) && std::isfinite(number);
  if (parsed && number >= least && number <= most) return number;
  using Limits = std::numeric_limits<double>;
  if (least == Limits::lowest() && most == Limits::max()) reject(name, "a number");
  if (most == Limits::max()) reject(name, fmt::format("a number of at least {}", least));
  if (least == Limits::lowest()) reject(name, fmt::format("a number of at most {}", most));
  reject(name, fmt::format("a number from {} to {}", least, most));
}

bool Parameters::boolean(std::string_view name) const {
  return choice(name, {"true", "false"}) == "true";
}

const std::string& Parameters::text(std::string_view name) const {
  return value(name);
}

const std::string& Parameters::choice(std::string_view name, std::initializer_list<std::string_view> choices) const {
  const std::string& text = value(name);
  for (const std::string_view choice : choices) {
    if (text == choice) return text;
  }
  const std::vector<std::string_view> candidates(choices);
  reject(name, fmt::format("one of {}", fmt::join(candidates, ", ")), nearest(text, candidates));
}

}  // namespace kernbench
