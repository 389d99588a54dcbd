// reduce_scatter, all_gather, gather, scatter and all_to_all, in their forms of tensors and of lists.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "distributed/argument_checks.h"
#include "distributed/block_plan.h"
#include "distributed/collective.h"
#include "distributed/element_places.h"
#include "kernbench/error.h"
#include "runtime/simulation.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

namespace {

using Tensors = std::vector<Tensor>;

Tensors joined(Tensors list, const Tensor& tensor) {
  list.insert(list.begin(), tensor);
  return list;
}

/// A collective as the caller has put it, before it is given to the group.
struct BlockCall {
  const char* name;
  CollectiveOperation operation;
  OpType type;
  Tensor shown;    // whose shape and type ranks have in common
  Tensors result;  // what it writes
};

WorkRef run(const BlockCall& what, PlacedPlan plan, GroupHandle& handle, bool async_op,
            const std::function<void(CollectiveCall&)>& add) {
  const auto& view = tensor::impl_of(what.shown);
  CollectiveCall call;
  call.name = what.name;
  call.operation = what.operation;
  call.fingerprint.type = what.type;
  call.fingerprint.has_tensor = true;
  call.fingerprint.shape = view.sizes;
  call.fingerprint.dtype = view.dtype;
  call.fingerprint.placement = std::move(plan.placement);
  call.fingerprint.placement_hash = plan.placement_hash;
  call.blocks = std::move(plan.plan);
  add(call);
  return finish(issue(handle, std::move(call), async_op), async_op, what.result);
}

/// Whether both have the same elements.
bool are_one(const Tensor& block, const Tensor& other) {
  const auto &a = tensor::impl_of(block), &b = tensor::impl_of(other);
  return a.storage == b.storage && a.offset == b.offset;
}

/// Of blocks of one size.
std::int64_t bytes_of_all(const Tensors& blocks) {
  return static_cast<std::int64_t>(blocks.size() * blocks.front().nbytes());
}

WorkRef run_reduce_scatter(const BlockCall& what, const Tensor& output, const Tensors& blocks, const Tensor& placed_as,
                           ReduceOp op, GroupHandle& handle, bool async_op) {
  auto& context = runtime::current_context(what.name);
  check_reduction(what.name, op, tensor::impl_of(output).dtype);
  const bool in_place = are_one(blocks[static_cast<std::size_t>(handle.member)], output);
  for (const auto& block : blocks) {
    if (!in_place) check_apart(what.name, output, block);
  }
  return run(what, plan_reduce_scatter(output, blocks, in_place, placed_as, context), handle, async_op,
             [&](CollectiveCall& call) {
               call.fingerprint.reduce = op;
               call.arguments.reduction = op;
               call.block_bytes = bytes_of_all(blocks);
             });
}

WorkRef run_all_gather(const BlockCall& what, const Tensors& blocks, const Tensor& placed_as, const Tensor& input,
                       GroupHandle& handle, bool async_op) {
  auto& context = runtime::current_context(what.name);
  const bool in_place = are_one(blocks[static_cast<std::size_t>(handle.member)], input);
  for (const auto& block : blocks) {
    if (!in_place) check_apart(what.name, block, input);
  }
  return run(what, plan_all_gather(blocks, input, placed_as, context), handle, async_op,
             [&](CollectiveCall& call) { call.block_bytes = bytes_of_all(blocks); });
}

}  // namespace

WorkRef reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOpOrName op, const ProcessGroup& group,
                              bool async_op, Where where) {
  constexpr const char* kCall = "reduce_scatter_tensor";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_tensors(kCall, {output, input}, runtime::current_context(kCall));
  const int ranks = handle->group->size();
  if (input.numel() != output.numel() * ranks) {
    throw ValueError(
        fmt::format("{}: input tensor must be the same size as output size times world size: {} elements are not {} "
                    "times {}",
                    kCall, input.numel(), output.numel(), ranks));
  }
  return run_reduce_scatter({kCall, CollectiveOperation::reduce_scatter, OpType::REDUCE_SCATTER_BASE, input, {output}},
                            output, as_blocks(input, ranks), input, op, *handle, async_op);
}

WorkRef reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list, ReduceOpOrName op,
                       const ProcessGroup& group, bool async_op, Where where) {
  constexpr const char* kCall = "reduce_scatter";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_list(kCall, "input_list", input_list, handle->group->size());
  check_tensors(kCall, joined(input_list, output), runtime::current_context(kCall));
  check_sizes(kCall, "input_list", input_list, output.numel());
  return run_reduce_scatter({kCall, CollectiveOperation::reduce_scatter, OpType::REDUCE_SCATTER, output, {output}},
                            output, input_list, input_list.front(), op, *handle, async_op);
}

