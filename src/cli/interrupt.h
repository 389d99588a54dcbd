// Ctrl-C and SIGTERM: ask the run to stop, and stop the process if the run does not listen.
#pragma once

#include <atomic>

#include "cli/exit_code.h"

namespace kernbench::cli {

/// Installs the handler of SIGINT and SIGTERM and returns the flag that it sets. A second such signal, or a second in
/// which the process has not ended, ends it with a message and the code of the first.
const std::atomic<bool>& handle_interrupts();

/// The code of a process that a signal has stopped: `interrupted`, or `terminated` when the first was SIGTERM.
ExitCode exit_code_when_stopped();

}  // namespace kernbench::cli
