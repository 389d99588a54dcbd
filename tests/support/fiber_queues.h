// What fibers of tests and benchmarks of the simulation core wait for: waitables as the layers above write them.
#pragma once

#include <cassert>
#include <concepts>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "sim/fiber_state.h"
#include "sim/scheduler_state.h"
#include "sim/waitable.h"

namespace kernbench::sim {

/// A counting semaphore; acquire takes `n` units, in arrival order (no overtaking).
class Semaphore : public Waitable {
 public:
  explicit Semaphore(std::int64_t initial = 0) : value_(initial) {}
  ~Semaphore() override;
  std::int64_t value() const { return value_; }
  /// Requires n >= 0.
  void release(std::int64_t n = 1);
  /// Requires n >= 0. On a cancelled fiber that unwinds it returns without the units when they are not there.
  void acquire(std::int64_t n = 1);
  /// Takes the units if they are there and nobody waits; returns whether it did.
  bool try_acquire(std::int64_t n = 1);

 protected:
  const char* missing() const override { return "a release"; }

 private:
  // Lies on the waiting fiber's stack.
  struct Request {
    Fiber* fiber;
    std::int64_t units;
    bool granted = false;
    bool orphaned = false;  // the semaphore is gone
  };
  void grant();
  void withdraw(const Request& request);
  std::int64_t value_;
  std::deque<Request*> queue_;
};

/// An unbounded first-in first-out queue of messages; receive suspends while it is empty. Receivers that find it empty
/// are woken in order of arrival; who comes in between may take a message first, and then the woken one waits on.
template <class T>
class Mailbox : public Waitable {
 public:
  void send(T message) {
    messages_.push_back(std::move(message));
    wake_one();
  }
  /// On a cancelled fiber that unwinds, and only there, returns T{} when there is no message.
  T receive()
    requires std::default_initializable<T>
  {
    const bool received = block_until([this] { return !messages_.empty(); });
    return received ? take() : T{};
  }
  std::optional<T> try_receive() {
    if (messages_.empty()) return std::nullopt;
    took_without_waiting();
    return std::optional<T>(take());
  }
  std::size_t size() const { return messages_.size(); }

 protected:
  const char* missing() const override { return "a message"; }

 private:
  T take() {
    T message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  std::deque<T> messages_;
};

inline Semaphore::~Semaphore() {
  for (Request* request : queue_) request->orphaned = true;
}

inline void Semaphore::release(std::int64_t n) {
  assert(n >= 0);
  value_ += n;
  grant();
}

inline bool Semaphore::try_acquire(std::int64_t n) {
  assert(n >= 0);
  if (!queue_.empty() || value_ < n) return false;
  value_ -= n;
  took_without_waiting();
  return true;
}

inline void Semaphore::acquire(std::int64_t n) {
  Fiber& fiber = require_fiber("Semaphore::acquire");
  if (try_acquire(n)) return;
  Fiber::Implementation& state = fiber.implementation();
  if (is_interrupted(state)) return;
  Request request{&fiber, n};
  queue_.push_back(&request);
  const auto give_up = [&] {
    if (!request.orphaned && !state.scheduler->unwinding) withdraw(request);
  };
  try {
    bool waited = true;
    // A wake-up without the grant is one that a cancelled waiter passed on.
    while (waited && !request.granted) waited = block();
    if (!waited) give_up();
  } catch (...) {
    give_up();
    throw;
  }
}

inline void Semaphore::withdraw(const Request& request) {
  if (request.granted) {
    value_ += request.units;
  } else {
    std::erase(queue_, &request);
  }
  // Without it, those behind may be served.
  grant();
}

inline void Semaphore::grant() {
  while (!queue_.empty() && queue_.front()->units <= value_) {
    Request& request = *queue_.front();
    queue_.pop_front();
    value_ -= request.units;
    request.granted = true;
    wake(*request.fiber);
  }
}

}  // namespace kernbench::sim
