// all_reduce, broadcast, reduce, barrier, and the handles of operations under way.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "distributed/argument_checks.h"
#include "distributed/call_timer.h"
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

Work::Work(std::shared_ptr<WorkState> state, std::vector<Tensor> result)
    : state_(std::move(state)), result_(std::move(result)) {}

Work* WorkRef::operator->() const {
  if (Work* const work = get()) return work;
  if (no_member.line() == 0)
    throw ProgramError("AttributeError", "there is no Work: only a call with async_op returns one");
  throw ProgramError(
      "AttributeError",
      fmt::format("there is no Work: rank {} is not a member of the group of the call{}", rank, at_text(no_member)));
}

namespace {

/// What every wait begins with.
void meet_others(runtime::HostContext& context, const WorkState& state) {
  throw_failure_of(state);
  if (state.group && state.group->has_conflict(state.sequence)) {
    state.group->wait_for_failure(context, "a collective of " + state.group->name(), state.sequence);
  }
  if (state.others_here) runtime::host_wait(context, runtime::WaitFor::ranks, [&] { state.others_here->wait(); });
  throw_failure_of(state);
}

void wait_for_end(runtime::HostContext& context, const WorkState& state) {
  // A barrier is over when the last rank has come.
  const auto whom = state.host_waits ? runtime::WaitFor::ranks : runtime::WaitFor::device;
  runtime::host_wait(context, whom, [&] { state.finished->wait(); });
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

bool Work::wait(Time timeout, Where where) {
  const tensor::HostCall here("Work::wait", where);
  auto& context = runtime::current_context("Work::wait");
  if (timeout <= Time::zero()) throw ValueError("Work::wait: the timeout must be more than 0");
  throw_failure_of(*state_);
  const bool ended = wait_at_most(context, state_->finished, timeout, "Work::wait with a timeout");
  throw_failure_of(*state_);
  if (!ended) {
    throw ProgramError("DistributedError",
                       fmt::format("Operation timed out! It has not ended within {} of the wait", to_text(timeout)));
  }
  order_current_stream_behind(*state_);
  return true;
}

void Work::abort(Where where) {
  const tensor::HostCall here("Work::abort", where);
  if (!state_->group) {
    throw ProgramError("NotImplementedError",
                       "Work::abort not implemented for send and recv: they end when the other side has called");
  }
  state_->group->abort(ProgramError("DistributedError", fmt::format("operation {} of {} was aborted by Work::abort",
                                                                    state_->sequence, state_->group->name())));
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
  return state_->receives ? state_->transfer->sender() : -1;
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

WorkRef all_reduce(const Tensor& tensor, ReduceOpOrName op, const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("all_reduce", where);
  GroupHandle* handle = member_handle(group, "all_reduce");
  if (handle == nullptr) return no_work(where);
  check_tensor(tensor, "all_reduce");
  check_reduction("all_reduce", op, tensor::impl_of(tensor).dtype);
  check_validator("all_reduce", *handle, tensor, runtime::current_context("all_reduce"));
  CollectiveCall call;
  call.name = "all_reduce";
  call.operation = CollectiveOperation::all_reduce;
  call.fingerprint.type = OpType::ALLREDUCE;
  call.fingerprint.reduce = op;
  call.tensor = tensor;
  call.arguments.reduction = op;
  return finish(issue(*handle, std::move(call), async_op), async_op, {tensor});
}

WorkRef broadcast(const Tensor& tensor, std::optional<int> src, const ProcessGroup& group, bool async_op,
                  std::optional<int> group_src, Where where) {
  const tensor::HostCall here("broadcast", where);
  GroupHandle* handle = member_handle(group, "broadcast");
  if (handle == nullptr) return no_work(where);
  check_tensor(tensor, "broadcast");
  const int root = checked_root("broadcast", *handle, src, group_src, "src", /*needs_root=*/true);
  CollectiveCall call;
  call.name = "broadcast";
  call.operation = CollectiveOperation::broadcast;
  call.fingerprint.type = OpType::BROADCAST;
  call.fingerprint.root = handle->group->ranks()[static_cast<std::size_t>(root)];
  call.tensor = tensor;
  call.arguments.root = root;
  return finish(issue(*handle, std::move(call), async_op), async_op, {tensor});
}

WorkRef reduce(const Tensor& tensor, std::optional<int> dst, ReduceOpOrName op, const ProcessGroup& group,
               bool async_op, std::optional<int> group_dst, Where where) {
  const tensor::HostCall here("reduce", where);
  GroupHandle* handle = member_handle(group, "reduce");
  if (handle == nullptr) return no_work(where);
  check_tensor(tensor, "reduce");
  check_reduction("reduce", op, tensor::impl_of(tensor).dtype);
  const int root = checked_root("reduce", *handle, dst, group_dst, "dst", /*needs_root=*/true);
  CollectiveCall call;
  call.name = "reduce";
  call.operation = CollectiveOperation::reduce;
  call.fingerprint.type = OpType::REDUCE;
  call.fingerprint.reduce = op;
  call.fingerprint.root = handle->group->ranks()[static_cast<std::size_t>(root)];
  call.tensor = tensor;
  call.writes = handle->member == root;
  call.arguments.reduction = op;
  call.arguments.root = root;
  return finish(issue(*handle, std::move(call), async_op), async_op, {tensor});
}

WorkRef barrier(const ProcessGroup& group, bool async_op, Where where) {
  const tensor::HostCall here("barrier", where);
  GroupHandle* handle = member_handle(group, "barrier");
  if (handle == nullptr) return no_work(where);
  CollectiveCall call;
  call.name = "barrier";
  call.operation = CollectiveOperation::barrier;
  call.fingerprint.type = OpType::BARRIER;
  auto state = issue(*handle, std::move(call), async_op);
  state->host_waits = true;
  if (async_op) return finish(std::move(state), async_op, {});
  wait_for_end(runtime::current_context("barrier"), *state);
  return nullptr;
}

}  // namespace kernbench::torch::distributed
