#include "sim/overflow_guard.h"

#include <ucontext.h>

#include <cstdint>
#include <mutex>

#include "sim/scheduler_state.h"

namespace kernbench::sim {
namespace {

constexpr std::size_t kAlternateStackBytes = 64 * 1024;

// The signal's disposition belongs to the process, so this is the one place with state that simulations on several
// threads share: the first of them installs the handler, the last restores what was there.
struct Installation {
  std::mutex mutex;
  int users = 0;
  struct sigaction previous{};
};
Installation& installation() {
  static Installation instance;
  return instance;
}

// Runs on the emergency stack, as if the faulting instruction had called it.
[[noreturn]] void end_overflowed_fiber() {
  active_scheduler->abandon(FiberFate::stack_overflow);
}

// Makes the interrupted context go on in end_overflowed_fiber once the handler returns; false where that is not known.
bool redirect([[maybe_unused]] ucontext_t& context, [[maybe_unused]] const Stack& stack) {
#if defined(__x86_64__)
  auto* const top = stack.bottom + stack.size - 64;
  // A function is entered with its return address pushed on an aligned stack.
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>((reinterpret_cast<std::uintptr_t>(top) & ~15ull) - 8);
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&end_overflowed_fiber));
  return true;
#else
  return false;
#endif
}

void call_previous(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = installation().previous;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // The instruction faults again when this returns, and then as it would have without us.
    ::signal(signal, SIG_DFL);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Scheduler::State* scheduler = active_scheduler;
  if (scheduler != nullptr && scheduler->running != nullptr &&
      scheduler->running->implementation().stack.guards(info->si_addr) &&
      redirect(*static_cast<ucontext_t*>(context), scheduler->emergency_stack)) {
    return;
  }
  call_previous(signal, info, context);
}

}  // namespace

OverflowGuard::OverflowGuard() : alternate_stack_(std::make_unique_for_overwrite<std::byte[]>(kAlternateStackBytes)) {
  stack_t stack{};
  stack.ss_sp = alternate_stack_.get();
  stack.ss_size = kAlternateStackBytes;
  ::sigaltstack(&stack, &previous_stack_);

  Installation& shared = installation();
  const std::lock_guard lock(shared.mutex);
  if (shared.users++ > 0) return;
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, &shared.previous);
}

OverflowGuard::~OverflowGuard() {
  Installation& shared = installation();
  {
    const std::lock_guard lock(shared.mutex);
    if (--shared.users == 0) ::sigaction(SIGSEGV, &shared.previous, nullptr);
  }
  ::sigaltstack(&previous_stack_, nullptr);
}

}  // namespace kernbench::sim
