#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <string_view>

#include "cli/exit_code.h"

namespace kernbench::cli {
namespace {

constexpr unsigned kGraceSeconds = 1;

// Mutable and global because a signal handler can reach nothing else.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// Only functions that are safe in a signal handler from here on.
[[noreturn]] void leave(int) {
  constexpr std::string_view kMessage = "\nkernbench: interrupted\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(static_cast<int>(ExitCode::interrupted));
}

void on_interrupt(int signal) {
  if (stop_requested.exchange(true)) leave(signal);
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
  return stop_requested;
}

}  // namespace kernbench::cli
