#include "sim/context.h"

#include <cxxabi.h>

namespace kernbench::sim {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

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
#if KERNBENCH_THREAD_SANITIZER
  context.sanitizer_fiber = __tsan_create_fiber(0);
#endif
}

void adopt_thread([[maybe_unused]] Context& context) {
#if KERNBENCH_THREAD_SANITIZER
  context.sanitizer_fiber = __tsan_get_current_fiber();
#endif
}

void leave(Context& from, Context& to, ExceptionState* thread_state) {
  *thread_state = to.exceptions;
  from.successor = &to;
  announce_switch(nullptr, to);
  jump_fcontext(to.resume_point, &from);
  __builtin_unreachable();
}

void release([[maybe_unused]] Context& context) {
#if KERNBENCH_THREAD_SANITIZER
  __tsan_destroy_fiber(context.sanitizer_fiber);
  context.sanitizer_fiber = nullptr;
#endif
}

}  // namespace kernbench::sim
