// Questions of a host program that it may ask again and again.
#pragma once

#include "runtime/context.h"

namespace kernbench::runtime {

/// Returns `reached`. Asking in vain costs the host time, so that a loop that asks comes to its end, and is a poll: a
/// loop that nothing can end any more is a LivelockError.
bool ask(const HostContext& context, bool reached);

}  // namespace kernbench::runtime