WorkRef all_gather_into_tensor(const Tensor& output_tensor, const Tensor& input_tensor, const ProcessGroup& group,
                               bool async_op, Where where) {
  constexpr const char* kCall = "all_gather_into_tensor";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_tensors(kCall, {output_tensor, input_tensor}, runtime::current_context(kCall));
  const int ranks = handle->group->size();
  if (output_tensor.numel() != input_tensor.numel() * ranks) {
    throw ValueError(
        fmt::format("{}: output tensor size must be equal to world_size times input tensor size: {} elements are not "
                    "{} times {}",
                    kCall, output_tensor.numel(), ranks, input_tensor.numel()));
  }
  return run_all_gather({kCall, CollectiveOperation::all_gather, OpType::ALLGATHER_BASE, input_tensor, {output_tensor}},
                        as_blocks(output_tensor, ranks), output_tensor, input_tensor, *handle, async_op);
}

WorkRef all_gather(const std::vector<Tensor>& tensor_list, const Tensor& tensor, const ProcessGroup& group,
                   bool async_op, Where where) {
  constexpr const char* kCall = "all_gather";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_list(kCall, "tensor_list", tensor_list, handle->group->size());
  check_tensors(kCall, joined(tensor_list, tensor), runtime::current_context(kCall));
  check_sizes(kCall, "tensor_list", tensor_list, tensor.numel());
  return run_all_gather({kCall, CollectiveOperation::all_gather, OpType::ALLGATHER, tensor, tensor_list}, tensor_list,
                        tensor_list.front(), tensor, *handle, async_op);
}

namespace {

/// The list of blocks at the root, and none elsewhere.
void check_root_list(const char* call, const char* parameter, const char* side, const Tensors& list,
                     const Tensor& tensor, bool is_root, int ranks, const runtime::HostContext& context) {
  if (!is_root && !list.empty()) {
    throw ValueError(fmt::format("{}: Argument ``{}`` must NOT be specified on non-{} ranks.", call, parameter, side));
  }
  if (is_root && list.empty()) {
    throw ValueError(fmt::format("{}: Argument ``{}`` must be specified on {} rank.", call, parameter, side));
  }
  if (is_root) check_list(call, parameter, list, ranks);
  check_tensors(call, joined(list, tensor), context);
  check_sizes(call, parameter, list, tensor.numel());
}

}  // namespace

WorkRef gather(const Tensor& tensor, const std::vector<Tensor>& gather_list, std::optional<int> dst,
               const ProcessGroup& group, bool async_op, std::optional<int> group_dst, Where where) {
  constexpr const char* kCall = "gather";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  auto& context = runtime::current_context(kCall);
  const int root = checked_root(kCall, *handle, dst, group_dst, "dst"), ranks = handle->group->size();
  check_root_list(kCall, "gather_list", "destination", gather_list, tensor, root == handle->member, ranks, context);
  return run({kCall, CollectiveOperation::gather, OpType::GATHER, tensor, gather_list},
             plan_gather(gather_list, tensor, ranks, context), *handle, async_op, [&](CollectiveCall& call) {
               call.fingerprint.root = handle->group->ranks()[static_cast<std::size_t>(root)];
               call.arguments.root = root;
             });
}

WorkRef scatter(const Tensor& tensor, const std::vector<Tensor>& scatter_list, std::optional<int> src,
                const ProcessGroup& group, bool async_op, std::optional<int> group_src, Where where) {
  constexpr const char* kCall = "scatter";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  auto& context = runtime::current_context(kCall);
  const int root = checked_root(kCall, *handle, src, group_src, "src"), ranks = handle->group->size();
  check_root_list(kCall, "scatter_list", "source", scatter_list, tensor, root == handle->member, ranks, context);
  return run({kCall, CollectiveOperation::scatter, OpType::SCATTER, tensor, {tensor}},
             plan_scatter(tensor, scatter_list, ranks, context), *handle, async_op, [&](CollectiveCall& call) {
               call.fingerprint.root = handle->group->ranks()[static_cast<std::size_t>(root)];
               call.arguments.root = root;
             });
}

