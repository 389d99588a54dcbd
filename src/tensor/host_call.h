// The call of the host API that a worker is in.
#pragma once

#include "kernbench/units.h"
#include "kernbench/where.h"

namespace kernbench::sim {
class Fiber;
}

namespace kernbench::tensor {

/// While it lives, the calling fiber is in the call `name` at line `where`: waits, launches, errors and the timeline
/// name both. Each function of the host API that starts work, waits or checks begins with one. Functions of the library
/// that call others do not count: the outermost is the user's. Outside of a simulation it does nothing.
class HostCall {
 public:
  HostCall(const char* name, const Where& where);
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

 private:
  [[maybe_unused]] sim::Fiber* fiber_ = nullptr;  // null: within another call, or outside of a simulation
  [[maybe_unused]] int exceptions_ = 0;           // in flight when it began
  Time start_;
};

}  // namespace kernbench::tensor
