// Steps that the functions of tensors share: where the operands are, what the result is made as, and who computes it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/device_operations.h"
#include "tensor/functions/host_loops.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

/// Where a function computes. Host tensors of no dimensions go with any device.
struct ComputePlace {
  torch::Device device = torch::kCPU;
  DPPolicy policy;  // of the first device operand
  bool on_device() const { return device.is_ahbm(); }
};

/// ValueError when the operands are on different devices; ProgramError outside of a simulation.
ComputePlace place_of(const char* call, std::span<const DeviceOperand> operands);
ComputePlace place_of(const char* call, std::initializer_list<torch::Tensor> tensors);

/// The kernels of the device.
DeviceOperations& device_kernels(const char* call);

/// A dense result. ValueError when the device has no such type.
torch::Tensor new_result(const char* call, const ComputePlace& place, std::span<const std::int64_t> sizes, DType dtype);
/// The result of an elementwise function: on the host in the order of dimensions that the operands have in memory.
torch::Tensor new_elementwise_result(const char* call, const ComputePlace& place, std::span<const std::int64_t> sizes,
                                     DType dtype, std::span<const DeviceOperand> operands);

/// The shape that all operands broadcast to.
Extents broadcast_shape(const char* call, std::span<const DeviceOperand> operands);

/// What kernels get: tensors expanded to `sizes`, host tensors of no dimensions as numbers.
DeviceOperand device_operand(const DeviceOperand& operand, std::span<const std::int64_t> sizes);
/// The number in a host tensor of one element.
torch::Scalar host_number(const torch::Tensor& tensor);

/// ValueError unless `out` can be written in place with results of `shape` and type `type`.
void check_in_place(const char* call, const torch::Tensor& out, std::span<const std::int64_t> shape, DType type,
                    std::span<const DeviceOperand> operands);

/// `operand`, or a copy of it where writing `out` in place could change elements of it before they are read.
DeviceOperand apart(const torch::Tensor& out, const DeviceOperand& operand);

/// "[2, 3] Float on cpu" for messages.
std::string describe(const torch::Tensor& tensor);
/// ValueError: "add: …".
[[noreturn]] void fail(const char* call, const std::string& what);
/// A type that the function does not take, with what to do.
[[noreturn]] void fail_type(const char* call, DType type, const char* fix);
/// ValueError unless the tensor has a floating-point type.
void check_floats(const char* call, const torch::Tensor& x);
/// ValueError in PyTorch's words unless the tensors have one type.
void check_same_types(const char* call, const torch::Tensor& expected, const torch::Tensor& found);

}  // namespace kernbench::tensor
