// Makes the loops of the table of elementwise operations from functions of single lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "numerics/elementwise_table.h"

namespace kernbench::numerics {

template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T>;

/// Which NaN comes out of an instruction depends on the order that a compiler gives its operands.
template <class T>
T canonical(T value) {
  if constexpr (kIsFloating<T>) return value == value ? value : std::numeric_limits<T>::quiet_NaN();
  return value;
}

/// In place of `value` in sums, differences and products, so that integers wrap.
template <class T>
constexpr auto wrapping(T value) {
  if constexpr (kIsFloating<T>)
    return value;
  else
    return static_cast<std::uint64_t>(value);
}

/// The loop of `Function`, an object without state; a NaN that it yields becomes the canonical one.
template <class T, class Function>
void unary_loop(const std::byte* x, std::byte* out, std::int64_t count) {
  const auto* in = reinterpret_cast<const T*>(x);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = canonical(static_cast<T>(Function{}(in[i])));
}

template <class T, class Function>
void binary_loop(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count) {
  const auto *left = reinterpret_cast<const T*>(a), *right = reinterpret_cast<const T*>(b);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) result[i] = canonical(static_cast<T>(Function{}(left[i], right[i])));
}

template <class T, class Function>
void ternary_loop(const std::byte* a, const std::byte* b, const std::byte* c, std::byte* out, std::int64_t count) {
  const auto *first = reinterpret_cast<const T*>(a), *second = reinterpret_cast<const T*>(b),
             *third = reinterpret_cast<const T*>(c);
  auto* result = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i)
    result[i] = canonical(static_cast<T>(Function{}(first[i], second[i], third[i])));
}

template <class Function>
constexpr Kernels<UnaryKernel> unary_kernels(Function) {
  return {unary_loop<float, Function>, unary_loop<double, Function>, unary_loop<std::int64_t, Function>};
}
template <class Function>
constexpr Kernels<BinaryKernel> binary_kernels(Function) {
  return {binary_loop<float, Function>, binary_loop<double, Function>, binary_loop<std::int64_t, Function>};
}
template <class Function>
constexpr Kernels<TernaryKernel> ternary_kernels(Function) {
  return {ternary_loop<float, Function>, ternary_loop<double, Function>, ternary_loop<std::int64_t, Function>};
}

}  // namespace kernbench::numerics
