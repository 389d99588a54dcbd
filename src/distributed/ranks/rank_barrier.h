// Points that several ranks must reach, and who is missing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/number_set.h"
#include "runtime/context.h"
#include "sim/fiber.h"
#include "sim/waitable.h"

namespace kernbench::distributed {

/// The workers behind the ranks of a default group.
class Roster {
 public:
  explicit Roster(int size) : workers_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(workers_.size()); }
  bool has(int rank) const { return at(rank).joined; }
  /// `device`: the one that is current in the worker.
  void join(int rank, sim::Fiber* fiber, int device) { at(rank) = {fiber, true, fiber->wait_name(), device}; }
  /// The device that was current when the rank joined; nothing unless each rank has joined with another one.
  std::optional<int> device_of(int rank) const;
  /// The worker's present host wait ends with the failure, or its next one (runtime/host_wait.h).
  void tell(int rank, const runtime::FailureRef& failure) const;
  /// The worker has left the default group, or is gone.
  void leave(int rank) { at(rank).fiber = nullptr; }
  bool has_left(int rank) const { return at(rank).joined && at(rank).fiber == nullptr; }

  /// The worker's: "rank 1", "rank 0.1" in a nested spawn.
  Name name(int rank) const;
  /// Appends what a wait for `rank` to call `what` waits for. `unmet` says it in the words of who waits, see WaitEdge;
  /// empty: that the rank has not called it.
  void append_edge(int rank, const Name& what, std::vector<sim::WaitEdge>& edges, Name unmet = {}) const;

 private:
  struct Worker {
    sim::Fiber* fiber = nullptr;
    bool joined = false;
    Name name = {};  // "rank 0.1" in a nested spawn
    int device = -1;
  };
  Worker& at(int rank) { return workers_[static_cast<std::size_t>(rank)]; }
  const Worker& at(int rank) const { return workers_[static_cast<std::size_t>(rank)]; }
  std::vector<Worker> workers_;
};

/// Suspends ranks until all of them have come.
class RankBarrier {
 public:
  /// `what` names the call in reports; `ranks` are global.
  RankBarrier(std::string what, std::shared_ptr<const Roster> roster, std::vector<int> ranks);
  /// The rank is here; the last one lets all go on.
  void arrive(int rank);
  bool has(int rank) const;
  bool complete() const { return reached_.is_set(); }
  std::vector<int> missing() const;
  void wait() { reached_.wait(); }
  sim::Completion& reached() { return reached_; }
  /// Lets all go on although ranks are missing.
  void give_up() { reached_.set(); }

 private:
  std::string what_;
  std::shared_ptr<const Roster> roster_;
  std::vector<int> ranks_;
  std::vector<bool> here_;  // by place in ranks_
  sim::Completion reached_;
};

}  // namespace kernbench::distributed
