// The rows of the table of elementwise operations: names, loops, and the accuracy of its functions.
#include "numerics/elementwise_table.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "support/all_cases.h"
#include "support/elementwise_references.h"
#include "support/source_tree.h"

namespace kernbench::numerics::elementwise_table_test {
namespace {

const elementwise_test::Reference* reference_of(const std::string& name) {
  for (const auto& reference : elementwise_test::references()) {
    if (reference.name == name) return &reference;
  }
  return nullptr;
}

/// Distance of `actual` from the real number `expected` in units of the float spacing there.
long double ulps(float actual, long double expected) {
  const auto nearest = static_cast<float>(expected);
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual) ? 0.0L : HUGE_VALL;
  if (std::isinf(nearest) || std::isinf(actual)) return actual == nearest ? 0.0L : HUGE_VALL;
  const int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
  return std::abs(static_cast<long double>(actual) - expected) / std::ldexp(1.0L, exponent - 23);
}

/// Floats of all exponents, and as many between 2^-12 and 2^12.
const std::vector<float>& arguments() {
  static const auto kArguments = [] {
    std::mt19937_64 random(5);
    std::vector<float> result;
    for (int i = 0; i < number_of_cases(1 << 19, 1 << 18, 1 << 15); ++i) {
      auto bits = static_cast<std::uint32_t>(random());
      if (i % 2 == 0) bits = (bits & 0x807FFFFF) | static_cast<std::uint32_t>(115 + random() % 24) << 23;
      result.push_back(std::bit_cast<float>(bits));
    }
    return result;
  }();
  return kArguments;
}

TEST(ElementwiseTable, EveryFunctionIsWithinOneUnitInTheLastPlace) {
  const auto& x = arguments();
  std::vector<float> out(x.size());
  for (const UnaryInfo& row : unary_table()) {
    if (row.yields != Yields::floating) continue;
    const auto* reference = reference_of(row.name);
    ASSERT_NE(reference, nullptr) << row.name << " has no line in tests/support/elementwise_references.h";
    row.kernels.f32(reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<std::byte*>(out.data()),
                    static_cast<std::int64_t>(x.size()));
    long double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, ulps(out[i], reference->exact(static_cast<long double>(x[i]))));
    RecordProperty(std::string("ulps_") + row.name, std::to_string(worst));
    EXPECT_LE(worst, 1) << row.name;
  }
}

TEST(ElementwiseTable, DoublesAreTheCLibrarys) {
  const double x = 0.3;
  for (const auto& [operation, expected] :
       {std::pair{UnaryOperation::expm1, std::expm1(x)}, std::pair{UnaryOperation::logarithm10, std::log10(x)},
        std::pair{UnaryOperation::error_function, std::erf(x)}}) {
    double actual = 0;
    info(operation).kernels.f64(reinterpret_cast<const std::byte*>(&x), reinterpret_cast<std::byte*>(&actual), 1);
    EXPECT_EQ(actual, expected) << info(operation).name;
  }
}

TEST(ElementwiseTable, NamesTellOperationsApart) {
  std::set<std::string> names;
  for (const UnaryInfo& row : unary_table()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  for (const UnaryInfo& row : unary_table()) {
    if (row.call.empty()) continue;
    EXPECT_TRUE(row.cost) << row.name << " is a function of tiles without a cost";
    EXPECT_EQ(row.call, std::string(row.name) + "(x)");
  }
}

TEST(ElementwiseTable, EveryOperationHasALoopForTheTypesThatItTakes) {
  for (const UnaryInfo& row : unary_table()) {
    const bool bits = row.takes == Takes::bits;
    EXPECT_EQ(row.kernels.f32 == nullptr, bits) << row.name;
    EXPECT_EQ(row.kernels.f64 == nullptr, bits) << row.name;
    EXPECT_EQ(row.kernels.i64 == nullptr, row.yields == Yields::floating || row.takes == Takes::floats) << row.name;
  }
}

TEST(ElementwiseTable, ThePageOfTheHostApiNamesEveryFunctionOfOneOperand) {
  std::string names;
#define KERNBENCH_QUESTION(operation, name, ...) names += #name " ";
#define KERNBENCH_TENSOR_FUNCTION KERNBENCH_QUESTION
#include "kernbench/elementwise/unary.def"
  source_tree::expect_golden_part("docs/host-api.md", "| one operand | `", "silu gelu square clamp", names);
}

}  // namespace
}  // namespace kernbench::numerics::elementwise_table_test
