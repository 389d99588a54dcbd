// Many ranks in one program: torch.multiprocessing in C++. A rank is a host worker on a fiber of its own.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/units.h"
#include "kernbench/where.h"

namespace kernbench::distributed {
class Spawn;
}

namespace kernbench::torch::multiprocessing {

/// Ranks may spawn ranks, and those again others, to this depth.
inline constexpr int kMostNestedSpawns = 1'000;
/// How many ranks may be alive at once when a rank spawns others.
inline constexpr int kMostNestedRanks = 16'384;

struct SpawnOptions {
  /// Ranks 0 … nprocs - 1. 0 starts none; a negative number is a ValueError.
  int nprocs = 1;
  /// Wait for all ranks before spawn returns.
  bool join = true;
  /// The ranks are unwound when the worker that spawned them ends, and may not spawn others.
  bool daemon = false;
  /// Accepted for PyTorch's sake. Anything but "spawn" warns, and changes nothing.
  std::string start_method = "spawn";
};

/// One root cause: what a rank threw on its own, and not because it was unwound.
struct RankError {
  int rank = 0;
  Time time;  // simulated
  std::string type, message, where;
  std::exception_ptr error;  // null for an exit code
};

/// Why ranks came to a bad end. PyTorch's names; all are errors of the simulated program.
class ProcessException : public ProgramError {
 public:
  ProcessException(const std::string& type, const std::string& message, int index, std::int64_t process)
      : ProgramError(type, message), error_index(index), error_pid(process) {}
  int error_index;                // the rank of the first root cause
  std::int64_t error_pid;         // its process id (ProcessContext::pids)
  std::vector<RankError> errors;  // all root causes, by simulated time, then rank
  std::vector<int> victims;       // the ranks that were unwound because of them, ascending
};

/// A rank threw.
class ProcessRaisedException : public ProcessException {
 public:
  using ProcessException::ProcessException;
};

/// Ranks called exit() with a code that is not 0, and nobody threw: "process 1 terminated with exit code 3", a line for
/// each of them, by rank. `exit_code` is that of error_index.
class ProcessExitedException : public ProcessException {
 public:
  ProcessExitedException(const std::string& message, int index, std::int64_t process, int code)
      : ProcessException("ProcessExitedException", message, index, process), exit_code(code) {}
  int exit_code;
};

/// What join() throws when ranks threw. Causes in the same words are said once, with the set of their ranks.
class SpawnException : public ProcessRaisedException {
 public:
  SpawnException(const std::string& message, std::int64_t process, std::vector<RankError> causes,
                 std::vector<int> unwound)
      : ProcessRaisedException("SpawnException", message, causes.front().rank, process) {
    errors = std::move(causes);
    victims = std::move(unwound);
  }
};

/// The ranks of one spawn. Copies stand for the same ranks; dropping the last one stops nothing: whoever spawned them
/// joins them when it ends.
class ProcessContext {
 public:
  /// Waits until one more rank has ended, but no longer than `timeout` (seconds of simulated time), and returns whether
  /// all have. Throws SpawnException or ProcessExitedException when ranks have failed, each time it is called, once
  /// nothing of them is left. Asking in vain without time to wait costs host.launch_overhead.
  bool join(std::optional<double> timeout = std::nullopt, Where where = Where::current()) const;
  /// Numbers of the ranks among all of the simulation, by rank.
  std::vector<std::int64_t> pids() const;

  /// For the library's own use.
  explicit ProcessContext(std::shared_ptr<kernbench::distributed::Spawn> spawn);

 private:
  std::shared_ptr<kernbench::distributed::Spawn> spawn_;
};
using SpawnContext = ProcessContext;

namespace detail {

/// Starts the ranks and joins them if asked to.
ProcessContext start(std::function<void(int rank)> worker, const SpawnOptions& options, const Where& where);

template <class Function, class... Arguments>
std::function<void(int)> bind_worker(Function function, std::tuple<Arguments...> arguments) {
  static_assert((std::is_copy_constructible_v<Arguments> && ...),
                "torch::multiprocessing::spawn: each rank gets a copy of the arguments; one of them cannot be copied");
  static_assert(std::is_invocable_v<Function&, int, Arguments&...>,
                "torch::multiprocessing::spawn: the function cannot be called as function(rank, arguments...): the "
                "number or a type of the arguments does not fit");
  return [function = std::move(function), arguments = std::move(arguments)](int rank) {
    Function own = function;
    std::tuple<Arguments...> copies = arguments;
    std::apply([&](Arguments&... each) { own(rank, each...); }, copies);
  };
}

}  // namespace detail

/// Calls `function(rank, arguments...)` once for each rank, on a fiber with fresh state: device 0 and its default
/// stream, and a generator at the beginning of the sequence of the simulation's seed. Function and arguments are copied
/// for each rank, on its own fiber: what a copy throws is that rank's error. Apart from that ranks share the program's
/// memory, for they are no processes.
///
/// When a rank throws, the others are unwound at the end of that instant: their waits throw Cancelled. What the ranks
/// had given to the devices is taken back.
///
/// ProgramError outside of a simulation, inside a kernel, in a daemonic rank, and in a rank that is kMostNestedSpawns
/// spawns deep or would have more than kMostNestedRanks alive.
template <class Function, class... Arguments>
ProcessContext spawn(Function function, std::tuple<Arguments...> arguments = {}, const SpawnOptions& options = {},
                     Where where = Where::current()) {
  return detail::start(detail::bind_worker(std::move(function), std::move(arguments)), options, where);
}

/// The same under PyTorch's other name.
template <class Function, class... Arguments>
ProcessContext start_processes(Function function, std::tuple<Arguments...> arguments = {},
                               const SpawnOptions& options = {}, Where where = Where::current()) {
  return spawn(std::move(function), std::move(arguments), options, where);
}

/// Ends the calling rank, as sys.exit does: 0 is a normal end. Destructors run; it unwinds by an exception that is not
/// a std::exception. ProgramError outside of a rank.
[[noreturn]] void exit(int code);

}  // namespace kernbench::torch::multiprocessing
