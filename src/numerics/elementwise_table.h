// The one table of elementwise operations: for each its names, which element types it takes, what it yields, how its
// values are computed, and what it costs. Tile operations (tile/compute), host loops (tensor/functions) and library
// kernels (tile/library, runtime/functions) are made from it. Its rows: kernbench/elementwise/unary.def and binary.def;
// how to add one: docs/contributing.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "kernbench/dtype.h"
#include "kernbench/engines.h"
#include "numerics/operation.h"

namespace kernbench::numerics {

/// The element types that the function of tensors takes (PyTorch's rules); of several operands, their promoted type.
/// What the operation of tiles takes is in tile/compute/operation_table.h.
enum class Takes : std::uint8_t {
  any,
  numbers,  // not bool
  floats,
  bits,      // integers and bool
  integers,  // not bool
};

enum class Yields : std::uint8_t {
  same,      // the promoted type
  floating,  // it, when it is a float, else f32: the function is not one of integers
  boolean,
};

/// out[i] = operation(x[i]); arrays of the computation type (f32, f64 or i64). Booleans are 0 and 1.
using UnaryKernel = void (*)(const std::byte* x, std::byte* out, std::int64_t count);
using BinaryKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* out, std::int64_t count);
using TernaryKernel = void (*)(const std::byte* a, const std::byte* b, const std::byte* c, std::byte* out,
                               std::int64_t count);

/// The loops of an operation by computation type; null where it has none.
template <class Kernel>
struct Kernels {
  Kernel f32 = nullptr, f64 = nullptr, i64 = nullptr;
  Kernel of(DType computation) const { return computation == DType::f32 ? f32 : computation == DType::f64 ? f64 : i64; }
};

/// A row of the table.
struct ElementwiseInfo {
  std::variant<UnaryOperation, BinaryOperation, TernaryOperation, ComposedOperation> operation;
  const char* name;  // PyTorch's, in errors and launches: "log1p"
  Takes takes = Takes::any;
  Yields yields = Yields::same;
  std::optional<VectorOperation> cost = std::nullopt;  // of its one vector command; nullopt: composed of others
  std::string_view call = {};                          // a function of the tile language, as a kernel writes it
};
struct UnaryInfo : ElementwiseInfo {
  Kernels<UnaryKernel> kernels;
};
struct BinaryInfo : ElementwiseInfo {
  Kernels<BinaryKernel> kernels;
};
struct TernaryInfo : ElementwiseInfo {
  Kernels<TernaryKernel> kernels;
};

/// In the order of the enumerations.
std::span<const UnaryInfo> unary_table();
std::span<const BinaryInfo> binary_table();

const UnaryInfo& info(UnaryOperation operation);
const BinaryInfo& info(BinaryOperation operation);
const TernaryInfo& info(TernaryOperation operation);

/// out[i] = operation(inputs[0][i], inputs[1][i], …); arrays of the computation type.
using ComposedKernel =
    std::function<void(std::span<const std::byte* const> inputs, std::byte* out, std::int64_t count)>;
/// Null where the operation is not one of that type: all but `power` are functions of floats.
ComposedKernel composed_kernel(const ComposedOperation& operation, DType computation);

}  // namespace kernbench::numerics
