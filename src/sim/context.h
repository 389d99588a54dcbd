// One side of a fiber switch: where it goes on, and what has to travel with it.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/sanitizers.h"

#if KERNBENCH_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#if KERNBENCH_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace kernbench::sim {

/// The 16 bytes of __cxa_eh_globals: which exceptions are being handled, and how many are in flight. They belong to the
/// thread, and Boost.Context before 1.88 does not switch them: without this, two fibers that yield inside a handler
/// rethrow each other's exception.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
  unsigned int padding = 0;
};

/// The calling thread's exception state. Its address is constant in a thread, and must not be used in another.
ExceptionState* thread_exception_state();

/// A suspended (or the running) flow of control with its stack.
struct Context {
  void* resume_point = nullptr;  // the saved registers, on its stack; tools/gdb reads it
  ExceptionState exceptions;
  void (*entry)() = nullptr;
  Context* successor = nullptr;  // the context that this one last switched to
  const void* stack_bottom = nullptr;
  std::size_t stack_size = 0;
  void* fake_stack = nullptr;       // AddressSanitizer's
  void* sanitizer_fiber = nullptr;  // ThreadSanitizer's
};

/// Prepares `context` to run `entry` on the stack [bottom, bottom + size), whose first frame begins `offset` below the
/// top. `entry` must not return: it ends with leave().
void prepare(Context& context, void* bottom, std::size_t size, std::size_t offset, void (*entry)());

/// Makes `context` stand for the calling thread itself.
void adopt_thread(Context& context);

/// Tells the sanitizers that the stack is about to change. `keep` is where they store what belongs to the stack that is
/// left, or nullptr when it is left for ever. Always inline: ThreadSanitizer would note the call on the one stack and
/// the return on the other.
[[gnu::always_inline]] inline void announce_switch([[maybe_unused]] void** keep, [[maybe_unused]] const Context& to) {
#if KERNBENCH_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(keep, to.stack_bottom, to.stack_size);
#endif
#if KERNBENCH_THREAD_SANITIZER
  __tsan_switch_to_fiber(to.sanitizer_fiber, 0);
#endif
}

/// The other half, on the stack that was entered. Returns the context that was left.
[[gnu::always_inline]] inline Context& confirm_switch([[maybe_unused]] void* kept,
                                                      boost::context::detail::transfer_t transfer) {
  auto& from = *static_cast<Context*>(transfer.data);
  from.resume_point = transfer.fctx;
#if KERNBENCH_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(kept, &from.stack_bottom, &from.stack_size);
#endif
  return from;
}

/// Suspends `from`, which is running, and goes on with `to`; returns when something switches back to `from`.
/// Inline, with what calls it, because each return after a switch goes where the processor does not expect it: its
/// return-address predictor knows only the calls of the other stack.
[[gnu::always_inline]] inline void switch_context(Context& from, Context& to, ExceptionState* thread_state) {
  from.exceptions = std::exchange(*thread_state, to.exceptions);
  from.successor = &to;
  announce_switch(&from.fake_stack, to);
  confirm_switch(from.fake_stack, boost::context::detail::jump_fcontext(to.resume_point, &from));
}

/// Goes on with `to` for ever: `from`, which is running, is over.
[[noreturn]] void leave(Context& from, Context& to, ExceptionState* thread_state);

/// Gives back what the sanitizers keep for a context that is over; called on another one.
void release(Context& context);

}  // namespace kernbench::sim
