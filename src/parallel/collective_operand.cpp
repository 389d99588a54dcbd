#include "parallel/collective_operand.h"

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

/// Whether a kernel can take the tensor as it is.
bool is_operand(const Tensor& x) {
  try {
    return tensor::launch_descriptor(x, "the tensor") != nullptr;
  } catch (const ValueError&) {
    return false;
  }
}

}  // namespace

Tensor collective_operand(const Tensor& x, int parts) {
  Tensor dense = x.contiguous();
  if (dense.device().is_cpu() || is_operand(dense)) return dense;
  const auto& whole = tensor::impl_of(dense).storage->device->descriptor();
  if (whole->numel() == dense.numel() && whole->shape.front() % parts == 0) return dense.view(whole->shape);
  return torch::empty(dense.sizes(), dense.options()).copy_(dense);
}

}  // namespace kernbench::tp
