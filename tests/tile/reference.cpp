#include "reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kernbench::tile_test {

namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

struct Format {
  int significand;  // bits, the leading one included
  int least;        // every number is a multiple of 2^least
  Real largest;
  bool saturates;
};

Format format_of(DType type) {
  switch (type) {
    case DType::f8e4m3:
      return {4, -9, 448, true};
    case DType::f8e5m2:
      return {3, -16, 57344, true};
    case DType::f16:
      return {11, -24, 65504, false};
    case DType::bf16:
      return {8, -133, 0x1.FEp127L, false};
    case DType::f32:
      return {24, -149, 0x1.FFFFFEp127L, false};
    default:
      return {53, -1074, 0x1.FFFFFFFFFFFFFp1023L, false};
  }
}

/// Exponent of the spacing of numbers around `value` (finite, not 0).
int quantum(Real value, const Format& format) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::max(exponent - format.significand, format.least);
}

struct Range {
  Real low, high;
};

Range range_of(DType type) {
  switch (type) {
    case DType::u8:
      return {0, 255};
    case DType::i8:
      return {-128, 127};
    case DType::i32:
      return {-0x1p31L, 0x1p31L - 1};
    default:
      return {-0x1p63L, 0x1p63L - 1};
  }
}

/// Exponent field and significand field of 8- and 16-bit floats and f32, from the value itself.
std::uint32_t float_bits(Real value, DType type) {
  const Format format = format_of(type);
  const int stored = format.significand - 1;
  const int width = static_cast<int>(item_size(type)) * 8;
  const std::uint32_t sign = std::signbit(value) ? 1u << (width - 1) : 0u;
  const std::uint32_t exponents = ((1u << (width - 1)) - 1) & ~((1u << stored) - 1);
  if (std::isnan(value)) return type == DType::f8e4m3 ? 0x7Fu : exponents | (1u << (stored - 1));
  if (std::isinf(value)) return sign | exponents;
  const auto magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  const int step = quantum(magnitude, format);
  const auto count = static_cast<std::uint32_t>(std::ldexp(magnitude, -step));
  // Numbers are counted from 0: each binade above the subnormals adds 2^stored of them.
  const auto binade = static_cast<std::uint32_t>(step - format.least);
  return sign | (count + (binade << stored));
}

Real float_value(std::uint32_t bits, DType type) {
  const Format format = format_of(type);
  const int stored = format.significand - 1;
  const int width = static_cast<int>(item_size(type)) * 8;
  const std::uint32_t magnitude = bits & ((1u << (width - 1)) - 1);
  const bool negative = (bits >> (width - 1)) != 0;
  const std::uint32_t exponents = ((1u << (width - 1)) - 1) & ~((1u << stored) - 1);
  Real value = 0;
  if (type == DType::f8e4m3 ? magnitude == 0x7F : magnitude > exponents) {
    value = std::numeric_limits<Real>::quiet_NaN();
  } else if (type != DType::f8e4m3 && magnitude == exponents) {
    value = kInfinity;
  } else if (const std::uint32_t exponent = magnitude >> stored; exponent == 0) {
    value = std::ldexp(static_cast<Real>(magnitude), format.least);
  } else {
    const std::uint32_t significand = (magnitude & ((1u << stored) - 1)) | (1u << stored);
    value = std::ldexp(static_cast<Real>(significand), format.least + static_cast<int>(exponent) - 1);
  }
  return negative ? -value : value;
}

