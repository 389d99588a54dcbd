// new_subgroups, and collectives of several tensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "distributed/agreement/agreement.h"
#include "distributed/argument_checks.h"
#include "distributed/collective.h"
#include "kernbench/accelerator.h"
#include "kernbench/error.h"
#include "kernbench/streams.h"
#include "kernbench/subgroups.h"
#include "runtime/simulation.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

Subgroups new_subgroups(std::optional<int> group_size, const ProcessGroup& group, const InitOptions& options,
                        Where where) {
  const tensor::HostCall here("new_subgroups", where);
  const std::vector<int> ranks = handle_of(group, "new_subgroups").group->ranks();
  const int size = group_size.value_or(torch::ahbm::device_count()), world = static_cast<int>(ranks.size());
  if (size <= 0) throw ValueError(fmt::format("new_subgroups: The arg 'group_size' ({}) must be positive", size));
  if (world < size) {
    throw ValueError(
        fmt::format("new_subgroups: The arg 'group_size' ({}) must not exceed the world size ({})", size, world));
  }
  if (world % size != 0) {
    throw ValueError(
        fmt::format("new_subgroups: The world size ({}) must be divisible by 'group_size={}'", world, size));
  }
  std::vector<std::vector<int>> lists;
  for (int first = 0; first < world; first += size)
    lists.emplace_back(ranks.begin() + first, ranks.begin() + first + size);
  return new_subgroups_by_enumeration(lists, options, where);
}

Subgroups new_subgroups_by_enumeration(const std::vector<std::vector<int>>& ranks_per_subgroup_list,
                                       const InitOptions& options, Where where) {
  constexpr const char* kCall = "new_subgroups_by_enumeration";
  const tensor::HostCall here(kCall, where);
  if (ranks_per_subgroup_list.empty())
    throw ValueError(fmt::format("{}: The arg 'ranks_per_subgroup_list' cannot be empty", kCall));
  std::map<int, const std::vector<int>*> subgroup_of;
  for (const auto& ranks : ranks_per_subgroup_list) {
    for (const int rank : ranks) {
      const auto [known, is_new] = subgroup_of.emplace(rank, &ranks);
      if (is_new) continue;
      throw ValueError(fmt::format("{}: Rank {} has appeared in both subgroup [{}] and [{}]", kCall, rank,
                                   fmt::join(*known->second, ", "), fmt::join(ranks, ", ")));
    }
  }
  Subgroups subgroups;
  for (const auto& ranks : ranks_per_subgroup_list) {
    const auto& made = subgroups.second.emplace_back(new_group(ranks, options, where));
    const bool mine = get_rank(made) >= 0;
    if (mine || subgroups.second.size() == 1) subgroups.first = made;
  }
  return subgroups;
}

namespace {

void check_types(const char* call, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw ValueError(fmt::format("{}: Expected a list of tensors, but it is empty", call));
  check_tensors(call, tensors, runtime::current_context(call));
}

/// Ranks whose lists have other lengths would wait for calls that do not come.
Agreement has_tensors(const char* call, std::size_t count) {
  return {call, fmt::format("{} of {} tensor{}", call, count, count == 1 ? "" : "s")};
}

}  // namespace

namespace {

/// The operations of a group on a rank end in their order, so the last Work stands for all.
WorkRef for_all(const WorkRef& last, const std::vector<Tensor>& results) {
  if (last) last->set_result(results);
  return last;
}

}  // namespace

WorkRef all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOpOrName op, const ProcessGroup& group,
                             bool async_op, Where where) {
  constexpr const char* kCall = "all_reduce_coalesced";
  const tensor::HostCall here(kCall, where);
  if (member_handle(group, kCall) == nullptr) return no_work(where);
  check_types(kCall, tensors);
  const Agreement length = has_tensors(kCall, tensors.size());
  WorkRef last;
  for (const Tensor& each : tensors) last = all_reduce(each, op, group, async_op, where);
  return for_all(last, tensors);
}

namespace {

/// Of a call with an output for each input: their types, and that there are as many.
void check_both(const char* call, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  check_types(call, inputs);
  if (outputs.size() != inputs.size())
    throw ValueError(
        fmt::format("{}: Expected as many outputs as inputs, found {} and {}", call, outputs.size(), inputs.size()));
}

}  // namespace

WorkRef all_gather_into_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                         const ProcessGroup& group, bool async_op, Where where) {
  constexpr const char* kCall = "all_gather_into_tensor_coalesced";
  const tensor::HostCall here(kCall, where);
  if (member_handle(group, kCall) == nullptr) return no_work(where);
  check_both(kCall, outputs, inputs);
  const Agreement length = has_tensors(kCall, inputs.size());
  WorkRef last;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    last = all_gather_into_tensor(outputs[i], inputs[i], group, async_op, where);
  return for_all(last, outputs);
}

WorkRef reduce_scatter_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        ReduceOpOrName op, const ProcessGroup& group, bool async_op, Where where) {
  constexpr const char* kCall = "reduce_scatter_tensor_coalesced";
  const tensor::HostCall here(kCall, where);
  if (member_handle(group, kCall) == nullptr) return no_work(where);
  check_both(kCall, outputs, inputs);
  const Agreement length = has_tensors(kCall, inputs.size());
  WorkRef last;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    last = reduce_scatter_tensor(outputs[i], inputs[i], op, group, async_op, where);
  return for_all(last, outputs);
}

WorkRef all_gather_coalesced(const std::vector<std::vector<Tensor>>& output_tensor_lists,
                             const std::vector<Tensor>& input_tensor_list, const ProcessGroup& group, bool async_op,
                             Where where) {
  constexpr const char* kCall = "all_gather_coalesced";
  const tensor::HostCall here(kCall, where);
  const GroupHandle* handle = member_handle(group, kCall);
  if (handle == nullptr) return no_work(where);
  check_types(kCall, input_tensor_list);
  if (output_tensor_lists.size() != static_cast<std::size_t>(handle->group->size())) {
    throw ValueError(
        fmt::format("{}: Incorrect output_tensor_lists size {}. The size should be {}, same as size of the "
                    "process group",
                    kCall, output_tensor_lists.size(), handle->group->size()));
  }
  for (std::size_t rank = 0; rank < output_tensor_lists.size(); ++rank) {
    if (output_tensor_lists[rank].size() == input_tensor_list.size()) continue;
    throw ValueError(fmt::format("{}: output_tensor_lists[{}] has {} tensors, and input_tensor_list {}", kCall, rank,
                                 output_tensor_lists[rank].size(), input_tensor_list.size()));
  }
  const Agreement length = has_tensors(kCall, input_tensor_list.size());
  WorkRef last;
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < input_tensor_list.size(); ++i) {
    std::vector<Tensor> outputs;
    for (const auto& of_rank : output_tensor_lists) outputs.push_back(of_rank[i]);
    last = all_gather(outputs, input_tensor_list[i], group, async_op, where);
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return for_all(last, all);
}

}  // namespace kernbench::torch::distributed
