#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kernbench::queues_test {

SimulateOptions mesh(int width, int height, std::vector<std::string> overrides) {
  SimulateOptions options;
  options.topology = "tiny";
  options.threads = 1;
  options.max_polls = 20'000;  // the default takes some seconds
  options.overrides = {fmt::format("cube.pes.mesh=[{}, {}]", width, height),
                       fmt::format("cube.hbm.channels={}", 4 * width * height),
                       fmt::format("cube.hbm.capacity={}MiB", 64 * width * height)};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return options;
}

torch::LaunchOptions with(int pes, QueueTopology topology, const QueueParameters& parameters) {
  torch::LaunchOptions options;
  for (int pe = 0; pe < pes; ++pe) options.pes.emplace_back(CubeId{0}, PeId{pe});
  options.queues.topology = topology;
  options.queues.parameters = parameters;
  return options;
}

QueueParameters slots(std::int32_t count, std::int64_t bytes, BufferKind kind, Backpressure backpressure) {
  QueueParameters parameters;
  parameters.n_slots = count;
  parameters.slot_size = Bytes(bytes);
  parameters.buffer_kind = kind;
  parameters.backpressure = backpressure;
  return parameters;
}

torch::LaunchOptions with_window(int pes, std::int64_t bytes, std::int32_t signals, BufferKind kind) {
  torch::LaunchOptions options = with(pes, QueueTopology::none);
  options.queues.window = WindowOptions{Bytes(bytes), signals, kind};
  return options;
}

std::vector<std::string> times_of(const RunResult& result) {
  std::vector<std::string> times{std::to_string(result.times_fingerprint)};
  for (const LaunchResult& launch : result.launches) {
    times.push_back(fmt::format("{} {} {}", launch.name, launch.start.count(), launch.end.count()));
  }
  return times;
}

void expect_equal_times(SimulateOptions options, const std::function<void()>& program) {
  const auto times = times_of(simulate(options, program));
  options.exact_events = true;
  EXPECT_EQ(times_of(simulate(options, program)), times);
  options.exact_events = false;
  options.data = false;
  EXPECT_EQ(times_of(simulate(options, program)), times);
}

std::string error_of(const SimulateOptions& options, const std::function<void()>& program) {
  const RunResult result = try_simulate(options, program);
  if (!result.error) return "no error";
  return result.error->type + ": " + result.error->message +
         (result.error->where.empty() ? "" : " | " + result.error->where);
}

}  // namespace kernbench::queues_test
