#include "cli/crash.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <exception>
#include <string_view>

#include "base/sanitizers.h"
#include "cli/exit_code.h"
#include "sim/fiber.h"

namespace kernbench::cli {
namespace {

// Mutable and global because a signal handler can reach nothing else; never freed, so that it can be read at any time.
std::array<char, 256> user_file{};

// Only functions that are safe in a signal handler from here on.
void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void say_address(const void* address) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 2 + 2 * sizeof(address)> text{'0', 'x'};
  auto value = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = text.size(); i-- > 2; value >>= 4) text[i] = kDigits[value & 0xf];
  say({text.data(), text.size()});
}

[[noreturn]] void leave() {
  const sim::Fiber* fiber = sim::this_fiber::current();
  if (fiber != nullptr) {
    say("\n  on fiber ");
    say(fiber->name());
  }
  if (user_file[0] == '\0') {
    say("\nThis is a fault of KernBench, not of your program. Please report it with the command line and this "
        "message.\n");
    ::_exit(static_cast<int>(ExitCode::internal));
  }
  say("\n  while running ");
  say(user_file.data());
  say("; a debugger shows where: gdb -ex run --args kernbench run …\n");
  ::_exit(static_cast<int>(ExitCode::program));
}

std::string_view begin_message() {
  return user_file[0] == '\0' ? "\nkernbench: internal error: " : "\nkernbench: error: ";
}

std::string_view meaning_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "crashed (segmentation fault) at address ";
    case SIGBUS:
      return "crashed (bus error) at address ";
    case SIGFPE:
      return "crashed (integer division by zero, or the like) at ";
    case SIGILL:
      return "crashed (illegal instruction) at ";
    default:
      return "aborted (a failed assertion, or a call of abort)";
  }
}

[[maybe_unused]] [[noreturn]] void on_fatal_signal(int signal, siginfo_t* info, void*) {
  say(begin_message());
  say("the program ");
  say(meaning_of(signal));
  if (signal != SIGABRT) say_address(info->si_addr);
  leave();
}

[[noreturn]] void on_terminate() {
  say(begin_message());
  say("std::terminate was called: an exception left a function that is noexcept, a destructor, a thread or what makes "
      "a global variable");
  if (const std::exception_ptr exception = std::current_exception()) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& error) {
      say(": ");
      say(error.what());
    } catch (...) {
      say(": no std::exception");
    }
  }
  leave();
}

}  // namespace

void handle_crashes() {
  std::set_terminate(on_terminate);
#if !KERNBENCH_ADDRESS_SANITIZER
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action{};
    action.sa_sigaction = on_fatal_signal;
    // The default comes next, should the handler itself fault; on the overflow guard's stack where there is one.
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
#endif
}

void note_user_file(const std::string& path) {
  const std::size_t kept = std::min(path.size(), user_file.size() - 1);
  path.copy(user_file.data(), kept);
  user_file[kept] = '\0';
}

}  // namespace kernbench::cli
