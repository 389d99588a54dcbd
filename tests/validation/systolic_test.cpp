// The GEMM engine against the published run time of an output-stationary array.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "logged_run.h"

namespace kernbench {
namespace {

using testing::operations_of;

struct Product {
  std::int64_t rows, columns;  // of the array
  std::int64_t m, n, k;
  std::int64_t folds() const { return (m + rows - 1) / rows * ((n + columns - 1) / columns); }
  bool fits() const { return m <= rows && n <= columns; }
  /// SCALE-Sim (Samajdar et al., ISPASS 2020), output stationary: each fold takes 2 R + C + T - 2 cycles.
  std::int64_t published() const { return folds() * (2 * rows + columns + k - 2); }
  /// Equation 1 there, with as many units as the product needs.
  std::int64_t published_unlimited() const { return 2 * m + n + k - 2; }
};

/// Cycles of one `dot` of f16 operands on an array of the given size (at 1 GHz).
std::int64_t simulated_cycles(const Product& product, const std::string& model) {
  const auto operations = operations_of({"pe.gemm.model=" + model, "pe.gemm.array=[" + std::to_string(product.columns) +
                                                                       ", " + std::to_string(product.rows) + "]"},
                                        [&] {
                                          auto x = torch::zeros({1}, testing::on_one_pe(DType::f16));
                                          torch::launch(
                                              "product",
                                              [](tl::Tensor, std::int64_t m, std::int64_t n, std::int64_t k) {
                                                tl::dot(tl::zeros({m, k}, DType::f16), tl::zeros({k, n}, DType::f16));
                                              },
                                              x, product.m, product.n, product.k);
                                          torch::ahbm::synchronize();
                                        });
  for (const auto& operation : operations) {
    if (operation.kind != "dot") continue;
    // The engine begins at the next edge of its clock.
    return (operation.finished.count() / 1000) - ((operation.started.count() + 999) / 1000);
  }
  return -1;
}

TEST(Systolic, TakesThePublishedTimeOfScaleSimFoldByFold) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const auto draw = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    const Product product{draw(64), draw(64), draw(200), draw(200), draw(300)};
    EXPECT_EQ(simulated_cycles(product, "scale_sim_os"), product.published())
        << product.m << " x " << product.n << " x " << product.k << " on " << product.rows << " x " << product.columns;
  }
}

TEST(Systolic, ByDefaultAProductThatFitsTakesThePublishedTimeOfItsOwnSize) {
  std::mt19937 random(9);
  int fits = 0;
  while (fits < 30) {
    const auto draw = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    const Product product{draw(64), draw(64), draw(64), draw(64), draw(300)};
    if (!product.fits()) continue;
    ++fits;
    EXPECT_EQ(simulated_cycles(product, "systolic"), product.published_unlimited());
  }
}

TEST(Systolic, ByDefaultDiffersFromScaleSimByFillAndDrainBetweenFoldsAndBeyondTheProduct) {
  std::mt19937 random(8);
  for (int i = 0; i < 60; ++i) {
    const auto draw = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    const Product product{draw(64), draw(64), draw(200), draw(200), draw(300)};
    const std::int64_t each = 2 * product.rows + product.columns - 2;
    const std::int64_t once = 2 * std::min(product.rows, product.m) + std::min(product.columns, product.n) - 2;
    EXPECT_EQ(simulated_cycles(product, "systolic"), product.published() - product.folds() * each + once);
  }
}

}  // namespace
}  // namespace kernbench
