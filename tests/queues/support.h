// What the tests of messages between programs share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::queues_test {

/// One cube of `width` x `height` PEs.
SimulateOptions mesh(int width, int height, std::vector<std::string> overrides = {});

/// A launch on the first `pes` PEs of cube 0 with channels.
torch::LaunchOptions with(int pes, QueueTopology topology, const QueueParameters& parameters = {});

/// Small slots, so that messages take several.
QueueParameters slots(std::int32_t count, std::int64_t bytes, BufferKind kind = BufferKind::tcm,
                      Backpressure backpressure = Backpressure::sleep);

/// A launch on the first `pes` PEs of cube 0 with a window and no channels.
torch::LaunchOptions with_window(int pes, std::int64_t bytes, std::int32_t signals, BufferKind kind = BufferKind::tcm);

/// All that a run says of time.
std::vector<std::string> times_of(const RunResult& result);

/// Expects that the program takes the same times with exact events, and without data.
void expect_equal_times(SimulateOptions options, const std::function<void()>& program);

/// The text and the place of the error that the run must end with.
std::string error_of(const SimulateOptions& options, const std::function<void()>& program);

}  // namespace kernbench::queues_test
