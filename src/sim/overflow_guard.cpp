#include "sim/overflow_guard.h"

#include <dlfcn.h>
#include <link.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "sim/scheduler_state.h"

namespace kernbench::sim {
namespace {

constexpr std::size_t kAlternateStackBytes = 64 * 1024;

/// The code of the C library, of the allocator where that is another library's, and of the dynamic linker. They have
/// locks: a call of theirs that is left halfway keeps them, and the next allocation waits without an end.
class LockingCode {
 public:
  LockingCode() { ::dl_iterate_phdr(&LockingCode::look_at, this); }
  bool contains(std::uintptr_t address) const {
    return std::any_of(ranges_.begin(), ranges_.begin() + count_,
                       [&](const Range& range) { return range.has(address); });
  }

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool has(std::uintptr_t address) const { return address >= begin && address < end; }
  };

  static std::uintptr_t address_of(const char* function) {
    return reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, function));
  }

  static int look_at(dl_phdr_info* library, std::size_t /*size*/, void* self) {
    auto& code = *static_cast<LockingCode*>(self);
    const std::string_view name = library->dlpi_name;
    bool has_locks = name.find("/ld-linux") != std::string_view::npos, is_own = false;
    for (int pass = 0; pass < 2; ++pass) {
      for (int i = 0; i < library->dlpi_phnum; ++i) {
        const auto& segment = library->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
        const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
        const Range range{begin, begin + segment.p_memsz};
        if (pass == 0) {
          for (const char* function : {"malloc", "fputs"}) has_locks = has_locks || range.has(address_of(function));
          is_own = is_own || range.has(reinterpret_cast<std::uintptr_t>(&LockingCode::look_at));
        } else if (has_locks && !is_own && code.count_ < code.ranges_.size()) {
          code.ranges_[code.count_++] = range;
        }
      }
    }
    return 0;
  }

  std::array<Range, 8> ranges_;
  std::size_t count_ = 0;
};

// The signals' disposition belongs to the process, so this is the one place with state that simulations on several
// threads share: the first of them installs the handlers, the last restores what was there.
struct Installation {
  std::mutex mutex;
  int users = 0;
  struct sigaction previous_fault{};
  struct sigaction previous_trap{};
  LockingCode locking_code;
};
Installation& installation() {
  static Installation instance;
  return instance;
}

// The running fiber has overflowed its stack in a call of LockingCode, which goes on to its end, step by step.
constinit thread_local bool call_goes_on = false;

// Runs on the emergency stack, as if the faulting instruction had called it.
[[noreturn]] void end_overflowed_fiber() {
  active_scheduler->abandon(FiberFate::stack_overflow);
}

#if defined(__x86_64__)
constexpr greg_t kTrapFlag = 0x100;  // of the processor's flags: a SIGTRAP after the next instruction

std::uintptr_t place_of(const ucontext_t& context) {
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}

void set_steps(ucontext_t& context, bool on) {
  greg_t& flags = context.uc_mcontext.gregs[REG_EFL];
  flags = on ? flags | kTrapFlag : flags & ~kTrapFlag;
}

// Makes the interrupted context go on in end_overflowed_fiber once the handler returns; false where that is not known.
bool redirect(ucontext_t& context, const Stack& stack) {
  auto* const top = stack.bottom + stack.size - 64;
  // A function is entered with its return address pushed on an aligned stack.
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>((reinterpret_cast<std::uintptr_t>(top) & ~15ull) - 8);
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&end_overflowed_fiber));
  return true;
}
#else
std::uintptr_t place_of(const ucontext_t& /*context*/) {
  return 0;
}
void set_steps(ucontext_t& /*context*/, bool /*on*/) {}
bool redirect(ucontext_t& /*context*/, const Stack& /*stack*/) {
  return false;
}
#endif

void call_previous(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // A faulting instruction faults again when this returns, and then as it would have without us; a trap does not.
    ::signal(signal, SIG_DFL);
    if (signal == SIGTRAP) ::raise(signal);
  }
}

/// Gives a call that has locks the room to come to its end; false for other code, and where there is no room.
bool let_call_end(ucontext_t& context, const Stack& stack, const void* address) {
  if (!installation().locking_code.contains(place_of(context)) || !stack.open_guard(address)) return false;
  call_goes_on = true;
  set_steps(context, true);
  return true;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Scheduler::State* scheduler = active_scheduler;
  // Once more while a call goes on: what it needs is more than the guard has, and what it holds it would keep.
  if (scheduler != nullptr && scheduler->running != nullptr && !call_goes_on) {
    const Stack& stack = scheduler->running->implementation().stack;
    auto& interrupted = *static_cast<ucontext_t*>(context);
    if (stack.guards(info->si_addr) &&
        (let_call_end(interrupted, stack, info->si_addr) || redirect(interrupted, scheduler->emergency_stack))) {
      return;
    }
  }
  call_previous(installation().previous_fault, signal, info, context);
}

void on_trap(int signal, siginfo_t* info, void* context) {
  if (!call_goes_on) return call_previous(installation().previous_trap, signal, info, context);
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (installation().locking_code.contains(place_of(interrupted))) return set_steps(interrupted, true);
  call_goes_on = false;
  set_steps(interrupted, false);
  redirect(interrupted, active_scheduler->emergency_stack);
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
  ::sigaction(SIGSEGV, &action, &shared.previous_fault);
  action.sa_sigaction = on_trap;
  ::sigaction(SIGTRAP, &action, &shared.previous_trap);
}

OverflowGuard::~OverflowGuard() {
  Installation& shared = installation();
  {
    const std::lock_guard lock(shared.mutex);
    if (--shared.users == 0) {
      ::sigaction(SIGSEGV, &shared.previous_fault, nullptr);
      ::sigaction(SIGTRAP, &shared.previous_trap, nullptr);
    }
  }
  ::sigaltstack(&previous_stack_, nullptr);
}

}  // namespace kernbench::sim
