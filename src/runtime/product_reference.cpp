#include "runtime/product_reference.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "runtime/plain_gemm.h"

namespace kernbench::runtime {

namespace {

/// Sums with random signs of one row: each is wrong of a wrong row with probability 1/2 or more. One panel of the
/// product.
constexpr std::int64_t kSums = reference::kColumns<double>;
/// Rows that are converted to doubles at once: 8 MiB of 4096 columns.
constexpr std::int64_t kRowsAtOnce = 256;
/// The largest whole number up to which a double holds all.
constexpr double kWhole = 0x1p53;

template <class Real>
std::span<Real> elements(const torch::Tensor& tensor) {
  return {tensor.data_ptr<Real>(), static_cast<std::size_t>(tensor.numel())};
}

/// Calls f(first row, its rows as doubles) for one part of a matrix after the other, until one call yields false.
template <class F>
void for_each_part(const torch::Tensor& matrix, const F& f) {
  for (std::int64_t row = 0; row < matrix.size(0); row += kRowsAtOnce) {
    const auto last = std::min(row + kRowsAtOnce, matrix.size(0));
    if (!f(row, matrix.slice(0, row, last).to(torch::kDouble).contiguous())) return;
  }
}

/// The largest absolute value; nothing when one is not a whole number that a double holds exactly.
std::optional<double> largest_whole(const torch::Tensor& matrix) {
  double largest = 0;
  bool whole = true;
  for_each_part(matrix, [&](std::int64_t, const torch::Tensor& part) {
    for (const double value : elements<double>(part)) {
      whole = whole && std::abs(value) < kWhole && value == std::trunc(value);
      largest = std::max(largest, std::abs(value));
    }
    return whole;
  });
  return whole ? std::optional(largest) : std::nullopt;
}

/// [rows, kSums] of 1 and -1, from the bits of SplitMix64 (Steele, Lea and Flood, 2014) over the number of the row.
std::vector<double> random_signs(std::int64_t rows) {
  static_assert(kSums <= 64);
  std::vector<double> signs;
  signs.reserve(static_cast<std::size_t>(rows * kSums));
  for (std::int64_t row = 0; row < rows; ++row) {
    auto bits = static_cast<std::uint64_t>(row + 1) * 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
    bits ^= bits >> 31U;
    for (std::int64_t sum = 0; sum < kSums; ++sum, bits >>= 1U) signs.push_back((bits & 1U) != 0 ? 1.0 : -1.0);
  }
  return signs;
}

/// matrix [m, n] times right [n, kSums].
std::vector<double> times(const torch::Tensor& matrix, std::span<const double> right) {
  std::vector<double> result(static_cast<std::size_t>(matrix.size(0) * kSums));
  for_each_part(matrix, [&](std::int64_t first, const torch::Tensor& part) {
    const auto sums = std::span(result).subspan(static_cast<std::size_t>(first * kSums),
                                                static_cast<std::size_t>(part.size(0) * kSums));
    reference::plain_gemm<double>(elements<double>(part), right, sums, part.size(0), kSums, part.size(1));
    return true;
  });
  return result;
}

/// The rows of `product` whose sums are not those of a b; all operands are whole numbers, and all sums exact.
std::vector<std::int64_t> rows_that_differ(const torch::Tensor& product, const torch::Tensor& a,
                                           const torch::Tensor& b) {
  const auto signs = random_signs(b.size(1));
  const auto expected = times(a, times(b, signs)), actual = times(product, signs);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < a.size(0); ++row) {
    const auto at = static_cast<std::size_t>(row * kSums);
    if (!std::equal(expected.begin() + static_cast<std::ptrdiff_t>(at),
                    expected.begin() + static_cast<std::ptrdiff_t>(at) + kSums,
                    actual.begin() + static_cast<std::ptrdiff_t>(at))) {
      rows.push_back(row);
    }
  }
  return rows;
}

template <class Real>
torch::Tensor multiplied_as(const torch::Tensor& a, const torch::Tensor& b) {
  const auto type = torch::scalar_type_of<Real>();
  const auto x = a.to(type).contiguous(), y = b.to(type).contiguous();
  auto c = torch::empty({a.size(0), b.size(1)}, type);
  reference::plain_gemm<Real>(elements<Real>(x), elements<Real>(y), elements<Real>(c), a.size(0), b.size(1), a.size(1));
  return c;
}

/// What largest_whole says of the operands, and what bounds a sum over k of their products.
struct Magnitudes {
  std::optional<double> a, b;
  double sum = 0;
  bool whole() const { return a && b; }
};

Magnitudes magnitudes_of(const torch::Tensor& a, const torch::Tensor& b) {
  Magnitudes result{.a = largest_whole(a), .b = largest_whole(b)};
  if (result.whole()) result.sum = *result.a * *result.b * static_cast<double>(a.size(1));
  return result;
}

torch::Tensor multiplied(const Magnitudes& magnitudes, const torch::Tensor& a, const torch::Tensor& b,
                         torch::Dtype type) {
  const bool exact_in_floats = magnitudes.whole() && magnitudes.sum <= 0x1p24;
  return (exact_in_floats ? multiplied_as<float>(a, b) : multiplied_as<double>(a, b)).to(type);
}

/// `product` with the given rows multiplied out.
torch::Tensor with_rows(const torch::Tensor& product, const std::vector<std::int64_t>& rows,
                        const Magnitudes& magnitudes, const torch::Tensor& a, const torch::Tensor& b) {
  auto result = product.clone();
  const auto right = multiplied(magnitudes, a.index_select(0, torch::tensor(rows)), b, product.scalar_type());
  const auto bytes = product.nbytes() / static_cast<std::size_t>(product.size(0));
  auto* const to = static_cast<std::byte*>(result.data_ptr());
  const auto* const from = static_cast<const std::byte*>(right.data_ptr());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(to + static_cast<std::size_t>(rows[i]) * bytes, from + i * bytes, bytes);
  }
  return result;
}

}  // namespace

torch::Tensor expected_product(const torch::Tensor& product, const torch::Tensor& a, const torch::Tensor& b) {
  const auto magnitudes = magnitudes_of(a, b);
  const auto n = static_cast<double>(b.size(1));
  if (magnitudes.whole() && magnitudes.sum * n < kWhole) {
    const auto largest = largest_whole(product);
    if (largest && *largest * n < kWhole) {
      const auto rows = rows_that_differ(product, a, b);
      if (rows.empty()) return product;
      // A few rows differ where sums were rounded to the type of the product, or where it is wrong.
      if (static_cast<std::int64_t>(rows.size()) <= product.size(0) / 4) {
        return with_rows(product, rows, magnitudes, a, b);
      }
    }
  }
  return multiplied(magnitudes, a, b, product.scalar_type());
}

}  // namespace kernbench::runtime
