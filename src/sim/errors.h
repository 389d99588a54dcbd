// The errors of a simulation that cannot go on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "sim/wait_graph.h"

namespace kernbench::sim {

/// One line of a deadlock report: `name` waits for `target` because of `reason`.
struct DeadlockLine {
  std::string name;
  std::string reason;
  std::string target;  // empty: nobody in the simulation can do it
  bool in_cycle = false;
  std::optional<SlotNeed> slot = {};  // where a send waits for one
};

/// Fibers wait and nothing is left that could wake them.
class DeadlockError : public ProgramError {
 public:
  DeadlockError(const std::string& message, std::vector<DeadlockLine> lines,
                std::vector<std::vector<std::string>> cycles = {})
      : ProgramError("DeadlockError", message), lines_(std::move(lines)), cycles_(std::move(cycles)) {}
  const std::vector<DeadlockLine>& lines() const { return lines_; }
  /// One cycle through each group of names that wait for each other; each begins and ends with the same name.
  const std::vector<std::vector<std::string>>& cycles() const { return cycles_; }

 private:
  std::vector<DeadlockLine> lines_;
  std::vector<std::vector<std::string>> cycles_;
};

class LivelockError : public ProgramError {
 public:
  explicit LivelockError(const std::string& message) : ProgramError("LivelockError", message) {}
};

/// Simulated time passed --max-time, or would pass Time::limit().
class TimeLimitError : public ProgramError {
 public:
  explicit TimeLimitError(const std::string& message) : ProgramError("TimeLimitError", message) {}
};

/// Throws a TimeLimitError: the run would pass Time::limit(), and `what` says why.
[[noreturn]] void raise_too_long(const std::string& what);

/// Somebody outside asked the run to stop (Ctrl-C).
class InterruptedError : public Error {
 public:
  explicit InterruptedError(const std::string& message) : Error("Interrupted", message) {}
};

/// A fiber ran for too long in wall-clock time without yielding.
class WatchdogError : public ProgramError {
 public:
  explicit WatchdogError(const std::string& message) : ProgramError("WatchdogError", message) {}
};

/// A fiber used up its stack.
class StackOverflowError : public ProgramError {
 public:
  explicit StackOverflowError(const std::string& message) : ProgramError("StackOverflowError", message) {}
};

/// A cancelled fiber would not end: it swallowed Cancelled again and again, or waited for ever while it unwound.
class CancellationError : public ProgramError {
 public:
  explicit CancellationError(const std::string& message) : ProgramError("CancellationError", message) {}
};

}  // namespace kernbench::sim
