// Kernels of a process group in the streams of a device.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "distributed/agreement/fingerprint.h"
#include "distributed/channels/channel_use.h"
#include "distributed/work_order.h"
#include "distributed/work_state.h"
#include "kernbench/result.h"
#include "kernbench/tl.h"
#include "kernbench/torch/tensor.h"
#include "runtime/context.h"

namespace kernbench::distributed {

/// A tensor that a rank communicates.
struct Payload {
  torch::Tensor tensor = {};                                                   // undefined: none
  std::shared_ptr<const addressing::TensorDescriptor> shards = {}, flat = {};  // as it lies, and as collectives see it
  int device = 0;                                                              // of the tensor; without one the rank's
};
/// ValueError unless it is a defined tensor on a device; `call` names the operation.
void check_tensor(const torch::Tensor& tensor, const char* call);
/// ValueError for a view that kernels cannot take; `call` names the operation.
Payload payload_of(const torch::Tensor& tensor, const char* call, const runtime::HostContext& context);
/// Shape, type and placement; whatever PE it is that the calling rank has for itself.
void describe(const Payload& payload, const runtime::HostContext& context, CollectiveFingerprint& fingerprint);

/// What of the machine takes part in it for the calling rank: the tensor's device, or the rank's own PE. ValueError
/// when the tensor does not lie on that PE.
tensor::DevicePart part_of(const Payload& payload, const runtime::HostContext& context, const char* call);

struct DeviceWork {
  const char* call = "";    // of the API: "all_reduce"
  std::string kernel = {};  // name of the launch: "ring_allreduce"
  Payload payload = {};
  bool writes = true;                   // the tensor, rather than reading it
  std::optional<PlanResult> plan = {};  // for the launch's result
  /// Where it runs (nowhere: no launch), if not on the PEs that hold the payload.
  std::optional<std::vector<PeCoordinate>> pes = {};
  /// Of a kernel that takes no payload: the tensors that it writes and reads.
  std::vector<torch::Tensor> written = {}, read = {};
  bool synchronous = true;                   // the caller gets no Work, so that a failure is thrown by the call
  bool in_current_stream = false;            // rather than in one of the group's own
  runtime::CommandScopeRef scope = nullptr;  // of all that is enqueued; null: none
  /// Its turn on the channels; asked when the stream has come to it. Empty, or null: it needs none.
  std::function<std::shared_ptr<ChannelTurn>()> turn = {};
  std::function<bool()> turn_is_free = {};                 // whether nothing would be waited for; of a turn
  runtime::CompletionRef after = nullptr;                  // what the kernel has to wait for, if anything
  std::function<void()> begins = {};                       // called when its turn has come at the device. May be empty
  std::function<runtime::CompletionRef()> and_after = {};  // what it has to wait for then; asked when `after` is set
  /// More for the same stream, behind the kernel. May be empty.
  std::function<void()> then = {};
  /// The kernel: called on each PE that holds a part of the tensor; without a tensor on one PE, with null.
  std::function<void(const std::shared_ptr<tl::Tensor>& flat)> body = {};
  /// What is under way, for the deadlock report; see LaunchPlan::explain. May be empty.
  std::function<std::shared_ptr<const sim::WaitNode>(const std::shared_ptr<const sim::WaitNode>&)> explain = {};
};

/// Enqueues the kernel behind what the current stream has been given so far and what came before it in `order`: on the
/// current stream, or on the order's own, made if there is none. Costs the host the launch overhead.
std::shared_ptr<WorkState> enqueue(DeviceWork work, WorkOrder& order);

/// A further launch of the work that is being enqueued, for its `then`: on the same stream, behind the kernel.
void launch_too(runtime::HostContext& context, DeviceWork work);

/// Throws the failure of an operation to its caller, if there is one.
void throw_failure_of(const WorkState& work);

/// What is given to the current stream from now on begins when `work` has finished.
void order_current_stream_behind(WorkState& work);

}  // namespace kernbench::distributed
