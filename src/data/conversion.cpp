#include "data/conversion.h"

#include <immintrin.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kernbench::data {

namespace {

// ---- one element -----------------------------------------------------------------------------------------------

struct Boolean {
  std::uint8_t byte;
};

template <class T>
constexpr bool kIs16Bit = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

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
  constexpr auto kLimit = static_cast<Float>(std::is_same_v<Integer, std::int32_t> ? 0x1p31 : 0x1p63);
  if (value >= kLimit) return std::numeric_limits<Integer>::max();
  if (value < -kLimit) return std::numeric_limits<Integer>::min();
  return value == value ? static_cast<Integer>(value) : Integer{0};
}

template <class To, class From>
To convert_element(From value) {
  if constexpr (std::is_same_v<From, Boolean>) {
    return convert_element<To>(static_cast<std::int32_t>(value.byte != 0));
  } else if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIs16Bit<From>) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIs16Bit<To>) {
    if constexpr (std::is_same_v<From, std::int64_t>)
      return To(to_odd_double(value));
    else if constexpr (std::is_same_v<From, std::int32_t>)
      return To(static_cast<double>(value));
    else
      return To(value);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// ---- arrays ----------------------------------------------------------------------------------------------------

template <class To, class From>
void convert_array(std::byte* out, const std::byte* in, std::int64_t count) {
  if constexpr (std::is_same_v<To, float> && kIs16Bit<From>) {
    to_float(reinterpret_cast<float*>(out), reinterpret_cast<const From*>(in), count);
  } else if constexpr (std::is_same_v<From, float> && kIs16Bit<To>) {
    from_float(reinterpret_cast<To*>(out), reinterpret_cast<const float*>(in), count);
  } else {
    auto* to = reinterpret_cast<To*>(out);
    const auto* from = reinterpret_cast<const From*>(in);
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert_element<To>(from[i]);
  }
}

/// Calls `function` with a value of the type that stores elements of `type`.
template <class Function>
decltype(auto) with_type(DType type, Function&& function) {
  switch (type) {
    case DType::boolean:
      return function(Boolean{});
    case DType::i32:
      return function(std::int32_t{});
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

void from_float(half* out, const float* in, std::int64_t count) {
  std::int64_t i = use_f16c() ? from_float_f16c(out, in, count) : 0;
  for (; i < count; ++i) out[i] = half(in[i]);
}

void from_float(bfloat16* out, const float* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = bfloat16(in[i]);
}

void convert(DType to, std::byte* out, DType from, const std::byte* in, std::int64_t count) {
  if (count == 0) return;
  if (to == from && to != DType::boolean) {
    std::memcpy(out, in, static_cast<std::size_t>(count * item_size(to)));
    return;
  }
  with_type(to, [&](auto to_example) {
    with_type(from,
              [&](auto from_example) { convert_array<decltype(to_example), decltype(from_example)>(out, in, count); });
  });
}

Scalar load_element(DType dtype, const std::byte* element) {
  return with_type(dtype, [&](auto example) -> Scalar {
    using T = decltype(example);
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_same_v<T, Boolean>)
      return Scalar(value.byte != 0);
    else if constexpr (kIs16Bit<T>)
      return Scalar(static_cast<double>(value));
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

}  // namespace kernbench::data
