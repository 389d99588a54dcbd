#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <string_view>

namespace kernbench::cli {
namespace {

constexpr unsigned kGraceSeconds = 1;

// Mutable and global because a signal handler can reach nothing else.
std::atomic<bool> stop_requested{false};
std::atomic<bool> by_sigterm{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// Only functions that are safe in a signal handler from here on.
[[noreturn]] void leave(int) {
  const std::string_view message = by_sigterm ? "\nkernbench: terminated\n" : "\nkernbench: interrupted\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(exit_code_when_stopped()));
}

void on_interrupt(int signal) {
  if (stop_requested) leave(signal);
  by_sigterm = signal == SIGTERM;
  stop_requested = true;
  ::alarm(kGraceSeconds);
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& handle_interrupts() {
  install(SIGALRM, leave);
  install(SIGINT, on_interrupt);
  install(SIGTERM, on_interrupt);
  return stop_requested;
}

ExitCode exit_code_when_stopped() {
  return by_sigterm ? ExitCode::terminated : ExitCode::interrupted;
}

}  // namespace kernbench::cli
