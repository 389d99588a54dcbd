#include "distributed/device_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "distributed/element_places.h"
#include "distributed/flat_tensor.h"
#include "kernbench/error.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/host_wait.h"
#include "runtime/streams/capture.h"
#include "runtime/streams/launches.h"
#include "tensor/tensor_impl.h"

namespace kernbench::distributed {

using runtime::HostContext;

void check_tensor(const torch::Tensor& tensor, const char* call) {
  if (!tensor.defined()) {
    throw ValueError(
        fmt::format("{}: Invalid function argument. Expected parameter `tensor` to be of type "
                    "torch.Tensor, but it is undefined.",
                    call));
  }
  if (!tensor.device().is_ahbm()) {
    throw ValueError(
        fmt::format("{}: No backend type associated with device type cpu; move the tensor to the rank's "
                    "device with .to(\"ahbm\")",
                    call));
  }
}

Payload payload_of(const torch::Tensor& tensor, const char* call, const HostContext& context) {
  if (!tensor.defined()) return {{}, {}, {}, context.pe ? context.pe->sip.value : context.device};
  auto shards = tensor::launch_descriptor(tensor, fmt::format("{}: the tensor", call));
  auto flat = flat_tensor(*shards);
  return {tensor, std::move(shards), std::move(flat), tensor::impl_of(tensor).device.index()};
}

void describe(const Payload& payload, const HostContext& context, CollectiveFingerprint& fingerprint) {
  fingerprint.where = sim::this_fiber::current()->call().where;
  fingerprint.agreement = context.agreement;
  if (!payload.flat) return;
  const auto& view = tensor::impl_of(payload.tensor);
  fingerprint.has_tensor = true;
  fingerprint.shape = view.sizes;
  fingerprint.dtype = view.dtype;
  fingerprint.placement = placement_text(payload.tensor, context);
  fingerprint.placement_hash = element_places(*payload.shards, !context.pe);
}

tensor::DevicePart part_of(const Payload& payload, const HostContext& context, const char* call) {
  if (!context.pe) return SipId{payload.device};
  const auto is_elsewhere = [&](const addressing::Shard& shard) { return shard.owner != *context.pe; };
  if (payload.flat && std::ranges::any_of(payload.flat->shards, is_elsewhere)) {
    throw ValueError(fmt::format(
        "{}: the tensor lies on ahbm:{} ({}), but this rank is one PE, {}, because its world has more ranks "
        "than the machine has SIPs; tensors that it makes after init_process_group on ahbm:{} lie there",
        call, payload.device, shards_text(*payload.flat), to_text(*context.pe), context.pe->sip.value));
  }
  return *context.pe;
}

namespace {

/// Makes another stream of a device current while it lives.
class OnStream {
 public:
  OnStream(HostContext& context, int device, std::size_t stream)
      : context_(context), device_(device), before_(runtime::current_stream_index(context, device)) {
    context_.streams[device_] = stream;
  }
  ~OnStream() { context_.streams[device_] = before_; }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  HostContext& context_;
  int device_;
  std::size_t before_;
};

/// What is enqueued while it lives belongs to a scope.
class InScope {
 public:
  InScope(HostContext& context, runtime::CommandScopeRef scope)
      : context_(context), before_(std::exchange(context.scope, std::move(scope))) {}
  ~InScope() { context_.scope = std::move(before_); }
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;

