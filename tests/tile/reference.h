// An independent reference for the arithmetic of the tile language: elements as exact numbers, with their own rounding,
// conversion and promotion. Nothing here calls src/numerics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernbench/dtype.h"

namespace kernbench::tile_test {

/// Holds every element of every type on a device exactly (64 bits of significand).
using Real = long double;
static_assert(__LDBL_MANT_DIG__ >= 64);

using Sizes = std::vector<std::int64_t>;

inline constexpr DType kTypes[] = {DType::boolean, DType::u8,     DType::i8,  DType::i32,  DType::i64,
                                   DType::f8e4m3,  DType::f8e5m2, DType::f16, DType::bf16, DType::f32};
inline constexpr DType kFloats[] = {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32};
inline constexpr DType kIntegers[] = {DType::u8, DType::i8, DType::i32, DType::i64};

struct Lane {
  Real value = 0;
  bool valid = true;
};

/// A tile as the tests see it.
struct HostTile {
  DType dtype = DType::f32;
  Sizes shape;
  std::vector<Lane> lanes;
};

std::int64_t numel(const Sizes& shape);

// ---- element types ---------------------------------------------------------------------------------------------

bool is_float(DType type);
/// `value` rounded once to a float type, to nearest with ties to even or toward zero. Beyond the largest number:
/// infinity (toward zero: the largest number); of the 8-bit types, the largest number.
Real round_to(Real value, DType type, bool toward_zero = false);
/// An integer reduced modulo 2^n to the range of an integer type; of bool, value != 0.
std::int64_t wrap_to(std::int64_t value, DType type);
/// Conversion as by tl::cast.
Real convert(Real value, DType from, DType to, bool toward_zero = false);
/// The spacing of the numbers of a float type around `value`.
Real ulp(Real value, DType type);

/// The element's bytes, and back.
std::vector<std::byte> encode(const std::vector<Real>& values, DType type);
Real decode(const std::byte* bytes, DType type);

/// Equal; NaN are alike, and zeros differ by their sign in float types.
bool same(Real a, Real b);

// ---- promotion -------------------------------------------------------------------------------------------------

/// Triton's promotion of two tiles, as a table.
DType promote(DType a, DType b);
/// Of a tile and a C++ scalar of kind 0 (bool), 1 (integer) or 2 (floating).
DType promote_scalar(DType tile, int kind);

// ---- shapes ----------------------------------------------------------------------------------------------------

Sizes broadcast(const Sizes& a, const Sizes& b);
/// Index of the element of `shape` that broadcasts to the element `index` of `result`.
std::size_t source_of(std::int64_t index, const Sizes& result, const Sizes& shape);
/// Coordinates of the `index`-th element in row-major order, and back.
Sizes coordinates(std::int64_t index, const Sizes& shape);
std::int64_t index_of(const Sizes& coordinates, const Sizes& shape);

/// "f16 [2, 3]"
std::string describe(const HostTile& tile);

}  // namespace kernbench::tile_test
