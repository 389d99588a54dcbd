// PyTorch's type promotion: kind first, and tensors of dimensions before those of none before plain numbers.
#pragma once

#include <span>
#include <string>

#include "kernbench/dtype.h"
#include "kernbench/torch/types.h"
#include "tensor/device_operations.h"

namespace kernbench::tensor {

/// The smallest type that holds both kinds and, among floating-point types, both ranges. An unsigned and a signed 8-bit
/// type give i32 (PyTorch: Short, which there is not here). ValueError for an 8-bit float and another type: PyTorch has
/// no rule for them, so one of the operands needs a cast.
DType promoted(DType a, DType b);
/// The type of an operation on all operands.
DType result_type(std::span<const DeviceOperand> operands);
/// Whether a result of type `from` may be written in place to a tensor of type `to`: not to a lower kind.
bool can_cast(DType from, DType to);

/// True for integers of any width and, when asked, for bool.
bool is_integral(DType type, bool or_bool);
/// `type`, or Float in place of an integer or a bool: what functions such as sqrt and true division yield.
DType floating_result(DType type);
/// `type`, or Float in place of a narrower floating-point one: in what steps are computed that follow each other, so
/// that none of them is rounded to fewer bits or overflows.
DType wide_type(DType type);
/// "Float": the name in messages.
std::string text_of(DType type);

}  // namespace kernbench::tensor
