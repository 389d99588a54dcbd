#include "distributed/argument_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_set.h"
#include "base/quantity.h"
#include "base/text.h"
#include "distributed/algorithms/reduction.h"
#include "distributed/device_work.h"
#include "distributed/flat_tensor.h"
#include "kernbench/error.h"
#include "runtime/functions/device_kernels.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {

using torch::distributed::ReduceOp;

void check_reduction(const char* call, ReduceOp op, DType dtype) {
  if (op > ReduceOp::PREMUL_SUM) {
    throw ValueError(
        fmt::format("{}: Invalid ReduceOp: {}; the reductions are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and BXOR",
                    call, static_cast<int>(op)));
  }
  if (can_reduce(op, dtype)) return;
  const char* const type = torch_name(dtype);
  if (op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR) {
    throw ValueError(
        fmt::format("{}: Cannot use ReduceOp.{} with non-integral dtype: it combines bits, and the "
                    "tensor is of {}; reduce a tensor of integers or of Bool",
                    call, name(op), type));
  }
  if (op == ReduceOp::PREMUL_SUM) {
    throw ValueError(fmt::format(
        "{}: ReduceOp.PREMUL_SUM has no factor here; pass _make_nccl_premul_sum(factor) (kernbench/premul_sum.h)",
        call));
  }
  throw ValueError(
      fmt::format("{}: Cannot use ReduceOp.{} with a tensor of {}: the devices have no such arithmetic; convert the "
                  "tensor first, to Int or Half, say",
                  call, name(op), type));
}

int checked_root(const char* call, const GroupHandle& handle, std::optional<int> rank, std::optional<int> group_rank,
                 const char* what, bool needs_root) {
  const Group& group = *handle.group;
  if (rank && group_rank) throw ValueError(fmt::format("{}: Can't specify both group_{} and {}", call, what, what));
  if (group_rank) {
    if (*group_rank >= 0 && *group_rank < group.size()) return *group_rank;
    throw ValueError(fmt::format("{}: Group rank {} is not part of {}, which has {} ranks", call, *group_rank,
                                 group.name(), group.size()));
  }
  if (!rank && needs_root) throw ValueError(fmt::format("{}: Must specify global_rank or group_rank", call));
  const int root = group.member(rank.value_or(0));
  if (root >= 0) return root;
  throw ValueError(fmt::format("{}: Global rank {} is not part of {}, whose ranks are {}", call, rank.value_or(0),
                               group.name(), set_text(group.ranks())));
}

void check_tensors(const char* call, const std::vector<torch::Tensor>& tensors, const runtime::HostContext& context) {
  for (const auto& tensor : tensors) check_tensor(tensor, call);
  const auto& first = tensor::impl_of(tensors.front());
  for (const auto& tensor : tensors) {
    const auto& view = tensor::impl_of(tensor);
    if (view.dtype != first.dtype) {
      throw ValueError(fmt::format("{}: Invalid usage of tensors with different dtypes. Found {} and {}", call,
                                   torch_name(first.dtype), torch_name(view.dtype)));
    }
    if (view.device.index() != first.device.index()) {
      throw ValueError(fmt::format("{}: All tensors of a collective must be on one device, found ahbm:{} and ahbm:{}",
                                   call, first.device.index(), view.device.index()));
    }
    if (!view.is_contiguous()) {
      throw ValueError(fmt::format("{}: Tensors must be contiguous; pass tensor.contiguous()", call));
    }
    if (!context.pe) continue;
    Payload payload;
    payload.flat = flat_tensor(*tensor::device_storage(tensor)->descriptor());
    payload.device = view.device.index();
    (void)part_of(payload, context, call);
  }
}

void check_validator(const char* call, const GroupHandle& handle, const torch::Tensor& tensor,
                     const runtime::HostContext& context) {
  const auto& validator = handle.group->algorithm().validator;
  if (!validator) return;
  // The only one that there is: multi_pe_sip_local.
  const std::size_t pes = runtime::holders({&tensor, 1}).size();
  if (!context.pe && pes > 1) return;
  throw ValueError(fmt::format(
      "{}: the collectives file asks for {}, each rank's tensor on several PEs of its own SIP; here {}", call,
      *validator, context.pe ? "a rank is a PE" : fmt::format("the tensor lies on {} PE{}", pes, pes == 1 ? "" : "s")));
}

void check_list(const char* call, const char* parameter, const std::vector<torch::Tensor>& list, int ranks) {
  if (list.size() == static_cast<std::size_t>(ranks)) return;
  throw ValueError(fmt::format("{}: Incorrect {} size {}. The size should be {}, same as size of the process group",
                               call, parameter, list.size(), ranks));
}

void check_sizes(const char* call, const char* parameter, const std::vector<torch::Tensor>& list,
                 std::int64_t elements) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].numel() == elements) continue;
    throw ValueError(fmt::format("{}: invalid tensor size at index {} of {} (expected {} elements, got {})", call, i,
                                 parameter, elements, list[i].numel()));
  }
}

void check_apart(const char* call, const torch::Tensor& output, const torch::Tensor& input) {
  const auto &to = tensor::impl_of(output), &from = tensor::impl_of(input);
  if (to.storage != from.storage || to.numel() == 0 || from.numel() == 0) return;
  if (to.offset >= from.offset + from.numel() || from.offset >= to.offset + to.numel()) return;
  throw ValueError(fmt::format("{}: output and input share elements; pass a tensor of their own", call));
}

}  // namespace kernbench::distributed

namespace kernbench::torch::distributed {

ReduceOp reduce_op(std::string_view name) {
  std::string capitals(name);
  for (char& c : capitals) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  for (auto op = ReduceOp::SUM; op < ReduceOp::PREMUL_SUM; op = static_cast<ReduceOp>(static_cast<int>(op) + 1)) {
    if (capitals == kernbench::distributed::name(op)) return op;
  }
  throw ValueError(fmt::format(
      "Invalid ReduceOp: {}; the reductions are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and BXOR", in_quotes(name)));
}

}  // namespace kernbench::torch::distributed