 private:
  HostContext& context_;
  runtime::CommandScopeRef before_;
};

/// Notes the time at which the stream gets here.
runtime::CompletionRef mark(HostContext& context, runtime::Stream& stream, const std::string& name,
                            const std::shared_ptr<WorkState>& state, Time WorkState::* time) {
  auto& simulation = context.simulation;
  return stream.enqueue_marker(name, [&simulation, state, time] { (*state).*time = simulation.scheduler().now(); });
}

/// The turn of a launch, once it has been asked for.
struct AskedTurn {
  bool asked = false;
  std::shared_ptr<ChannelTurn> turn = {};  // null: it needs none
};

/// The launch waits for its turn on the channels unless it goes ahead, has them when it begins, and keeps the turn
/// until it is over.
void wait_for_turn(runtime::LaunchPlan& plan, const std::function<std::shared_ptr<ChannelTurn>()>& ask,
                   std::function<bool()> is_free) {
  if (!ask) return;
  const auto mine = std::make_shared<AskedTurn>();
  plan.turn_is_free = std::move(is_free);
  plan.turn = [mine, ask]() -> runtime::CompletionRef {
    if (mine->asked) return nullptr;
    *mine = {true, ask()};
    const auto pending = mine->turn ? mine->turn->arrive() : nullptr;
    return pending ? runtime::CompletionRef(mine->turn, pending.get()) : nullptr;  // who waits is in it
  };
  plan.late_queues = [mine, ask]() -> std::shared_ptr<runtime::QueueSet> {
    if (!mine->asked) {
      *mine = {true, ask()};
      if (mine->turn) mine->turn->go_ahead();
    }
    if (!mine->turn) return nullptr;
    return {mine->turn, mine->turn->take().get()};
  };
  plan.begins = [mine, begins = std::move(plan.begins)] {
    if (begins) begins();
    // The launch has it now, with its channels.
    if (const auto turn = std::exchange(mine->turn, nullptr)) turn->come();
  };
}

std::vector<PeCoordinate> holders(const addressing::TensorDescriptor& flat) {
  std::vector<PeCoordinate> pes;
  pes.reserve(flat.shards.size());
  for (const auto& shard : flat.shards) pes.push_back(shard.owner);
  std::ranges::sort(pes);
  pes.erase(std::unique(pes.begin(), pes.end()), pes.end());
  return pes;
}

void launch(HostContext& context, DeviceWork work) {
  runtime::LaunchPlan plan;
  plan.name = std::move(work.kernel);
  plan.plan = std::move(work.plan);
  plan.device = work.payload.device;
  plan.explain = std::move(work.explain);
  plan.begins = std::move(work.begins);
  wait_for_turn(plan, work.turn, std::move(work.turn_is_free));
  std::shared_ptr<tl::Tensor> tensor;
  if (work.payload.flat) {
    plan.pes = work.pes ? std::move(*work.pes) : holders(*work.payload.flat);
    if (plan.pes.empty()) return;  // no elements
    const auto storage = context.simulation.devices().own(tensor::device_storage(work.payload.tensor));
    (work.writes ? plan.written : plan.read) = {storage};
    tensor = std::make_shared<tl::Tensor>(std::move(work.payload.flat));
  } else if (work.pes) {
    plan.pes = std::move(*work.pes);
    if (plan.pes.empty()) return;
    const auto append = [&](const std::vector<torch::Tensor>& tensors, auto& storages) {
      for (const auto& each : tensors) {
        storages.push_back(context.simulation.devices().own(tensor::device_storage(each)));
      }
    };
    append(work.written, plan.written);
    append(work.read, plan.read);
  } else {
    plan.pes = {context.pe.value_or(PeCoordinate{SipId{plan.device}, CubeId{0}, PeId{0}})};
  }
  plan.body = [body = std::move(work.body), tensor = std::move(tensor)] { body(tensor); };
  runtime::enqueue_launch(context.simulation, std::move(plan));
}

/// Without a Work the launch overhead is a part of the call, which a failure ends.
void launch_in_call(HostContext& context, DeviceWork work) {
  if (work.synchronous) {
    runtime::host_wait(context, runtime::WaitFor::ranks, [&] { launch(context, std::move(work)); });
  } else {
    launch(context, std::move(work));
  }
}

}  // namespace

void launch_too(HostContext& context, DeviceWork work) {
  launch_in_call(context, std::move(work));
}

std::shared_ptr<WorkState> enqueue(DeviceWork work, WorkOrder& order) {
  auto& context = runtime::current_context(work.call);
  const InScope scope(context, std::move(work.scope));
  const int device = work.payload.device;
  const std::string name = work.kernel;
  std::size_t index = runtime::current_stream_index(context, device);
  if (!work.in_current_stream) {
    const auto before = runtime::current_stream(work.call, device).last();
    if (!order.own_stream) order.own_stream = runtime::add_stream(context, device);
    index = *order.own_stream;
    if (before) context.simulation.stream(device, index).enqueue_wait(before);
  }
  auto& stream = context.simulation.stream(device, index);
  if (order.last && order.last_stream != index && !order.last->is_set()) stream.enqueue_wait(order.last);
  if (work.after && !work.after->is_set()) stream.enqueue_wait(work.after);
  if (work.and_after) stream.enqueue_wait(std::move(work.and_after));
  auto state = std::make_shared<WorkState>();
  state->device = device;
  const bool in_current_stream = work.in_current_stream;
  mark(context, stream, "begin of " + name, state, &WorkState::begun);
  {
    const OnStream on(context, device, index);
    const auto then = std::move(work.then);
    launch_in_call(context, std::move(work));
    if (then) then();
  }
  state->finished = mark(context, stream, "end of " + name, state, &WorkState::ended);
  if (in_current_stream) state->waits.push_back({stream.weak_from_this(), state->finished});
  order.last_stream = index;
  order.last = state->finished;
  return state;
}

void throw_failure_of(const WorkState& work) {
  if (!work.failure) return;
  runtime::withdraw(runtime::current_context("a process group"), work.failure);
  work.failure->told = true;
  std::rethrow_exception(work.failure->error);
}

void order_current_stream_behind(WorkState& work) {
  runtime::refuse_while_capturing(runtime::current_context("wait"), "Work::wait",
                                  "the end of a communication cannot be replayed; wait before the capture");
  if (work.finished->is_set()) return;
  auto& stream = runtime::current_stream("wait", work.device);
  // No launch passes, whether or not it has been reached: what is behind may yet be dropped.
  work.waits.push_back({stream.weak_from_this(), stream.enqueue_wait([finished = work.finished] { return finished; })});
}

}  // namespace kernbench::distributed
