// Ctrl-C, SIGTERM and SIGHUP: ask the run to stop, and stop the process if the run does not listen.
#pragma once

#include <atomic>

#include "cli/exit_code.h"

namespace kernbench::cli {

/// Installs the handler of SIGINT, SIGTERM and, unless it is ignored, SIGHUP, and returns the flag that it sets. A
/// second such signal, or five seconds in which a run has not ended, end the process with a message and the code of the
/// first. A signal that comes within 300 ms of the first is no second one: `timeout` and service managers signal a
/// process, and then its group.
const std::atomic<bool>& handle_interrupts();

/// Lives as long as a run. Once it is over the process has the time that it needs to write what was measured.
class InterruptibleRun {
 public:
  InterruptibleRun();
  ~InterruptibleRun();
  InterruptibleRun(const InterruptibleRun&) = delete;
  InterruptibleRun& operator=(const InterruptibleRun&) = delete;
};

/// The code of a process that a signal has stopped: `interrupted`, or `terminated` when the first was SIGTERM or
/// SIGHUP.
ExitCode exit_code_when_stopped();

}  // namespace kernbench::cli
