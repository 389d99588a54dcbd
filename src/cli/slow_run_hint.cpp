#include "cli/slow_run_hint.h"

#include <fmt/format.h>

#include <utility>

#include "kernbench/error.h"
#include "topology/load.h"

namespace kernbench::cli {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::string alike_devices_hint(const SimulateOptions& options,
                               const std::function<bool(const topology::Topology& machine)>& suits) {
  if (options.alike_devices) return {};
  try {
    const topology::Topology machine = topology::load_topology(options.topology, options.overrides);
    const bool alike = machine.system.topology != topology::SystemTopology::mesh_2d && machine.overrides.empty();
    if (machine.system.sips < 2 || !alike || (suits && !suits(machine))) return {};
    return fmt::format("--alike-devices simulates one of the {} SIPs, where all do the same", machine.system.sips);
  } catch (const Error&) {
    return {};
  }
}

SlowRunHint::SlowRunHint(SimulateOptions& options, std::chrono::milliseconds after, Say say)
    : slow_at_(Clock::now() + after), say_(std::move(say)) {
  if (options.progress_due == nullptr) options.progress_due = &due_;
  options.on_progress = [this, shown = std::move(options.on_progress)](const RunProgress& progress) {
    if (shown) shown(progress);
    progress_ = progress;
    say_if_slow();
  };
  thread_ = std::thread([this, due = options.progress_due] { keep_time(*due); });
}

// A run that made plans until its end could not say it before.
SlowRunHint::~SlowRunHint() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
  say_if_slow();
}

void SlowRunHint::keep_time(std::atomic<bool>& due) {
  std::unique_lock lock(mutex_);
  if (stopped_.wait_until(lock, slow_at_, [this] { return stop_; })) return;
  due.store(true, std::memory_order_relaxed);
}

void SlowRunHint::say_if_slow() {
  if (said_ || Clock::now() < slow_at_) return;
  said_ = true;
  say_(progress_);
}

}  // namespace kernbench::cli
