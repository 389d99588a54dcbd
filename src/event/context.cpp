#include "event/context.h"

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define KERNBENCH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KERNBENCH_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define KERNBENCH_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KERNBENCH_THREAD_SANITIZER 1
#endif
#endif

#ifdef KERNBENCH_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef KERNBENCH_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace kernbench::event {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Tells the sanitizers that the stack is about to change. `keep` is where they store what belongs to the stack that is
// left, or nullptr when it is left for ever.
inline void announce_switch([[maybe_unused]] void** keep, [[maybe_unused]] const Context& to) {
#ifdef KERNBENCH_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(keep, to.stack_bottom, to.stack_size);
#endif
#ifdef KERNBENCH_THREAD_SANITIZER
  __tsan_switch_to_fiber(to.sanitizer_fiber, 0);
#endif
}

// The other half, on the stack that was entered. Returns the context that was left.
inline Context& confirm_switch([[maybe_unused]] void* kept, transfer_t transfer) {
  auto& from = *static_cast<Context*>(transfer.data);
  from.resume_point = transfer.fctx;
#ifdef KERNBENCH_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(kept, &from.stack_bottom, &from.stack_size);
#endif
  return from;
}

void begin(transfer_t transfer) {
  confirm_switch(nullptr, transfer).successor->entry();
}

}  // namespace

[[gnu::noinline]] ExceptionState* thread_exception_state() {
  return reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

void prepare(Context& context, void* bottom, std::size_t size, std::size_t offset, void (*entry)()) {
  auto* const top = static_cast<std::byte*>(bottom) + size;
  context.resume_point = make_fcontext(top - offset, size - offset, begin);
  context.entry = entry;
  context.exceptions = {};
  context.stack_bottom = bottom;
  context.stack_size = size;
  context.fake_stack = nullptr;
#ifdef KERNBENCH_THREAD_SANITIZER
  context.sanitizer_fiber = __tsan_create_fiber(0);
#endif
}

void adopt_thread([[maybe_unused]] Context& context) {
#ifdef KERNBENCH_THREAD_SANITIZER
  context.sanitizer_fiber = __tsan_get_current_fiber();
#endif
}

void switch_context(Context& from, Context& to, ExceptionState* thread_state) {
  from.exceptions = std::exchange(*thread_state, to.exceptions);
  from.successor = &to;
  announce_switch(&from.fake_stack, to);
  confirm_switch(from.fake_stack, jump_fcontext(to.resume_point, &from));
}

void leave(Context& from, Context& to, ExceptionState* thread_state) {
  *thread_state = to.exceptions;
  from.successor = &to;
  announce_switch(nullptr, to);
  jump_fcontext(to.resume_point, &from);
  __builtin_unreachable();
}

void release([[maybe_unused]] Context& context) {
#ifdef KERNBENCH_THREAD_SANITIZER
  __tsan_destroy_fiber(context.sanitizer_fiber);
  context.sanitizer_fiber = nullptr;
#endif
}

}  // namespace kernbench::event
