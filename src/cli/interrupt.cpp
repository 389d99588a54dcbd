#include "cli/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace kernbench::cli {
namespace {

constexpr unsigned kGraceSeconds = 5;
constexpr std::int64_t kSameRequestMs = 300;

// Mutable and global because a signal handler can reach nothing else.
std::atomic<bool> stop_requested{false};
std::atomic<bool> is_terminated{false};
std::atomic<bool> is_writing{false};  // the run is over
std::atomic<std::int64_t> requested_at_ms{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

// Only functions that are safe in a signal handler from here on.
[[noreturn]] void leave(int) {
  const std::string_view message = is_terminated ? "\nkernbench: terminated\n" : "\nkernbench: interrupted\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(exit_code_when_stopped()));
}

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

void on_interrupt(int signal) {
  if (stop_requested) {
    if (now_ms() - requested_at_ms >= kSameRequestMs) leave(signal);
    return;
  }
  is_terminated = signal != SIGINT;
  requested_at_ms = now_ms();
  stop_requested = true;
  if (!is_writing) ::alarm(kGraceSeconds);
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
  // Of a terminal that is closed; nohup(1) has it ignored.
  struct sigaction before{};
  if (::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) install(SIGHUP, on_interrupt);
  return stop_requested;
}

InterruptibleRun::InterruptibleRun() {
  is_writing = false;
}

InterruptibleRun::~InterruptibleRun() {
  is_writing = true;
  ::alarm(0);
}

ExitCode exit_code_when_stopped() {
  return is_terminated ? ExitCode::terminated : ExitCode::interrupted;
}

}  // namespace kernbench::cli
