// Elementwise functions on tensors anywhere. All go through one call, `elementwise`: to the functions of another kind
// of tensors, or the rules of types and shapes, then host loops or device kernels.
#pragma once

#include "tensor/functions/dispatch.h"
#include "tensor/tensor_functions.h"

namespace kernbench::tensor {

torch::Tensor elementwise(const ElementwiseCall& call);

torch::Tensor binary(BinaryOperation operation, const DeviceOperand& a, const DeviceOperand& b);
/// Writes to `out`, the first operand.
void binary_in_place(BinaryOperation operation, const torch::Tensor& out, const DeviceOperand& b);
torch::Tensor unary(UnaryOperation operation, const torch::Tensor& x);
void unary_in_place(UnaryOperation operation, const torch::Tensor& out);
/// a * b + c; `call` names it in errors.
torch::Tensor multiply_add(const char* call, const DeviceOperand& a, const DeviceOperand& b, const DeviceOperand& c);
void multiply_add_in_place(const char* call, const torch::Tensor& out, const DeviceOperand& a, const DeviceOperand& b);
/// A function of floats that takes numbers of its own; `out`, if any, is its operand that it writes to.
torch::Tensor composed(const char* call, const ComposedOperation& operation, std::span<const DeviceOperand> operands,
                       const torch::Tensor* out = nullptr);
/// condition ? value : x, written to x.
void where_in_place(const char* call, const torch::Tensor& condition, const DeviceOperand& value,
                    const torch::Tensor& x);
torch::Tensor where(const torch::Tensor& condition, const DeviceOperand& a, const DeviceOperand& b);
torch::Tensor clamp(const torch::Tensor& x, const std::optional<DeviceOperand>& low,
                    const std::optional<DeviceOperand>& high);
void clamp_in_place(const torch::Tensor& out, const std::optional<DeviceOperand>& low,
                    const std::optional<DeviceOperand>& high);

}  // namespace kernbench::tensor
