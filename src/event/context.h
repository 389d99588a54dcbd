// One side of a fiber switch: where it goes on, and what has to travel with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernbench::event {

/// The 16 bytes of __cxa_eh_globals: which exceptions are being handled, and how many are in flight. They belong to the
/// thread, and Boost.Context before 1.88 does not switch them: without this, two fibers that yield inside a handler
/// rethrow each other's exception.
struct ExceptionState {
  void* caught = nullptr;
  std::uint64_t uncaught = 0;
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

/// Suspends `from`, which is running, and goes on with `to`; returns when something switches back to `from`.
void switch_context(Context& from, Context& to, ExceptionState* thread_state);

/// Goes on with `to` for ever: `from`, which is running, is over.
[[noreturn]] void leave(Context& from, Context& to, ExceptionState* thread_state);

/// Gives back what the sanitizers keep for a context that is over; called on another one.
void release(Context& context);

}  // namespace kernbench::event
