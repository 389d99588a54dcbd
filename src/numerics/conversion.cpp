#include "numerics/conversion.h"

#include <immintrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kernbench::numerics {

namespace {

// ---- one element -----------------------------------------------------------------------------------------------

struct Boolean {
  std::uint8_t byte;
};

template <class T>
constexpr bool kIsNarrowFloat = std::is_same_v<T, half> || std::is_same_v<T, bfloat16> ||
                                std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

/// The double nearest to `value` in the direction that keeps a later, coarser rounding right (round to odd).
double to_odd_double(std::int64_t value) {
  const auto nearest = static_cast<double>(value);
  if (std::abs(nearest) <= 0x1p53) return nearest;
  // Compare in integers; 2^63 itself does not fit and is above every value.
  const bool is_limit = nearest == 0x1p63;
  const bool exact = !is_limit && static_cast<std::int64_t>(nearest) == value;
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (exact || (bits & 1) != 0) return nearest;
  const bool above = is_limit || static_cast<std::int64_t>(nearest) > value;
  const bool grow = above == (nearest < 0);
  return std::bit_cast<double>(grow ? bits + 1 : bits - 1);
}

template <class Integer, class Float>
Integer saturate(Float value) {
  using Limits = std::numeric_limits<Integer>;
  // One above the largest value is a power of two, and the lowest is exact.
  constexpr auto kLow = static_cast<Float>(Limits::min());
  constexpr auto kHalfLimit = static_cast<Integer>(Limits::max() / 2 + 1);
  constexpr auto kLimit = static_cast<Float>(kHalfLimit) * 2;
  if (value >= kLimit) return Limits::max();
  if (value < kLow) return Limits::min();
  return value == value ? static_cast<Integer>(value) : Integer{0};
}

/// `value` as a double that rounds like it to any narrower float; `value` is no narrow float.
template <class From>
double to_double_for_rounding(From value) {
  if constexpr (std::is_same_v<From, std::int64_t>)
    return to_odd_double(value);
  else
    return static_cast<double>(value);
}

template <class To, class From>
To convert_element(From value) {
  if constexpr (std::is_same_v<From, Boolean>) {
    return convert_element<To>(static_cast<std::int32_t>(value.byte != 0));
  } else if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsNarrowFloat<From>) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIsNarrowFloat<To> && std::is_same_v<From, float>) {
    return To(value);
  } else if constexpr (kIsNarrowFloat<To>) {
    return To(to_double_for_rounding(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// The same, but narrower floats round toward zero.
template <class To, class From>
To truncate_element(From value) {
  if constexpr (std::is_same_v<From, Boolean>) {
    return truncate_element<To>(static_cast<std::int32_t>(value.byte != 0));
  } else if constexpr (kIsNarrowFloat<From>) {
    return truncate_element<To>(static_cast<double>(value));
  } else if constexpr (kIsNarrowFloat<To>) {
    // An odd last bit of a rounded integer never carries it across a number of the format.
    return To(to_double_for_rounding(value), RoundingMode::toward_zero);
  } else if constexpr (std::is_same_v<To, float>) {
    return round_to_float(to_double_for_rounding(value), RoundingMode::toward_zero);
  } else if constexpr (std::is_same_v<To, double> && std::is_same_v<From, std::int64_t>) {
    const auto nearest = static_cast<double>(value);
    const bool beyond = nearest == 0x1p63 || (nearest > 0 ? static_cast<std::int64_t>(nearest) > value
                                                          : static_cast<std::int64_t>(nearest) < value);
    return beyond ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(nearest) - 1) : nearest;
  } else {
    return convert_element<To>(value);
  }
}

// ---- arrays ----------------------------------------------------------------------------------------------------

template <class To, class From>
void convert_array(std::byte* out, const std::byte* in, std::int64_t count) {
  if constexpr (std::is_same_v<To, float> && kIsNarrowFloat<From>) {
    to_float(reinterpret_cast<float*>(out), reinterpret_cast<const From*>(in), count);
  } else if constexpr (std::is_same_v<From, float> && kIsNarrowFloat<To>) {
    from_float(reinterpret_cast<To*>(out), reinterpret_cast<const float*>(in), count);
  } else {
    auto* to = reinterpret_cast<To*>(out);
    const auto* from = reinterpret_cast<const From*>(in);
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert_element<To>(from[i]);
  }
}

template <class To, class From>
void truncate_array(std::byte* out, const std::byte* in, std::int64_t count) {
  auto* to = reinterpret_cast<To*>(out);
  const auto* from = reinterpret_cast<const From*>(in);
  for (std::int64_t i = 0; i < count; ++i) to[i] = truncate_element<To>(from[i]);
}

/// Calls `function` with a value of the type that stores elements of `type`.
template <class Function>
decltype(auto) with_type(DType type, Function&& function) {
  switch (type) {
    case DType::boolean:
      return function(Boolean{});
    case DType::u8:
      return function(std::uint8_t{});
    case DType::i8:
      return function(std::int8_t{});
    case DType::i32:
      return function(std::int32_t{});
    case DType::f8e4m3:
      return function(float8_e4m3{});
    case DType::f8e5m2:
      return function(float8_e5m2{});
    case DType::f16:
      return function(half{});
    case DType::bf16:
      return function(bfloat16{});
    case DType::i64:
      return function(std::int64_t{});
    case DType::f64:
      return function(double{});
    case DType::f32:
      break;
  }
  return function(float{});
}

std::atomic<bool> portable_only = false;

bool use_f16c() {
  static const bool supported = __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
  return supported && !portable_only.load(std::memory_order_relaxed);
}

// ---- F16C: eight elements an instruction -----------------------------------------------------------------------

__attribute__((target("avx,f16c"))) std::int64_t to_float_f16c(float* out, const half* in, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
  return i;
}

__attribute__((target("avx,f16c"))) std::int64_t from_float_f16c(half* out, const float* in, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  return i;
}

// ---- eight bits: the whole function is a table ---------------------------------------------------------------------

template <class T>
constexpr std::array<float, 256> kFloatOf = [] {
  std::array<float, 256> table{};
  for (int bits = 0; bits < 256; ++bits) {
    table[static_cast<std::size_t>(bits)] = static_cast<float>(T::from_bits(static_cast<std::uint8_t>(bits)));
  }
  return table;
}();

template <class T>
void look_up(float* out, const T* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = kFloatOf<T>[in[i].bits];
}

}  // namespace

std::int64_t saturate_to_integer(double value) {
  return saturate<std::int64_t>(value);
}

bool force_portable_conversion(bool portable) {
  return portable_only.exchange(portable);
}

void to_float(float* out, const half* in, std::int64_t count) {
  std::int64_t i = use_f16c() ? to_float_f16c(out, in, count) : 0;
  for (; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

void to_float(float* out, const bfloat16* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

void to_float(float* out, const float8_e4m3* in, std::int64_t count) {
  look_up(out, in, count);
}

void to_float(float* out, const float8_e5m2* in, std::int64_t count) {
  look_up(out, in, count);
}

void from_float(half* out, const float* in, std::int64_t count) {
  std::int64_t i = use_f16c() ? from_float_f16c(out, in, count) : 0;
  for (; i < count; ++i) out[i] = half(in[i]);
}

void from_float(bfloat16* out, const float* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = bfloat16(in[i]);
}

void from_float(float8_e4m3* out, const float* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = float8_e4m3(in[i]);
}

void from_float(float8_e5m2* out, const float* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = float8_e5m2(in[i]);
}

void convert(DType to, std::byte* out, DType from, const std::byte* in, std::int64_t count, RoundingMode mode) {
  if (count == 0) return;
  if (to == from && to != DType::boolean) {
    std::memcpy(out, in, static_cast<std::size_t>(count * item_size(to)));
    return;
  }
  with_type(to, [&](auto to_example) {
    with_type(from, [&](auto from_example) {
      using To = decltype(to_example);
      using From = decltype(from_example);
      if (mode == RoundingMode::nearest)
        convert_array<To, From>(out, in, count);
      else
        truncate_array<To, From>(out, in, count);
    });
  });
}

Scalar load_element(DType dtype, const std::byte* element) {
  return with_type(dtype, [&](auto example) -> Scalar {
    using T = decltype(example);
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_same_v<T, Boolean>)
      return Scalar(value.byte != 0);
    else if constexpr (kIsNarrowFloat<T>)
      return Scalar(static_cast<double>(value));
    else if constexpr (std::is_same_v<T, std::int8_t>)
      return Scalar(std::int64_t{value});  // NOLINT(bugprone-signed-char-misuse): an i8 is a number
    else
      return Scalar(value);
  });
}

void store_element(DType dtype, std::byte* element, Scalar value) {
  with_type(dtype, [&](auto example) {
    using T = decltype(example);
    const T converted = value.kind() == Scalar::Kind::floating ? convert_element<T>(value.as_double())
                                                               : convert_element<T>(value.as_integer());
    std::memcpy(element, &converted, sizeof converted);
  });
}

}  // namespace kernbench::numerics
