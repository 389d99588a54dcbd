// Signals by which a process dies: a message says what happened, and the exit code whose fault it may be.
#pragma once

#include <string>

namespace kernbench::cli {

/// Installs handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, and of std::terminate. They write one message, and
/// end the process with code 3 when a user's file has been loaded, else with 4. (Under AddressSanitizer its own report
/// comes instead.)
void handle_crashes();

/// From now on code of the user's file `path` runs in this process.
void note_user_file(const std::string& path);

}  // namespace kernbench::cli
