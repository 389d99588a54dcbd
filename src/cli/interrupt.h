// Ctrl-C: ask the run to stop, and stop the process if the run does not listen.
#pragma once

#include <atomic>

namespace kernbench::cli {

/// Installs the handler of SIGINT and returns the flag that it sets. A second SIGINT, or a second in which the process
/// has not ended, ends it with a message and code 130.
const std::atomic<bool>& handle_interrupts();

}  // namespace kernbench::cli
