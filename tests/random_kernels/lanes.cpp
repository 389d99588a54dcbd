#include "lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernbench::testing {

std::int64_t numel(const Shape& shape) {
  std::int64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

bool Array::all_valid() const {
  return std::ranges::all_of(lanes, &Lane::valid);
}
bool Array::has_nan() const {
  return std::ranges::any_of(lanes, [](const Lane& lane) { return std::isnan(lane.value); });
}

Array filled(DType dtype, Shape shape, Lane lane) {
  Array array{dtype, std::move(shape), {}};
  array.lanes.assign(static_cast<std::size_t>(numel(array.shape)), lane);
  return array;
}

bool is_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32;
}

int width(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 1;
    case DType::i8:
    case DType::u8:
      return 8;
    default:
      return 32;
  }
}

bool is_signed_integer(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i32;
}

namespace {

/// To nearest, ties to even, among numbers of `precision` significant bits with the given range of exponents.
double rounded(double value, int precision, int least_exponent, double largest) {
  if (std::isnan(value) || std::isinf(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const int scale = precision - 1 - exponent;
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, scale)), -scale);
  return std::abs(result) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

double saturated(double value, double low, double high) {
  if (std::isnan(value)) return 0;
  return std::clamp(std::trunc(value), low, high) + 0.0;
}

}  // namespace

double converted(double value, DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return value != 0 ? 1 : 0;
    case DType::u8:
      return saturated(value, 0, 255);
    case DType::i8:
      return saturated(value, -128, 127);
    case DType::i32:
      return saturated(value, -2147483648.0, 2147483647.0);
    case DType::f16:
      return rounded(value, 11, -14, 65504);
    case DType::bf16:
      return rounded(value, 8, -126, std::ldexp(255.0, 120));
    default:
      return static_cast<double>(static_cast<float>(value));
  }
}

double wrapped(std::int64_t value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? 1 : 0;
  const int bits = width(dtype);
  const auto modulus = std::uint64_t{1} << bits;
  const std::uint64_t low = static_cast<std::uint64_t>(value) & (modulus - 1);
  const bool negative = is_signed_integer(dtype) && (low >> (bits - 1)) != 0;
  return static_cast<double>(low) - (negative ? static_cast<double>(modulus) : 0.0);
}

Broadcast broadcast(const Shape& a, const Shape& b) {
  Broadcast result;
  const std::size_t rank = std::max(a.size(), b.size());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t left = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t right = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    result.ok = result.ok && (left == right || left == 1 || right == 1);
    result.shape.push_back(left == 1 ? right : left);
  }
  return result;
}

Array stretched(const Array& x, const Shape& shape) {
  Array result = filled(x.dtype, shape, {});
  for (std::int64_t lane = 0; lane < result.size(); ++lane) {
    std::int64_t rest = lane, from = 0, stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const std::int64_t index = rest % shape[i];
      rest /= shape[i];
      const std::size_t skipped = shape.size() - x.shape.size();
      if (i < skipped) continue;
      const std::int64_t extent = x.shape[i - skipped];
      from += (extent == 1 ? 0 : index) * stride;
      stride *= extent;
    }
    result.lanes[static_cast<std::size_t>(lane)] = x.lanes[static_cast<std::size_t>(from)];
  }
  return result;
}

}  // namespace kernbench::testing
