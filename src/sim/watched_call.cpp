#include "sim/watched_call.h"

#include <utility>

namespace kernbench::sim {

WatchedCalls& WatchedCalls::of_this_thread() {
  static thread_local WatchedCalls calls;
  return calls;
}

const WatchedCall* WatchedCalls::exchange(const WatchedCall* call) {
  const std::lock_guard lock(mutex_);
  return std::exchange(call_, call);
}

std::string WatchedCalls::text() const {
  const std::lock_guard lock(mutex_);
  return call_ == nullptr ? std::string() : call_->text();
}

}  // namespace kernbench::sim
