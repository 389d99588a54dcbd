// Turns a fault in a fiber's guard pages into the end of that fiber instead of the end of the process.
#pragma once

#include <csignal>
#include <cstddef>
#include <memory>

namespace kernbench::sim {

/// While it lives, the calling thread's SIGSEGV runs on a stack of its own, and one that is an overflow of the running
/// fiber's stack ends that fiber (FiberFate::stack_overflow). All others go to the handler that was there before. An
/// overflow within the C library, whose allocator has locks, ends the fiber when that call is over: the guard gives it
/// the room, and SIGTRAP, which is taken over likewise, tells when it returns.
class OverflowGuard {
 public:
  OverflowGuard();
  ~OverflowGuard();
  OverflowGuard(const OverflowGuard&) = delete;
  OverflowGuard& operator=(const OverflowGuard&) = delete;

 private:
  std::unique_ptr<std::byte[]> alternate_stack_;
  stack_t previous_stack_{};
};

}  // namespace kernbench::sim