template <class Integer>
void append(std::vector<std::byte>& bytes, Integer value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

template <class Integer>
Integer read(const std::byte* bytes) {
  Integer value{};
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::int64_t numel(const Sizes& shape) {
  std::int64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

bool is_float(DType type) {
  return type == DType::f64 || std::ranges::find(kFloats, type) != std::end(kFloats);
}

Real round_to(Real value, DType type, bool toward_zero) {
  const Format format = format_of(type);
  if (std::isnan(value) || value == 0) return value;
  const Real beyond = format.saturates || toward_zero ? format.largest : kInfinity;
  if (std::isinf(value)) return format.saturates ? std::copysign(format.largest, value) : value;
  const int step = quantum(value, format);
  const Real steps = std::ldexp(value, -step);
  const Real rounded = std::ldexp(toward_zero ? std::trunc(steps) : std::nearbyint(steps), step);
  if (std::abs(rounded) > format.largest) return std::copysign(beyond, value);
  return std::copysign(rounded, value);
}

std::int64_t wrap_to(std::int64_t value, DType type) {
  switch (type) {
    case DType::boolean:
      return value != 0;
    case DType::u8:
      return static_cast<std::uint8_t>(value);
    case DType::i8:
      return static_cast<std::int8_t>(value);
    case DType::i32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

Real convert(Real value, DType from, DType to, bool toward_zero) {
  if (to == DType::boolean) return value != 0;  // NaN is not 0
  if (is_float(to)) return round_to(value, to, toward_zero);
  if (!is_float(from)) return static_cast<Real>(wrap_to(static_cast<std::int64_t>(value), to));
  if (std::isnan(value)) return 0;
  const Range range = range_of(to);
  return std::clamp(std::trunc(value), range.low, range.high) + 0;
}

Real ulp(Real value, DType type) {
  const Format format = format_of(type);
  if (value == 0) return std::ldexp(Real{1}, format.least);
  return std::ldexp(Real{1}, quantum(std::min(std::abs(value), format.largest), format));
}

std::vector<std::byte> encode(const std::vector<Real>& values, DType type) {
  std::vector<std::byte> bytes;
  for (const Real value : values) {
    switch (item_size(type)) {
      case 1:
        append(bytes, is_float(type) ? static_cast<std::uint8_t>(float_bits(value, type))
                                     : static_cast<std::uint8_t>(static_cast<std::int64_t>(value)));
        break;
      case 2:
        append(bytes, static_cast<std::uint16_t>(float_bits(value, type)));
        break;
      case 4:
        append(bytes,
               is_float(type) ? float_bits(value, type) : static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
        break;
      default:
        append(bytes, static_cast<std::int64_t>(value));
    }
  }
  return bytes;
}

Real decode(const std::byte* bytes, DType type) {
  switch (type) {
    case DType::boolean:
    case DType::u8:
      return read<std::uint8_t>(bytes);
    case DType::i8:
      return read<std::int8_t>(bytes);
    case DType::i32:
      return read<std::int32_t>(bytes);
    case DType::i64:
      return static_cast<Real>(read<std::int64_t>(bytes));
    case DType::f8e4m3:
    case DType::f8e5m2:
      return float_value(read<std::uint8_t>(bytes), type);
    case DType::f16:
    case DType::bf16:
      return float_value(read<std::uint16_t>(bytes), type);
    default:
      return float_value(read<std::uint32_t>(bytes), type);
  }
}

bool same(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

DType promote(DType a, DType b) {
  constexpr auto B = DType::boolean, U = DType::u8, S = DType::i8, I = DType::i32, L = DType::i64, E = DType::f8e4m3,
                 G = DType::f8e5m2, H = DType::f16, R = DType::bf16, F = DType::f32;
  // Rows and columns in the order of kTypes. Triton rejects 8-bit floats with integers and bool: here they are f32.
  static constexpr DType kTable[10][10]{{B, U, S, I, L, F, F, H, F, F}, {U, U, U, I, L, F, F, H, F, F},
                                        {S, U, S, I, L, F, F, H, F, F}, {I, I, I, I, L, F, F, H, F, F},
                                        {L, L, L, L, L, F, F, H, F, F}, {F, F, F, F, F, E, H, H, F, F},
                                        {F, F, F, F, F, H, G, H, F, F}, {H, H, H, H, H, H, H, H, H, F},
                                        {F, F, F, F, F, F, F, H, R, F}, {F, F, F, F, F, F, F, F, F, F}};
  return kTable[std::ranges::find(kTypes, a) - kTypes][std::ranges::find(kTypes, b) - kTypes];
}

DType promote_scalar(DType tile, int kind) {
  if (is_float(tile)) return tile;
  if (kind == 2) return DType::f32;
  return tile == DType::boolean && kind == 1 ? DType::i32 : tile;
}

Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (const Sizes* shape : {&a, &b}) {
    const std::size_t skipped = result.size() - shape->size();
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if ((*shape)[i] != 1) result[skipped + i] = (*shape)[i];
    }
  }
  return result;
}

std::size_t source_of(std::int64_t index, const Sizes& result, const Sizes& shape) {
  const Sizes at = coordinates(index, result);
  Sizes own(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) own[i] = shape[i] == 1 ? 0 : at[i + result.size() - shape.size()];
  return static_cast<std::size_t>(index_of(own, shape));
}

Sizes coordinates(std::int64_t index, const Sizes& shape) {
  Sizes result(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    result[d] = index % shape[d];
    index /= shape[d];
  }
  return result;
}

std::int64_t index_of(const Sizes& coordinates, const Sizes& shape) {
  std::int64_t index = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + coordinates[d];
  return index;
}

std::string describe(const HostTile& tile) {
  std::string text = std::string(name(tile.dtype)) + " [";
  for (std::size_t i = 0; i < tile.shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(tile.shape[i]);
  return text + "]";
}

}  // namespace kernbench::tile_test
