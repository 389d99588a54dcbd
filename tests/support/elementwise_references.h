// What the functions of kernbench/elementwise/unary.def that compute in floats are held to, a line each: the table of
// numerics, the functions of tiles, and what they cost.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace kernbench::elementwise_test {

struct Reference {
  const char* name;
  long double (*exact)(long double);
  std::string cost;           // pe.vector.cycles.<cost>; empty: not a function of tiles
  long double ulps = 0.501L;  // of f32, before the rounding to a narrower type: docs/model-numerics.md
};

inline const std::vector<Reference>& references() {
  using Real = long double;
  static const std::vector<Reference> all{
      {"exp", [](Real x) { return std::exp(x); }, "exp"},
      {"exp2", [](Real x) { return std::exp2(x); }, "exp"},
      {"expm1", [](Real x) { return std::expm1(x); }, "expm1"},
      {"log", [](Real x) { return std::log(x); }, "log"},
      {"log2", [](Real x) { return std::log2(x); }, "log"},
      {"log10", [](Real x) { return std::log10(x); }, "log10"},
      {"log1p", [](Real x) { return std::log1p(x); }, "log1p"},
      {"sin", [](Real x) { return std::sin(x); }, "sin"},
      {"cos", [](Real x) { return std::cos(x); }, "cos"},
      {"tan", [](Real x) { return std::tan(x); }, "tanh"},
      {"asin", [](Real x) { return std::asin(x); }, "tanh"},
      {"acos", [](Real x) { return std::acos(x); }, "tanh"},
      {"atan", [](Real x) { return std::atan(x); }, "tanh"},
      {"sinh", [](Real x) { return std::sinh(x); }, "tanh"},
      {"cosh", [](Real x) { return std::cosh(x); }, "tanh"},
      {"tanh", [](Real x) { return std::tanh(x); }, "tanh"},
      {"asinh", [](Real x) { return std::asinh(x); }, "tanh"},
      {"acosh", [](Real x) { return std::acosh(x); }, "tanh"},
      {"atanh", [](Real x) { return std::atanh(x); }, "tanh"},
      {"erf", [](Real x) { return std::erf(x); }, "erf"},
      {"sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }, "sigmoid"},
      {"sqrt", [](Real x) { return std::sqrt(x); }, "sqrt", 0.5L},
      {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }, "rsqrt"},
      {"reciprocal", [](Real x) { return 1 / x; }, "", 0.5L},
  };
  return all;
}

}  // namespace kernbench::elementwise_test
