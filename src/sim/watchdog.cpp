#include "sim/watchdog.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "sim/fiber.h"
#include "sim/watched_call.h"

namespace kernbench::sim {

Watchdog::Watchdog(double seconds, std::function<void(const std::string&)> on_stuck)
    : seconds_(seconds),
      on_stuck_(std::move(on_stuck)),
      calls_(WatchedCalls::of_this_thread()),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void Watchdog::forget_running() {
  running_.store(nullptr, std::memory_order_release);
  // Whoever still reads the fiber's name holds this.
  const std::lock_guard lock(mutex_);
}

void Watchdog::watch() {
  using Seconds = std::chrono::duration<double>;
  using WallClock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  std::uint64_t last_beat = beats_.load(std::memory_order_relaxed);
  auto since = WallClock::now();
  while (!stopped_.wait_for(lock, Seconds(seconds_ / 4), [this] { return stop_; })) {
    const std::uint64_t beat = beats_.load(std::memory_order_relaxed);
    if (beat != last_beat) {
      last_beat = beat;
      since = WallClock::now();
    } else if (Seconds(WallClock::now() - since).count() >= seconds_) {
      message_ = describe_stuck();
      fired_.store(true, std::memory_order_release);
      lock.unlock();
      if (on_stuck_) on_stuck_(message_);
      return;
    }
  }
}

std::string Watchdog::describe_stuck() const {
  const Fiber* fiber = running_.load(std::memory_order_acquire);
  const std::string place = fiber != nullptr ? fiber->place() : std::string();
  const std::string call = calls_.text();
  const std::string who = !call.empty()      ? call
                          : fiber == nullptr ? "an event's callback"
                          : place.empty()    ? fmt::format("fiber '{}'", fiber->name())
                                             : fmt::format("fiber '{}' (last known at {})", fiber->name(), place);
  return fmt::format(
      "{} has run for more than {} s without waiting for anything in simulated time: it is in an endless loop, waits "
      "for something outside of the simulation, or needs a longer watchdog time",
      who, seconds_);
}

}  // namespace kernbench::sim
