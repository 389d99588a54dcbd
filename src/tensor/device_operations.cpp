#include "tensor/device_operations.h"

#include <fmt/format.h>

#include <string_view>

#include "kernbench/error.h"

namespace kernbench::tensor {

const char* name(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::sum:
      return "sum";
    case ReduceOperation::mean:
      return "mean";
    case ReduceOperation::product:
      return "prod";
    case ReduceOperation::maximum:
    case ReduceOperation::maximum_nan:
      return "amax";
    case ReduceOperation::minimum:
    case ReduceOperation::minimum_nan:
      return "amin";
    case ReduceOperation::logical_and:
      return "all";
    case ReduceOperation::logical_or:
      return "any";
    case ReduceOperation::argmax:
    case ReduceOperation::argmax_nan:
      return "argmax";
    case ReduceOperation::argmin:
    case ReduceOperation::argmin_nan:
      return "argmin";
  }
  return "?";
}

namespace {

[[noreturn]] void no_kernel(std::string_view operation, const torch::Tensor& out) {
  throw ValueError(fmt::format(
      "{}: there is no kernel for it on {}; launch a kernel of your own, or compute on the host with .cpu()", operation,
      out.device().str()));
}

}  // namespace

void DeviceOperations::elementwise(const ElementwiseInfo& operation, std::span<const DeviceOperand>, DType,
                                   const torch::Tensor& out) {
  no_kernel(operation.name, out);
}
bool DeviceOperations::copy(const torch::Tensor&, const torch::Tensor&) {
  return false;
}
bool DeviceOperations::ramp(const Ramp&, const torch::Tensor&) {
  return false;
}
void DeviceOperations::triangle(const torch::Tensor&, std::int64_t, bool upper, const torch::Tensor& out) {
  no_kernel(upper ? "triu" : "tril", out);
}
void DeviceOperations::reduce(ReduceOperation operation, const torch::Tensor&, std::span<const std::int64_t>, DType,
                              const torch::Tensor& out) {
  no_kernel(name(operation), out);
}
void DeviceOperations::variance(const torch::Tensor&, std::span<const std::int64_t>, std::int64_t,
                                const torch::Tensor& out) {
  no_kernel("var", out);
}
void DeviceOperations::norm(const torch::Tensor&, std::span<const std::int64_t>, double, const torch::Tensor& out) {
  no_kernel("norm", out);
}
void DeviceOperations::logsumexp(const torch::Tensor&, std::span<const std::int64_t>, const torch::Tensor& out) {
  no_kernel("logsumexp", out);
}
void DeviceOperations::arg_reduce(const ArgReduction& reduction, const torch::Tensor&, const torch::Tensor& out,
                                  const torch::Tensor&) {
  no_kernel(name(reduction.operation), out);
}
void DeviceOperations::top_k(const torch::Tensor&, std::int64_t, bool, const torch::Tensor& values,
                             const torch::Tensor&) {
  no_kernel("topk", values);
}
void DeviceOperations::sort(const torch::Tensor&, std::int64_t, bool, const torch::Tensor& values,
                            const torch::Tensor&) {
  no_kernel("sort", values);
}
void DeviceOperations::cumulative_sum(const torch::Tensor&, std::int64_t, const torch::Tensor& out) {
  no_kernel("cumsum", out);
}
void DeviceOperations::softmax(const torch::Tensor&, std::int64_t, bool logarithm, const torch::Tensor& out) {
  no_kernel(logarithm ? "log_softmax" : "softmax", out);
}
void DeviceOperations::normalize(const Norm& norm, const torch::Tensor& out) {
  no_kernel(norm.name().c_str(), out);
}
void DeviceOperations::normalize_backward(const NormBackward& norm) {
  no_kernel(norm.name().c_str(), norm.input);
}
void DeviceOperations::sgd(std::span<const SgdUpdate> updates) {
  no_kernel("sgd", updates.front().parameter);
}
void DeviceOperations::adam(std::span<const AdamUpdate> updates) {
  no_kernel("adam", updates.front().parameter);
}
void DeviceOperations::root_step(std::span<const RootUpdate> updates) {
  no_kernel(updates.front().name, updates.front().parameter);
}
void DeviceOperations::scale(std::span<const torch::Tensor> tensors, const torch::Tensor&, double) {
  no_kernel("scale", tensors.front());
}
void DeviceOperations::zero(std::span<const torch::Tensor> tensors) {
  no_kernel("zero", tensors.front());
}
void DeviceOperations::clamp(std::span<const torch::Tensor> tensors, double, double) {
  no_kernel("clamp", tensors.front());
}
bool DeviceOperations::total_norm(std::span<const torch::Tensor>, double, const torch::Tensor&) {
  return false;
}
void DeviceOperations::matmul(const torch::Tensor&, const torch::Tensor&, const MatmulOptions&,
                              const torch::Tensor& out) {
  no_kernel("matmul", out);
}
void DeviceOperations::attention(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&, double, bool,
                                 const torch::Tensor& out) {
  no_kernel("scaled_dot_product_attention", out);
}
void DeviceOperations::rotary(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&, const RotaryPairs&,
                              const torch::Tensor& out) {
  no_kernel("rotary_embedding", out);
}
void DeviceOperations::rotary_into_cache(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
                                         const RotaryPairs&, const torch::Tensor& cache) {
  no_kernel("rotary_embedding_into_cache_", cache);
}
void DeviceOperations::cat(std::span<const torch::Tensor>, std::int64_t, const torch::Tensor& out) {
  no_kernel("cat", out);
}
void DeviceOperations::index_select(const torch::Tensor&, std::int64_t, const torch::Tensor&, bool,
                                    const torch::Tensor& out) {
  no_kernel("index_select", out);
}
void DeviceOperations::embedding(const torch::Tensor&, const torch::Tensor&, const EmbeddingPart&,
                                 const torch::Tensor& out) {
  no_kernel("embedding", out);
}
void DeviceOperations::embedding_backward(const torch::Tensor&, const torch::Tensor&, const EmbeddingPart&,
                                          const torch::Tensor& out) {
  no_kernel("embedding_backward", out);
}
void DeviceOperations::gather(const torch::Tensor&, std::int64_t, const torch::Tensor&, const torch::Tensor& out) {
  no_kernel("gather", out);
}
bool DeviceOperations::random(const RandomNumbers&, const torch::Tensor&) {
  return false;
}
void DeviceOperations::dropout(const torch::Tensor&, const RandomNumbers&, double, const torch::Tensor& out) {
  no_kernel("dropout", out);
}

}  // namespace kernbench::tensor
