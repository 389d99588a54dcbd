// The progress of a long run on a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/status_line.h"
#include "kernbench/simulate.h"

namespace kernbench::cli {

/// From a second after its making, ten times a second, asks the run with `options` how far it is, and shows that. Does
/// nothing when the line is inactive. The run itself shows it, between two instants: a thread only keeps the time.
class ProgressDisplay {
 public:
  ProgressDisplay(StatusLine& line, SimulateOptions& options);
  /// Removes the line.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

 private:
  void keep_time();

  StatusLine& line_;
  std::atomic<bool> due_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

/// "simulated 1.25 ms, 3 launches completed, 2.1 M events/s, 12 s".
std::string progress_text(const RunProgress& progress, double seconds);

}  // namespace kernbench::cli
