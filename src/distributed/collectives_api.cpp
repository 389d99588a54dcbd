// all_reduce, broadcast, barrier, and the handles of operations under way.
#include <fmt/format.h>

#include <utility>

#include "distributed/algorithms/reduction.h"
#include "distributed/collective.h"
#include "distributed/device_work.h"
#include "distributed/transfer.h"
#include "kernbench/error.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"
#include "runtime/streams/polling.h"
#include "sim/fiber.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

Work::Work(std::shared_ptr<WorkState> state) : state_(std::move(state)) {}

namespace {

/// What every wait begins with.
void meet_others(runtime::HostContext& context, const WorkState& state) {
  throw_failure_of(state);
  if (state.group && state.group->has_conflict(state.sequence)) {
    state.group->wait_for_failure(context, "a collective of " + state.group->name(), state.sequence);
  }
  if (state.others_here) runtime::host_wait(context, [&] { state.others_here->wait(); });
  throw_failure_of(state);
}

void wait_for_end(runtime::HostContext& context, const WorkState& state) {
  runtime::host_wait(context, [&] { state.finished->wait(); });
  throw_failure_of(state);
}

}  // namespace

bool Work::wait(Where where) {
  const tensor::HostCall here("Work::wait", where);
  auto& context = runtime::current_context("Work::wait");
  meet_others(context, *state_);
  if (state_->host_waits) {
    wait_for_end(context, *state_);
  } else {
    order_current_stream_behind(*state_);
  }
  return true;
}

bool Work::is_completed(Where where) const {
  const tensor::HostCall here("Work::is_completed", where);
  constexpr const char* kCall = "Work::is_completed";
  return runtime::ask(runtime::current_context(kCall), state_->finished->is_set(), kCall);
}

void Work::synchronize(Where where) {
  const tensor::HostCall here("Work::synchronize", where);
  auto& context = runtime::current_context("Work::synchronize");
  meet_others(context, *state_);
  wait_for_end(context, *state_);
}

std::exception_ptr Work::exception() const {
  return state_->failure ? state_->failure->error : nullptr;
}

int Work::source_rank() const {
  return state_->transfer ? state_->transfer->sender() : -1;
}

double Work::get_duration(Where where) const {
  const tensor::HostCall here("Work::get_duration", where);
  throw_failure_of(*state_);
  if (!state_->finished->is_set()) {
    throw ProgramError("DistributedError",
                       "getDuration only works when the work has completed: wait for it on the host (synchronize)");
  }
  return static_cast<double>((state_->ended - state_->begun).count()) * 1e-9;
}

std::uint64_t Work::get_sequence_number() const {
  return state_->sequence;
}

namespace {

/// Like PyTorch: the current stream waits for a call that is not asynchronous, and the host does not.
WorkRef finish(std::shared_ptr<WorkState> state, bool async_op) {
  if (async_op) return std::make_shared<Work>(std::move(state));
  order_current_stream_behind(*state);
  return nullptr;
}

/// ValueError for a reduction that does not exist, or not for this type.
void check_reduction(ReduceOp op, DType dtype) {
  if (op > ReduceOp::PREMUL_SUM) {
    throw ValueError(
        fmt::format("all_reduce: Invalid ReduceOp: {}; the reductions are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and "
                    "BXOR",
                    static_cast<int>(op)));
  }
  if (can_reduce(op, dtype)) return;
  const char* const type = torch_name(dtype);
  if (op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR) {
    throw ValueError(
        fmt::format("all_reduce: Cannot use ReduceOp.{} with non-integral dtype: it combines bits, and the "
                    "tensor is of {}; reduce a tensor of integers or of Bool",
                    name(op), type));
  }
  if (op == ReduceOp::PREMUL_SUM) {
    throw ValueError("all_reduce: ReduceOp.PREMUL_SUM has no factor here; multiply the tensor, then use SUM");
  }
  throw ValueError(
      fmt::format("all_reduce: Cannot use ReduceOp.{} with a tensor of {}: {}", name(op), type,
                  op == ReduceOp::AVG && is_integer(dtype)
                      ? "an average of integers is none; use SUM, or convert the tensor to Float"
                      : "the devices have no such arithmetic; convert the tensor first, to Int or Half, say"));
}

}  // namespace

WorkRef all_reduce(const Tensor& tensor, ReduceOp op, const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("all_reduce", where);
  GroupHandle* handle = member_handle(group, "all_reduce");
  if (handle == nullptr) return nullptr;
  check_tensor(tensor, "all_reduce");
  check_reduction(op, tensor::impl_of(tensor).dtype);
  CollectiveCall call;
  call.name = "all_reduce";
  call.operation = CollectiveOperation::all_reduce;
  call.fingerprint.type = OpType::ALLREDUCE;
  call.fingerprint.reduce = op;
  call.tensor = tensor;
  call.arguments.reduction = op;
  return finish(issue(*handle, std::move(call), async_op), async_op);
}

WorkRef broadcast(const Tensor& tensor, int src, const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("broadcast", where);
  GroupHandle* handle = member_handle(group, "broadcast");
  if (handle == nullptr) return nullptr;
  check_tensor(tensor, "broadcast");
  const int root = handle->group->member(src);
  if (root < 0) {
    throw ValueError(fmt::format("broadcast: Global rank {} is not part of {}, whose ranks are {}", src,
                                 handle->group->name(), set_text(handle->group->ranks())));
  }
  CollectiveCall call;
  call.name = "broadcast";
  call.operation = CollectiveOperation::broadcast;
  call.fingerprint.type = OpType::BROADCAST;
  call.fingerprint.root = src;
  call.tensor = tensor;
  call.arguments.root = root;
  return finish(issue(*handle, std::move(call), async_op), async_op);
}

WorkRef barrier(const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("barrier", where);
  GroupHandle* handle = member_handle(group, "barrier");
  if (handle == nullptr) return nullptr;
  CollectiveCall call;
  call.name = "barrier";
  call.operation = CollectiveOperation::barrier;
  call.fingerprint.type = OpType::BARRIER;
  auto state = issue(*handle, std::move(call), async_op);
  state->host_waits = true;
  if (async_op) return std::make_shared<Work>(std::move(state));
  wait_for_end(runtime::current_context("barrier"), *state);
  return nullptr;
}

}  // namespace kernbench::torch::distributed
