// The task graph that computes tile values on host threads, behind the back of simulated time.
#pragma once

#include <compare>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>

#include "numerics/memory/source.h"

namespace kernbench::numerics {

/// The place of an operation in simulated order. This layer compares keys and does nothing else with them.
struct OperationKey {
  std::int64_t time = INT64_MAX;         // picoseconds
  std::uint64_t agent = UINT64_MAX;      // structural number of the agent
  std::uint64_t operation = UINT64_MAX;  // the agent's own operation number
  auto operator<=>(const OperationKey&) const = default;
};

/// One unit of work of the graph; opaque.
class Task;
/// A submitted task. Null stands for work that is already done.
using TaskHandle = std::shared_ptr<Task>;

/// When a task runs.
enum class When : std::uint8_t {
  soon,
  /// Not before somebody asks for it: force(), a task that depends on it, drain(). For what is large and may be looked
  /// at late, one at a time.
  asked,
};

/// Runs a graph of tasks on host threads.
///
/// One thread (the simulation's) submits, forces and drains. A task runs once after all of its dependencies, on any
/// thread; dependencies are always tasks submitted earlier, so every graph can be finished by running tasks in the
/// order of their submission. Results must not depend on which of the allowed orders was taken.
///
/// With one thread there are no workers: tasks run on the submitting thread when they are forced or when the backlog is
/// full. With n > 1 there are n - 1 blocked-when-idle workers, and the submitting thread helps when it waits.
///
/// Disabled (`--no-data`), no task is ever created: `submit` returns null and drops the work.
///
/// One that skips floating-point operations runs tasks as ever, but operations with floating-point results submit none:
/// such results are values without data (see Value::has_data), and so is whatever is made of them.
class Executor {
 public:
  /// `threads` >= 1 counts the submitting thread.
  Executor(int threads, bool enabled, bool skips_floating_point = false);
  /// Waits for the tasks that are running; those that have not started are dropped.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  bool enabled() const { return enabled_; }
  bool skips_floating_point() const { return skips_floating_point_; }
  int threads() const { return threads_; }
  /// What made the invalid lanes of this executor's values.
  SourceTable& sources() const;

  /// Adds a task. Null dependencies are ignored. `bytes` is about what the task's result and inputs keep alive until it
  /// has run. When too many tasks or bytes are outstanding the caller runs tasks before it returns (back-pressure).
  /// Duplicates among the dependencies are allowed.
  TaskHandle submit(const OperationKey& key, std::span<const TaskHandle> dependencies, std::function<void()> work,
                    std::int64_t bytes = 0, When when = When::soon);

  /// Returns when `task` has finished, running it and what it needs on this thread meanwhile. Rethrows the task's
  /// error, which for a task whose dependency failed is that dependency's error (the first by key).
  void force(const TaskHandle& task);
  /// Whether the task has finished (true for null); never blocks.
  static bool finished(const TaskHandle& task);

  /// Runs everything to the end. Throws nothing: see first_error.
  void drain();
  /// After drain: the error of the failed task with the smallest key, or null. Tasks that did not run because of a
  /// failed dependency do not count.
  std::exception_ptr first_error() const;
  /// The key of that task. REQUIRES: first_error() != nullptr.
  OperationKey first_error_key() const;

  /// Number of tasks ever created, for tests and reports.
  std::uint64_t submitted() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  int threads_;
  bool enabled_;
  bool skips_floating_point_;
};

}  // namespace kernbench::numerics
