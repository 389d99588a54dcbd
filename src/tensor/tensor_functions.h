// How a tensor of another kind than host and device tensors takes part in the functions of the host API.
#pragma once

#include <span>

#include "numerics/elementwise_table.h"
#include "tensor/device_operations.h"

namespace kernbench::tensor {

/// One call of an elementwise function, before its types and shapes are looked at.
struct ElementwiseCall {
  const ElementwiseInfo& operation;
  /// In the order of the operation's operands: tensors and numbers.
  std::span<const DeviceOperand> operands;
  /// The operand that the result is written to (`add_`), or null.
  const torch::Tensor* in_place = nullptr;
  const char* name = operation.name;  // in errors
};

/// The functions of a kind of tensors (TensorImpl::functions), as PyTorch's __torch_dispatch__: a call of which one is
/// an operand goes there instead of to host loops or device kernels. The first such operand decides.
class TensorFunctions {
 public:
  virtual ~TensorFunctions() = default;
  /// The result; of a call in place, its tensor. May call tensor::elementwise for tensors of other kinds.
  virtual torch::Tensor elementwise(const ElementwiseCall& call) = 0;
};

}  // namespace kernbench::tensor
