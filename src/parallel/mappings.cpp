#include "kernbench/tp/mappings.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "kernbench/tp/primitives.h"
#include "parallel/begun.h"
#include "parallel/collective_operand.h"
#include "parallel/group_of.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

namespace dist = torch::distributed;
using torch::Tensor;

namespace {

constexpr std::int64_t kFirst = 0, kLast = -1;

void check_divisible(const Tensor& x, std::int64_t dimension, int parts, const char* call) {
  if (x.dim() == 0) throw ValueError(fmt::format("{}: the tensor is a scalar and has no dimension to divide", call));
  if (x.size(dimension) % parts == 0) return;
  throw ValueError(fmt::format("{}: {} dimension of the tensor ({}) should be divisible by tensor parallel size ({})",
                               call, dimension == kFirst ? "First" : "Last", x.size(dimension), parts));
}

std::vector<std::int64_t> with_first(const Tensor& x, std::int64_t first) {
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes.front() = first;
  return sizes;
}

Tensor reduced(const Tensor& x, const GroupOf& of) {
  return begin_reduce(x, of, /*async_op=*/false).wait();
}

Tensor own_part(const Tensor& x, std::int64_t dimension, const GroupOf& of, const char* call) {
  if (of.size == 1) return x;
  check_divisible(x, dimension, of.size, call);
  const std::int64_t length = x.size(dimension) / of.size;
  return x.narrow(dimension, of.rank * length, length).contiguous();
}

Tensor gathered_first(const Tensor& x, const GroupOf& of, const char* call) {
  if (of.size == 1) return x;
  check_divisible(x, kFirst, 1, call);
  const Tensor part = collective_operand(x, 1);
  const Tensor all = torch::empty(with_first(part, part.size(0) * of.size), x.options());
  dist::all_gather_into_tensor(all, part, of.group);
  return all.view(with_first(x, x.size(0) * of.size));
}

Tensor gathered_last(const Tensor& x, const GroupOf& of, const char* call) {
  if (of.size == 1) return x;
  return torch::cat(gathered_first(x, of, call).chunk(of.size, kFirst), x.dim() - 1);
}

Tensor reduce_scattered_first(const Tensor& x, const GroupOf& of, const char* call) {
  return begin_reduce_scatter(x, of, call, /*async_op=*/false).wait();
}

}  // namespace

Begun begin_reduce(const Tensor& x, const GroupOf& of, bool async_op) {
  if (of.size == 1) return {x, nullptr};
  const Tensor sum = collective_operand(x, 1);
  auto work = dist::all_reduce(sum, dist::ReduceOp::SUM, of.group, async_op);
  return {sum.view(x.sizes()), std::move(work)};
}

Begun begin_reduce_scatter(const Tensor& x, const GroupOf& of, const char* call, bool async_op) {
  if (of.size == 1) return {x, nullptr};
  check_divisible(x, kFirst, of.size, call);
  const Tensor whole = collective_operand(x, of.size);
  const Tensor part = torch::empty(with_first(whole, whole.size(0) / of.size), x.options());
  auto work = dist::reduce_scatter_tensor(part, whole, dist::ReduceOp::SUM, of.group, async_op);
  return {part.view(with_first(x, x.size(0) / of.size)), std::move(work)};
}

GroupOf::GroupOf(const ProcessGroup& given, const char* call)
    : group(given.state() ? given : get_tensor_model_parallel_group()) {
  try {
    size = dist::get_world_size(group);
    rank = dist::get_rank(group);
  } catch (const ValueError&) {
    if (!dist::is_initialized()) throw;
    throw ValueError(
        fmt::format("{}: its process group has been destroyed, as groups from before destroy_model_parallel are, or "
                    "belongs to another rank; make the layer anew, or give the call a group of now",
                    call));
  }
}

Tensor copy_to_tensor_model_parallel_region(const Tensor& x, const ProcessGroup& /*group*/, Where /*where*/) {
  return x;
}
Tensor copy_to_tensor_model_parallel_region_backward(const Tensor& grad, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "copy_to_tensor_model_parallel_region_backward";
  const tensor::HostCall here(kCall, where);
  return reduced(grad, GroupOf(group, kCall));
}

Tensor reduce_from_tensor_model_parallel_region(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "reduce_from_tensor_model_parallel_region";
  const tensor::HostCall here(kCall, where);
  return reduced(x, GroupOf(group, kCall));
}
Tensor reduce_from_tensor_model_parallel_region_backward(const Tensor& grad, const ProcessGroup& /*group*/,
                                                         Where /*where*/) {
  return grad;
}

Tensor scatter_to_tensor_model_parallel_region(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "scatter_to_tensor_model_parallel_region";
  const tensor::HostCall here(kCall, where);
  return own_part(x, kLast, GroupOf(group, kCall), kCall);
}
Tensor scatter_to_tensor_model_parallel_region_backward(const Tensor& grad, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "scatter_to_tensor_model_parallel_region_backward";
  const tensor::HostCall here(kCall, where);
  return gathered_last(grad, GroupOf(group, kCall), kCall);
}

Tensor gather_from_tensor_model_parallel_region(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "gather_from_tensor_model_parallel_region";
  const tensor::HostCall here(kCall, where);
  return gathered_last(x, GroupOf(group, kCall), kCall);
}
Tensor gather_from_tensor_model_parallel_region_backward(const Tensor& grad, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "gather_from_tensor_model_parallel_region_backward";
  const tensor::HostCall here(kCall, where);
  return own_part(grad, kLast, GroupOf(group, kCall), kCall);
}

Tensor scatter_to_sequence_parallel_region(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "scatter_to_sequence_parallel_region";
  const tensor::HostCall here(kCall, where);
  return own_part(x, kFirst, GroupOf(group, kCall), kCall);
}
Tensor scatter_to_sequence_parallel_region_backward(const Tensor& grad, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "scatter_to_sequence_parallel_region_backward";
  const tensor::HostCall here(kCall, where);
  return gathered_first(grad, GroupOf(group, kCall), kCall);
}

Tensor gather_from_sequence_parallel_region(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "gather_from_sequence_parallel_region";
  const tensor::HostCall here(kCall, where);
  return gathered_first(x, GroupOf(group, kCall), kCall);
}
Tensor gather_from_sequence_parallel_region_backward(const Tensor& grad, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "gather_from_sequence_parallel_region_backward";
  const tensor::HostCall here(kCall, where);
  return reduce_scattered_first(grad, GroupOf(group, kCall), kCall);
}

Tensor reduce_scatter_to_sequence_parallel_region(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "reduce_scatter_to_sequence_parallel_region";
  const tensor::HostCall here(kCall, where);
  return reduce_scattered_first(x, GroupOf(group, kCall), kCall);
}
Tensor reduce_scatter_to_sequence_parallel_region_backward(const Tensor& grad, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "reduce_scatter_to_sequence_parallel_region_backward";
  const tensor::HostCall here(kCall, where);
  return gathered_first(grad, GroupOf(group, kCall), kCall);
}

Tensor all_to_all(const Tensor& x, const ProcessGroup& group, Where where) {
  constexpr const char* kCall = "all_to_all";
  const tensor::HostCall here(kCall, where);
  const GroupOf of(group, kCall);
  if (of.size == 1) return x;
  check_divisible(x, kFirst, of.size, kCall);
  const Tensor output = torch::empty_like(x);
  dist::all_to_all_single(output, x.contiguous(), {}, {}, of.group);
  return output;
}

}  // namespace kernbench::tp
