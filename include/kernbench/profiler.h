// The region of interest: named ranges of host code, and the profiler's start and stop.
//
//   {
//     torch::profiler::record_function range("forward");
//     y = model(x);
//   }
//
// Ranges and the time from start() to stop() are the run's region of interest. Tables, utilisation, traffic and traces
// are of it alone; a program that marks none is reported whole. Neither takes simulated time.
#pragma once

#include <memory>
#include <string_view>

namespace kernbench::runtime {
struct OpenRange;
}

namespace kernbench::torch::profiler {

/// A range of the calling rank, from its making to its end. As launches are asynchronous, it enters the region of
/// interest when everything is complete that ahbm::synchronize() would wait for at its beginning, and leaves it when
/// everything is that this would wait for at its end. Ranges may nest ("step/forward") and overlap, also those of
/// several ranks: the region is whatever lies in any of them. ValueError for an empty name, or one with '/';
/// ProgramError outside of a simulation, inside a kernel, or within 999 others.
class RecordFunction {
 public:
  explicit RecordFunction(std::string_view name);
  ~RecordFunction();
  RecordFunction(const RecordFunction&) = delete;
  RecordFunction& operator=(const RecordFunction&) = delete;

 private:
  std::shared_ptr<runtime::OpenRange> range_;
};

/// PyTorch's name.
using record_function = RecordFunction;

}  // namespace kernbench::torch::profiler

namespace kernbench::torch::ahbm::profiler {

/// From here to stop() is in the region of interest, like a range; without a stop(), to the run's end. Of the calling
/// rank: it is open while any rank has started and not stopped. Has no effect when the rank has started already, as
/// cudaProfilerStart.
void start();

/// ProgramError when the rank has not started.
void stop();

}  // namespace kernbench::torch::ahbm::profiler
