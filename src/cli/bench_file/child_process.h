// Running another program and collecting what it says.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace kernbench::cli {

struct ChildResult {
  int error = 0;      // errno when the program could not be started; the rest is then empty
  int exit_code = 0;  // 128 + the signal that ended it
  bool stopped = false;
  std::string output;  // standard output and standard error together
};

/// Runs `command` (the first word is a path) to its end; what it says goes through the file `log`. When
/// `stop_requested` (may be null) is set meanwhile, the program and its children are ended.
ChildResult run_child(const std::vector<std::string>& command, const std::string& log,
                      const std::atomic<bool>* stop_requested);

}  // namespace kernbench::cli
