// Checks of the arguments of collectives, in PyTorch's words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/group.h"
#include "kernbench/distributed.h"

namespace kernbench::distributed {

/// ValueError for a reduction that does not exist, or not for this type.
void check_reduction(const char* call, torch::distributed::ReduceOp op, DType dtype);

/// The place in the group of a root that is given as a global rank or as one of the group (neither: global rank 0).
/// ValueError for both, for neither with `needs_root`, and for one that is not there. `what`: "src" or "dst".
int checked_root(const char* call, const GroupHandle& handle, std::optional<int> rank, std::optional<int> group_rank,
                 const char* what, bool needs_root = false);

/// ValueError unless all are contiguous tensors on one device, of one type; with a rank that is a PE, on that PE.
void check_tensors(const char* call, const std::vector<torch::Tensor>& tensors, const runtime::HostContext& context);
/// ValueError unless group and tensor pass the check that the collectives file asks for (AlgorithmSpec::validator).
void check_validator(const char* call, const GroupHandle& handle, const torch::Tensor& tensor,
                     const runtime::HostContext& context);
/// ValueError unless there is one tensor for each rank.
void check_list(const char* call, const char* parameter, const std::vector<torch::Tensor>& list, int ranks);
/// ValueError unless all have so many elements.
void check_sizes(const char* call, const char* parameter, const std::vector<torch::Tensor>& list,
                 std::int64_t elements);
/// ValueError when they share elements.
void check_apart(const char* call, const torch::Tensor& output, const torch::Tensor& input);

}  // namespace kernbench::distributed
