// Operands of operators and functions, with the line on which they stand.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kernbench/torch/types.h"
#include "kernbench/where.h"

namespace kernbench::torch {

class Tensor;

/// A tensor as an operand of an operator, or as the first argument of a function that has one form only: an operator
/// cannot take the line of its call as an argument, and such a function is passed on as a value (std::function, a
/// parameter of a template), where an argument that nobody writes would be missing.
struct TensorOperand {
  TensorOperand(const Tensor& operand, Where line = Where::current())  // NOLINT(google-explicit-constructor)
      : tensor(operand), where(line) {}
  const Tensor& tensor;
  Where where;
};

/// Likewise a number.
struct ScalarOperand {
  template <class T>
    requires std::convertible_to<const T&, Scalar> && (!std::is_same_v<T, ScalarOperand>)
  ScalarOperand(const T& operand, Where line = Where::current())  // NOLINT(google-explicit-constructor)
      : scalar(operand), where(line) {}
  Scalar scalar;
  Where where;
};

/// Likewise an index.
struct IndexOperand {
  template <class T>
    requires(std::integral<T> || (std::is_enum_v<T> && std::convertible_to<T, std::int64_t>))
  IndexOperand(T operand, Where line = Where::current())  // NOLINT(google-explicit-constructor)
      : index(static_cast<std::int64_t>(operand)), where(line) {}
  std::int64_t index;
  Where where;
};

}  // namespace kernbench::torch
