#include "numerics/kernels.h"

namespace kernbench::numerics {

namespace {

/// REQUIRES: b != 0. The lowest value divided by -1 wraps.
template <BinaryOperation kOperation>
std::int64_t divide_integers(std::int64_t a, std::int64_t b) {
  using enum BinaryOperation;
  constexpr bool kRest = kOperation == fmod || kOperation == remainder;
  if (b == -1) return kRest ? 0 : static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  const std::int64_t rest = a % b, quotient = a / b;
  const bool floored = rest != 0 && (rest < 0) != (b < 0);
  if constexpr (kOperation == fmod)
    return rest;
  else if constexpr (kOperation == remainder)
    return floored ? rest + b : rest;
  else if constexpr (kOperation == floor_divide)
    return floored ? quotient - 1 : quotient;
  else
    return quotient;
}

template <BinaryOperation kOperation>
bool checked_loop(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count, std::int64_t bits,
                  std::uint8_t* good) {
  using enum BinaryOperation;
  const auto* left = reinterpret_cast<const std::int64_t*>(a);
  const auto* right = reinterpret_cast<const std::int64_t*>(b);
  auto* result = reinterpret_cast<std::int64_t*>(out);
  bool all_good = true;
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr bool kShifts = kOperation == shift_left || kOperation == shift_right;
    const bool fine = kShifts ? right[i] >= 0 && right[i] < bits : right[i] != 0;
    good[i] = static_cast<std::uint8_t>(fine);
    all_good = all_good && fine;
    if (!fine)
      result[i] = 0;
    else if constexpr (kOperation == shift_left)
      result[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(left[i]) << right[i]);
    else if constexpr (kOperation == shift_right)
      result[i] = left[i] >> right[i];
    else
      result[i] = divide_integers<kOperation>(left[i], right[i]);
  }
  return all_good;
}

}  // namespace

DType computation_type(std::initializer_list<DType> types) {
  bool any_float = false;
  for (const DType type : types) {
    if (type == DType::f64) return DType::f64;
    any_float = any_float || is_floating_point(type);
  }
  return any_float ? DType::f32 : DType::i64;
}

DType floating_computation_type(DType type) {
  return type == DType::i64 ? DType::f32 : type;
}

CheckedKernel checked_kernel(BinaryOperation operation) {
  using enum BinaryOperation;
  switch (operation) {
    case truncate_divide:
      return checked_loop<truncate_divide>;
    case floor_divide:
      return checked_loop<floor_divide>;
    case fmod:
      return checked_loop<fmod>;
    case remainder:
      return checked_loop<remainder>;
    case shift_left:
      return checked_loop<shift_left>;
    case shift_right:
      return checked_loop<shift_right>;
    default:
      return nullptr;
  }
}

bool is_checked(BinaryOperation operation, DType computation) {
  return computation == DType::i64 && checked_kernel(operation) != nullptr;
}

}  // namespace kernbench::numerics
