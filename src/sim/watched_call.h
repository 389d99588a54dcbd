// A call of a user's code outside of fibers, so that the watchdog can name it when it never returns.
#pragma once

#include <mutex>
#include <string>

namespace kernbench::sim {

class WatchedCall {
 public:
  WatchedCall() = default;
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
  virtual ~WatchedCall() = default;
  /// Who runs: "the model "open_page" of sip0.cube0.pe0.hbm.channel0, asked at 2 us,". Called on the watchdog's thread.
  virtual std::string text() const = 0;
};

/// The watched call of one thread, which another thread may ask for.
class WatchedCalls {
 public:
  /// That of the calling thread.
  static WatchedCalls& of_this_thread();

  /// Returns the call that was there before; null: none.
  const WatchedCall* exchange(const WatchedCall* call);
  /// Empty without a call.
  std::string text() const;

 private:
  mutable std::mutex mutex_;  // a call does not end while its text is made
  const WatchedCall* call_ = nullptr;
};

/// While it lives, its thread is in `call`.
class WatchedScope {
 public:
  explicit WatchedScope(const WatchedCall& call) : before_(WatchedCalls::of_this_thread().exchange(&call)) {}
  WatchedScope(const WatchedScope&) = delete;
  WatchedScope& operator=(const WatchedScope&) = delete;
  ~WatchedScope() { WatchedCalls::of_this_thread().exchange(before_); }

 private:
  const WatchedCall* before_;
};

}  // namespace kernbench::sim