namespace {

/// The parts of a tensor along its first dimension: equal ones, or of these sizes.
Tensors split(const Tensor& tensor, std::vector<std::int64_t> sizes, int ranks) {
  constexpr const char* kCall = "all_to_all_single";
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  if (sizes.empty()) {
    if (rows % ranks != 0) {
      throw ValueError(
          fmt::format("{}: Tensor's dim 0 does not divide equally across group size: {} rows for {} ranks; give the "
                      "split sizes",
                      kCall, rows, ranks));
    }
    sizes.assign(static_cast<std::size_t>(ranks), rows / ranks);
  }
  if (sizes.size() != static_cast<std::size_t>(ranks)) {
    throw ValueError(fmt::format("{}: Number of tensor splits not equal to group size: {} for {} ranks", kCall,
                                 sizes.size(), ranks));
  }
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) throw ValueError(fmt::format("{}: Split sizes must not be negative, got {}", kCall, size));
    sum += size;
  }
  if (sum != rows) {
    throw ValueError(
        fmt::format("{}: Split sizes doesn't match total dim 0 size: they are {}, it is {}", kCall, sum, rows));
  }
  const std::int64_t of_a_row = rows == 0 ? 0 : tensor.numel() / rows;
  const Tensor flat = tensor.view({tensor.numel()});
  Tensors blocks;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    blocks.push_back(flat.narrow(0, at, size * of_a_row));
    at += size * of_a_row;
  }
  return blocks;
}

bool have_one_size(const Tensors& outputs, const Tensors& inputs) {
  const auto is_like = [&](const Tensor& each) { return each.numel() == inputs.front().numel(); };
  return std::ranges::all_of(outputs, is_like) && std::ranges::all_of(inputs, is_like);
}

/// `may_differ`: by the form of the call. What one rank gives for itself does not tell what others exchange, so an
/// automatic choice goes by the form, which ranks then have in common.
WorkRef run_all_to_all(const BlockCall& what, const Tensors& outputs, const Tensors& inputs, const Tensor& placed_as,
                       bool may_differ, GroupHandle& handle, bool async_op) {
  for (const auto& output : outputs) {
    for (const auto& input : inputs) check_apart(what.name, output, input);
  }
  auto plan = plan_all_to_all(outputs, inputs, placed_as, runtime::current_context(what.name));
  return run(what, std::move(plan), handle, async_op, [&](CollectiveCall& call) {
    call.fingerprint.shape = {};  // ranks may differ in it
    for (const auto& each : inputs) call.fingerprint.sends.push_back(each.numel());
    for (const auto& each : outputs) call.fingerprint.receives.push_back(each.numel());
    call.names_algorithm = handle.group->algorithm().is_automatic(CollectiveOperation::all_to_all);
    call.equal_blocks = call.names_algorithm ? !may_differ : have_one_size(outputs, inputs);
    for (const auto& each : inputs) call.block_bytes += static_cast<std::int64_t>(each.nbytes());
  });
}

}  // namespace

WorkRef all_to_all_single(const Tensor& output, const Tensor& input,
                          const std::vector<std::int64_t>& output_split_sizes,
                          const std::vector<std::int64_t>& input_split_sizes, const ProcessGroup& group, bool async_op,
                          Where where) {
  constexpr const char* kCall = "all_to_all_single";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_tensors(kCall, {output, input}, runtime::current_context(kCall));
  const int ranks = handle->group->size();
  if (output_split_sizes.empty() && input_split_sizes.empty() && output.numel() != input.numel()) {
    throw ValueError(
        fmt::format("{}: output has {} elements and input has {}: without split sizes each rank gets as many "
                    "as it gives",
                    kCall, output.numel(), input.numel()));
  }
  return run_all_to_all({kCall, CollectiveOperation::all_to_all, OpType::ALLTOALL_BASE, output, {output}},
                        split(output, output_split_sizes, ranks), split(input, input_split_sizes, ranks), output,
                        !output_split_sizes.empty() || !input_split_sizes.empty(), *handle, async_op);
}

WorkRef all_to_all(const std::vector<Tensor>& output_tensor_list, const std::vector<Tensor>& input_tensor_list,
                   const ProcessGroup& group, bool async_op, Where where) {
  constexpr const char* kCall = "all_to_all";
  const tensor::HostCall here(kCall, where);
  GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_list(kCall, "output_tensor_list", output_tensor_list, handle->group->size());
  check_list(kCall, "input_tensor_list", input_tensor_list, handle->group->size());
  Tensors all = output_tensor_list;
  all.insert(all.end(), input_tensor_list.begin(), input_tensor_list.end());
  check_tensors(kCall, all, runtime::current_context(kCall));
  return run_all_to_all(
      {kCall, CollectiveOperation::all_to_all, OpType::ALLTOALL, output_tensor_list.front(), output_tensor_list},
      output_tensor_list, input_tensor_list, output_tensor_list.front(), true, *handle, async_op);
}

WorkRef _all_gather_base(const Tensor& output_tensor, const Tensor& input_tensor, const ProcessGroup& group,
                         bool async_op, Where where) {
  return all_gather_into_tensor(output_tensor, input_tensor, group, async_op, where);
}

WorkRef _reduce_scatter_base(const Tensor& output, const Tensor& input, ReduceOpOrName op, const ProcessGroup& group,
                             bool async_op, Where where) {
  return reduce_scatter_tensor(output, input, op, group, async_op, where);
}

}  // namespace kernbench::torch::distributed
