// Names a fiber that runs for too long in wall-clock time without yielding.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace kernbench::sim {

class Fiber;
class WatchedCalls;

/// A thread that looks from time to time whether the scheduler still switches. Lives as long as the object.
class Watchdog {
 public:
  /// Of the calling thread, on which it ends, too.
  Watchdog(double seconds, std::function<void(const std::string&)> on_stuck);
  ~Watchdog();

  /// The scheduler now runs `fiber`, or a callback (nullptr).
  void beat(const Fiber* fiber) {
    running_.store(fiber, std::memory_order_release);
    beats_.store(beats_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// `fiber` is about to end: on return the watchdog does not look at it any more.
  void forget_running();
  /// Whether something was stuck, whatever became of it.
  bool fired() const { return fired_.load(std::memory_order_acquire); }
  /// What was said then. Requires fired().
  const std::string& message() const { return message_; }

 private:
  void watch();
  std::string describe_stuck() const;

  const double seconds_;
  const std::function<void(const std::string&)> on_stuck_;
  const WatchedCalls& calls_;  // of the thread that is watched
  std::atomic<const Fiber*> running_ = nullptr;
  std::atomic<std::uint64_t> beats_ = 0;
  std::atomic<bool> fired_ = false;
  std::string message_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace kernbench::sim
