// What `kernbench sweep` shows and writes.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/sweep/axes.h"
#include "report/result.h"

namespace kernbench::cli::sweep {

/// A combination that was run.
struct Run {
  Point point;
  report::RunResult result;
  ExitCode exit_code = ExitCode::ok;  // of its process
};

/// A row for each: its values, the time (of the region of interest, if the program marks one), how many times as fast
/// as the first that ended well, what it computed and moved per second, these of the bench's metrics (none: the main
/// three), how it ended. A line below it says which of the metrics no run has.
std::string to_table(const std::string& title, const std::vector<Axis>& axes, const std::vector<Run>& runs,
                     std::vector<std::string> metrics, bool colour);

/// The same with a column for each metric in its unit, which its heading has, other numbers in base units, and the
/// error of a run that had one.
std::string to_csv(const std::vector<Axis>& axes, const std::vector<Run>& runs);

}  // namespace kernbench::cli::sweep
