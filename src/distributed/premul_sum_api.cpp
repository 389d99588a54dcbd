// premul_sum.h: products, then sums.
#include <fmt/format.h>

#include "base/text.h"
#include "distributed/agreement/agreement.h"
#include "distributed/argument_checks.h"
#include "distributed/collective.h"
#include "distributed/device_work.h"
#include "distributed/element_places.h"
#include "distributed/group.h"
#include "kernbench/error.h"
#include "kernbench/premul_sum.h"
#include "kernbench/torch.h"
#include "runtime/context.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

namespace {

void check_premul(const char* call, const Tensor& tensor, const PremulSum& op) {
  check_tensor(tensor, call);
  const DType dtype = tensor.scalar_type();
  if (dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64)
    throw ValueError(fmt::format("{}: PreMulSum Data type must be half, float, bfloat16 or double, and is {}", call,
                                 kernbench::name(dtype)));
  if (!op.tensor.defined()) return;
  if (op.tensor.scalar_type() != dtype)
    throw ValueError(fmt::format("{}: PreMulSum factor type must match input data type: {} and {}", call,
                                 kernbench::name(op.tensor.scalar_type()), kernbench::name(dtype)));
  if (op.tensor.device() != tensor.device())
    throw ValueError(fmt::format("{}: the factor of PreMulSum is on {}, and the tensor on {}; move one of them", call,
                                 op.tensor.device().str(), tensor.device().str()));
}

/// What the reduction checks before it begins: a call that throws must not have multiplied the tensor. Returns whether
/// the tensor lies where a new one would.
bool check_in_place(const char* call, const Tensor& tensor, const GroupHandle& handle) {
  auto& context = runtime::current_context(call);
  handle.group->check_usable(context, call);
  check_validator(call, handle, tensor, context);
  return lies_as_if_new(tensor, *tensor::launch_descriptor(tensor, fmt::format("{}: the tensor", call)));
}

/// Others that only add differ from those that add products.
Agreement sums_products(const char* call) {
  return {call, "PREMUL_SUM"};
}

Tensor product(const Tensor& tensor, const PremulSum& op) {
  return op.tensor.defined() ? tensor * op.tensor.reshape({1}) : tensor * op.factor;
}

}  // namespace

PremulSum _make_nccl_premul_sum(double factor) {
  return {factor, {}};
}

PremulSum _make_nccl_premul_sum(const Tensor& factor) {
  if (!factor.defined() || factor.numel() != 1)
    throw ValueError("_make_nccl_premul_sum: the factor must be a number or a tensor of one element");
  return {1, factor};
}

WorkRef all_reduce(const Tensor& tensor, const PremulSum& op, const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("all_reduce", where);
  const GroupHandle* handle = member_handle(group, "all_reduce");
  if (handle == nullptr) return no_work(where);
  check_premul("all_reduce", tensor, op);
  check_in_place("all_reduce", tensor, *handle);
  const Agreement sums = sums_products("all_reduce");
  Tensor(tensor).copy_(product(tensor, op));
  return all_reduce(tensor, ReduceOp::SUM, group, async_op, where);
}

WorkRef reduce(const Tensor& tensor, std::optional<int> dst, const PremulSum& op, const ProcessGroup& group,
               bool async_op, std::optional<int> group_dst, Where where) {
  const tensor::HostCall here("reduce", where);
  const GroupHandle* handle = member_handle(group, "reduce");
  if (handle == nullptr) return no_work(where);
  check_premul("reduce", tensor, op);
  const bool is_root = checked_root("reduce", *handle, dst, group_dst, "dst", /*needs_root=*/true) == handle->member;
  const bool is_as_new = check_in_place("reduce", tensor, *handle);
  const Agreement sums = sums_products("reduce");
  Tensor part = product(tensor, op);
  if (is_root && is_as_new) {
    Tensor(tensor).copy_(part);
    part = tensor;
  }
  WorkRef work = reduce(part, dst, ReduceOp::SUM, group, async_op, group_dst, where);
  if (is_root && !is_as_new) {  // the products of the others lie as new ones do
    if (work) work->wait(where);
    Tensor(tensor).copy_(part);
  }
  return work;
}

WorkRef reduce_scatter_tensor(const Tensor& output, const Tensor& input, const PremulSum& op, const ProcessGroup& group,
                              bool async_op, Where where) {
  const tensor::HostCall here("reduce_scatter_tensor", where);
  if (member_handle(group, "reduce_scatter_tensor") == nullptr) return no_work(where);
  check_premul("reduce_scatter_tensor", input, op);
  const Agreement sums = sums_products("reduce_scatter_tensor");
  return reduce_scatter_tensor(output, product(input, op), ReduceOp::SUM, group, async_op, where);
}

WorkRef reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list, const PremulSum& op,
                       const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("reduce_scatter", where);
  if (member_handle(group, "reduce_scatter") == nullptr) return no_work(where);
  std::vector<Tensor> products;
  for (const Tensor& each : input_list) {
    check_premul("reduce_scatter", each, op);
    products.push_back(product(each, op));
  }
  const Agreement sums = sums_products("reduce_scatter");
  return reduce_scatter(output, products, ReduceOp::SUM, group, async_op, where);
}

}  // namespace kernbench::torch::distributed
