// Questions of a host program that it may ask again and again.
#pragma once

#include <span>

#include "runtime/context.h"

namespace kernbench::runtime {

/// Returns `reached`. Asking in vain costs the host time, so that a loop that asks comes to its end, and is a poll: a
/// loop that nothing can end any more is a LivelockError, which names `call`.
bool ask(const HostContext& context, bool reached, const char* call);

/// The worker reads values of a tensor. To do so over and over is to poll.
void note_read(HostContext& context, const tensor::DeviceStorage& storage, std::span<const tensor::DeviceBox> boxes,
               tensor::HostRead read);
/// The worker gives a device something to do: somebody may poll for what comes of it.
void note_work(HostContext& context);

}  // namespace kernbench::runtime
