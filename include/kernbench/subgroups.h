// Groups of groups, and collectives of several tensors at once, as torch.distributed has them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernbench/distributed.h"

namespace kernbench::torch::distributed {

/// The subgroup of the calling rank, and all of them. A rank that is in none gets one of which it is no member.
using Subgroups = std::pair<ProcessGroup, std::vector<ProcessGroup>>;

/// Cuts a group into subgroups of `group_size` ranks each (none given: the number of devices), in the order of its
/// ranks. Every rank of the default group calls it. ValueError for a size that is not positive, exceeds the group's or
/// does not divide it.
Subgroups new_subgroups(std::optional<int> group_size = {}, const ProcessGroup& group = {},
                        const InitOptions& options = {}, Where where = Where::current());
/// Subgroups of these ranks. ValueError for no subgroups, and for a rank that is in two.
Subgroups new_subgroups_by_enumeration(const std::vector<std::vector<int>>& ranks_per_subgroup_list,
                                       const InitOptions& options = {}, Where where = Where::current());

/// all_reduce of each of the tensors, which are of one type; the Work is done when all are.
WorkRef all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOpOrName op = ReduceOp::SUM,
                             const ProcessGroup& group = {}, bool async_op = false, Where where = Where::current());
/// output_tensor_lists[r][i] := input_tensor_list[i] of rank r, likewise.
WorkRef all_gather_coalesced(const std::vector<std::vector<Tensor>>& output_tensor_lists,
                             const std::vector<Tensor>& input_tensor_list, const ProcessGroup& group = {},
                             bool async_op = false, Where where = Where::current());

/// all_gather_into_tensor(outputs[i], inputs[i]) for each i, likewise.
WorkRef all_gather_into_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                         const ProcessGroup& group = {}, bool async_op = false,
                                         Where where = Where::current());
/// reduce_scatter_tensor(outputs[i], inputs[i], op) for each i, likewise.
WorkRef reduce_scatter_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        ReduceOpOrName op = ReduceOp::SUM, const ProcessGroup& group = {},
                                        bool async_op = false, Where where = Where::current());

}  // namespace kernbench::torch::distributed
