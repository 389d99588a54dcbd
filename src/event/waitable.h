// What a fiber can wait for.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "event/phase.h"
#include "event/wait_graph.h"

namespace kernbench::event {

class Fiber;
class Scheduler;

/// Base of all things that fibers wait for. Waiters resume in the resume phase of the instant in which they are woken,
/// ordered by their own agent. Not copied, not moved; must outlive its waiters.
class Waitable : public WaitNode {
 public:
  Waitable() = default;
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;
  ~Waitable() override;

  /// Names this thing in a deadlock report; the function is called only then.
  void describe_as(std::function<std::string()> name) { describe_ = std::move(name); }
  /// Says who is expected to act: appended as edges of the wait graph. Called only for a report.
  void provided_by(std::function<void(std::vector<WaitEdge>&)> providers) { providers_ = std::move(providers); }

  std::string wait_name() const override;
  void waits_for(std::vector<WaitEdge>& edges) const override;
  const std::vector<Fiber*>& waiters() const { return waiters_; }

 protected:
  void block();           // suspends the calling fiber until wake_*; throws Cancelled; returns at once when unwinding
  void wake_one();        // the first waiter in arrival order
  void wake_all();

 private:
  friend class Fiber;
  friend class Scheduler;
  std::vector<Fiber*> waiters_;
  std::function<std::string()> describe_;
  std::function<void(std::vector<WaitEdge>&)> providers_;
};

/// A one-shot event: once set, every wait returns at once. Callbacks run at once, in order of registration, when set.
class Completion : public Waitable {
 public:
  bool is_set() const { return set_; }
  void set();
  void wait();

 private:
  bool set_ = false;
};

/// A counting semaphore; acquire takes `n` units, in arrival order (no overtaking).
class Semaphore : public Waitable {
 public:
  explicit Semaphore(std::int64_t initial = 0) : value_(initial) {}
  std::int64_t value() const { return value_; }
  void release(std::int64_t n = 1);
  void acquire(std::int64_t n = 1);
  bool try_acquire(std::int64_t n = 1);

 private:
  struct Request { Fiber* fiber; std::int64_t units; };
  std::int64_t value_;
  std::deque<Request> queue_;
};

/// An unbounded first-in first-out queue of messages; receive suspends while it is empty.
template <class T>
class Mailbox : public Waitable {
 public:
  void send(T message) {
    messages_.push_back(std::move(message));
    wake_one();
  }
  T receive() {
    while (messages_.empty()) block();
    T message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  std::optional<T> try_receive() {
    if (messages_.empty()) return std::nullopt;
    std::optional<T> message(std::move(messages_.front()));
    messages_.pop_front();
    return message;
  }
  std::size_t size() const { return messages_.size(); }

 private:
  std::deque<T> messages_;
};

/// A server that serves one job at a time in order of arrival: a fiber calls serve(duration) and resumes when done.
class FifoServer : public Waitable {
 public:
  /// Waits for the jobs before it, then for `service`; returns the time at which service began.
  Time serve(Time service);
  Time busy_until() const { return busy_until_; }

 private:
  Time busy_until_;
};

}  // namespace kernbench::event
