#include "tensor/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "numerics/conversion.h"
#include "numerics/philox.h"

namespace kernbench::tensor {

namespace {

constexpr std::size_t kDrawnAtOnce = 1024;

/// Draws in blocks of `T` and converts each block to `dtype`.
template <class T, class Fill>
void fill_blocks(DType type_of_block, DType dtype, std::int64_t first, std::int64_t count, std::byte* out,
                 const Fill& fill) {
  std::array<T, kDrawnAtOnce> block;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t n = std::min<std::int64_t>(count - done, static_cast<std::int64_t>(block.size()));
    fill(std::span(block).first(static_cast<std::size_t>(n)), static_cast<std::uint64_t>(first + done));
    numerics::convert(dtype, out + done * item_size(dtype), type_of_block,
                      reinterpret_cast<const std::byte*>(block.data()), n);
    done += n;
  }
}

/// Digits of the significand, with the one that is not stored; of f64 those that a number of the stream has.
int digits_of(DType dtype) {
  switch (dtype) {
    case DType::f8e5m2:
      return 3;
    case DType::f8e4m3:
      return 4;
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    default:
      return 24;
  }
}

/// Multiples of 2^-digits in [0, 1): the leading bits of the stream's numbers, which the type holds as they are.
void fill_unit(std::span<float> block, Generator::Draw draw, std::uint64_t at, DType dtype) {
  numerics::fill_uniform(block, draw.seed, draw.offset + at);
  const int digits = digits_of(dtype);
  if (digits == 24) return;
  const float scale = std::ldexp(1.0f, digits);
  for (float& x : block) x = std::floor(x * scale) / scale;
}

/// The bits of the number of a type that is next below that of `bits`: sign and magnitude.
std::uint64_t bits_below(std::uint64_t bits, std::uint64_t sign) {
  if ((bits & ~sign) == 0) return sign | 1;
  return (bits & sign) != 0 ? bits + 1 : bits - 1;
}

/// The largest number of a type below `limit`.
double largest_below(double limit, DType dtype) {
  std::uint64_t bits = 0;
  double value = 0;
  auto* const bytes = reinterpret_cast<std::byte*>(&bits);
  const auto to_value = [&] { numerics::convert(DType::f64, reinterpret_cast<std::byte*>(&value), dtype, bytes, 1); };
  numerics::convert(dtype, bytes, DType::f64, reinterpret_cast<const std::byte*>(&limit), 1);
  to_value();
  if (value < limit) return value;
  bits = bits_below(bits, std::uint64_t{1} << (8 * item_size(dtype) - 1));
  to_value();
  return value;
}

}  // namespace

RandomNumbers uniform_numbers(const char* name, Generator::Draw draw, DType dtype) {
  return {name, Distribution::uniform, false, draw, [=](std::int64_t first, std::int64_t count, std::byte* out) {
            fill_uniform(draw, dtype, first, count, out);
          }};
}

void fill_uniform(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out) {
  fill_blocks<float>(DType::f32, dtype, first, count, out,
                     [&](std::span<float> block, std::uint64_t at) { fill_unit(block, draw, at, dtype); });
}

void fill_uniform(Generator::Draw draw, double from, double to, DType dtype, std::int64_t first, std::int64_t count,
                  std::byte* out) {
  const double below = largest_below(to, dtype), last = below >= from ? below : to;
  fill_blocks<double>(DType::f64, dtype, first, count, out, [&](std::span<double> block, std::uint64_t at) {
    std::array<float, kDrawnAtOnce> unit;
    fill_unit(std::span(unit).first(block.size()), draw, at, dtype);
    // What lies above the last number of the type could be rounded up to `to`.
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = std::min(from + (to - from) * unit[i], last);
  });
}

void fill_normal(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out) {
  fill_blocks<float>(DType::f32, dtype, first, count, out, [&](std::span<float> block, std::uint64_t at) {
    numerics::fill_normal(block, draw.seed, draw.offset + at);
  });
}

void fill_integers(Generator::Draw draw, std::int64_t low, std::int64_t high, DType dtype, std::int64_t first,
                   std::int64_t count, std::byte* out) {
  fill_blocks<std::int64_t>(DType::i64, dtype, first, count, out, [&](std::span<std::int64_t> block, std::uint64_t at) {
    numerics::fill_integers(block, low, high, draw.seed, draw.offset + at);
  });
}

}  // namespace kernbench::tensor
