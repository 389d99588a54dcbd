#include "cli/program_exit.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "sim/fiber.h"

namespace kernbench::cli {
namespace {

// Mutable and global because the handler of a process's exit can reach nothing else.
ExitWatch* current = nullptr;

}  // namespace

void leave_by(std::optional<int> status) {
  ExitWatch* watch = std::exchange(current, nullptr);
  if (watch == nullptr) return;
  const sim::Fiber* fiber = sim::this_fiber::current();
  watch->leave_(status, fiber == nullptr ? std::string() : fiber->name());
}

void handle_exits() {
  // Unlike atexit, this tells the status; there is no such thing for quick_exit.
  ::on_exit([](int status, void*) { leave_by(status); }, nullptr);
  std::at_quick_exit([] { leave_by(std::nullopt); });
}

ExitWatch::ExitWatch(Leave leave) : leave_(std::move(leave)), before_(std::exchange(current, this)) {}

ExitWatch::~ExitWatch() {
  current = before_;
}

}  // namespace kernbench::cli
