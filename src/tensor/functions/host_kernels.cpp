#include "tensor/functions/host_kernels.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "kernbench/error.h"
#include "numerics/kernels.h"

namespace kernbench::tensor {

namespace {

using Inputs = std::span<const std::byte* const>;

void check_defined(bool defined, const ElementwiseInfo& operation, DType compute) {
  if (!defined) throw ValueError(std::string(operation.name) + " is not defined for elements of " + name(compute));
}

[[noreturn]] void throw_zero_divisor() {
  throw ValueError(
      "ZeroDivisionError: an integer tensor is divided by zero; divide floating-point tensors (.to(torch::kFloat)), "
      "or mask the zeros");
}

/// Of operations that some integers have no result for.
HostLoop checked_loop(BinaryOperation operation) {
  return [operation, kernel = numerics::checked_kernel(operation)](Inputs in, std::byte* out, std::int64_t count) {
    std::array<std::uint8_t, kHostChunk> good;
    assert(count <= static_cast<std::int64_t>(good.size()));
    if (kernel(in[0], in[1], out, count, 64, good.data())) return;
    if (operation != BinaryOperation::shift_left && operation != BinaryOperation::shift_right) throw_zero_divisor();
    if (operation == BinaryOperation::shift_left) return;  // zeros, as they should be
    const auto* value = reinterpret_cast<const std::int64_t*>(in[0]);
    auto* result = reinterpret_cast<std::int64_t*>(out);
    for (std::int64_t i = 0; i < count; ++i)
      if (good[static_cast<std::size_t>(i)] == 0) result[i] = value[i] >> 63;
  };
}

HostLoop loop_of(UnaryOperation operation, DType compute) {
  // ~false is true, which no integer arithmetic says.
  if (operation == UnaryOperation::bit_not && compute == DType::boolean) operation = UnaryOperation::logical_not;
  const auto& row = numerics::info(operation);
  const auto kernel = row.kernels.of(arithmetic_type(compute));
  check_defined(kernel != nullptr, row, compute);
  return [kernel](Inputs in, std::byte* out, std::int64_t count) { kernel(in[0], out, count); };
}

HostLoop loop_of(BinaryOperation operation, DType compute) {
  const DType arithmetic = arithmetic_type(compute);
  if (numerics::is_checked(operation, arithmetic)) return checked_loop(operation);
  const auto& row = numerics::info(operation);
  const auto kernel = row.kernels.of(arithmetic);
  check_defined(kernel != nullptr, row, compute);
  return [kernel](Inputs in, std::byte* out, std::int64_t count) { kernel(in[0], in[1], out, count); };
}

HostLoop loop_of(TernaryOperation operation, DType compute) {
  const auto kernel = numerics::info(operation).kernels.of(arithmetic_type(compute));
  return [kernel](Inputs in, std::byte* out, std::int64_t count) { kernel(in[0], in[1], in[2], out, count); };
}

HostLoop loop_of(const ComposedOperation& operation, DType compute) {
  return numerics::composed_kernel(operation, arithmetic_type(compute));
}

}  // namespace

HostLoop host_loop(const ElementwiseInfo& operation, DType compute) {
  return std::visit([&](auto kind) { return loop_of(kind, compute); }, operation.operation);
}

}  // namespace kernbench::tensor
