#include "reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kernbench::numerics::reference {
namespace {

TEST(Reference, MultipliesMatrices) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6}, b = {7, 8, 9, 10, 11, 12};
  EXPECT_EQ(matrix_multiply(a, b, 2, 2, 3), std::vector<double>({58, 64, 139, 154}));
  EXPECT_EQ(matrix_multiply({}, {}, 2, 2, 0), std::vector<double>(4, 0.0));
}

TEST(Reference, DifferenceIsTheWorstLane) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const auto of = [](std::vector<double> actual, std::vector<double> expected) { return difference(actual, expected); };
  EXPECT_EQ(of({1, 2, nan, infinity}, {1, 2, nan, infinity}).absolute, 0);
  EXPECT_EQ(of({1, 2.5}, {1.5, 2}).absolute, 0.5);
  EXPECT_DOUBLE_EQ(of({1, 2.5}, {1.5, 2}).relative, 1.0 / 3);
  EXPECT_EQ(of({nan}, {1}).absolute, infinity);
  EXPECT_EQ(of({nan}, {1}).relative, infinity);
  EXPECT_EQ(of({1}, {nan}).absolute, infinity);
  EXPECT_EQ(of({infinity}, {-infinity}).relative, infinity);
  EXPECT_EQ(of({5}, {infinity}).relative, infinity);
  EXPECT_EQ(of({0.25}, {0}).absolute, 0.25);
  EXPECT_EQ(of({0.25}, {0}).relative, 0);
}

}  // namespace
}  // namespace kernbench::numerics::reference
