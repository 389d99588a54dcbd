// Where a faster part, or more of them, ends a program later: the cases that docs/model.md names.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "programs.h"

namespace kernbench {
namespace {

using testing::tiny;

/// Of the last launch of the program.
double seconds(const std::vector<std::string>& overrides, const std::function<void()>& program) {
  SimulateOptions options = tiny(overrides);
  options.data = false;
  const RunResult result = simulate(options, program);
  EXPECT_FALSE(result.error.has_value());
  const LaunchResult& launch = result.launches.back();
  return (launch.end - launch.start).in_seconds();
}

/// Loads from the neighbour's slice, and stores of what came to the own one.
void move_rows() {
  constexpr std::int64_t kColumns = 5000, kBlocks = 20;
  const auto x = torch::zeros({2, kColumns * kBlocks}, torch::dtype(torch::kFloat).device("ahbm"));
  torch::launch(
      {.pes = {{CubeId{0}, PeId{0}}}}, "move",
      [](tl::Tensor t) {
        for (std::int64_t i = 0; i < kBlocks; ++i)
          tl::store(t, {0, i * kColumns}, tl::load(t, {1, i * kColumns}, {1, kColumns}));
      },
      x);
}

// The loads share a link: the more of them, the later the first one ends, and the stores begin.
TEST(Anomalies, MoreDescriptorsUnderWayDelayTheStoresOfWhatIsLoaded) {
  const double base = seconds({}, move_rows);
  for (const char* more : {"pe.dma.queues=8", "pe.dma.outstanding=8"}) {
    const double ratio = seconds({more}, move_rows) / base;
    EXPECT_GT(ratio, 1.1) << more;
    EXPECT_LT(ratio, 1.3) << more;
  }
  EXPECT_LT(seconds({"pe.dma.queues=2"}, move_rows), 1.02 * base);
}

/// Two PEs send each other messages through slots in the SRAM.
void exchange_in_sram() {
  torch::LaunchOptions options{.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}}};
  options.queues.topology = QueueTopology::ring_1d;
  options.queues.parameters.buffer_kind = BufferKind::sram;
  torch::launch(options, "exchange", [] {
    constexpr std::int64_t kElements = 25'000;
    const auto mine = tl::zeros({kElements}, DType::f32);
    for (int i = 0; i < 6; ++i) {
      const auto sent = tl::isend(mine, tl::ring_next());
      tl::recv(DType::f32, {kElements}, tl::ring_previous());
      tl::wait(sent);
    }
  });
}

// What the SRAM gives to one PE fills the one queue behind its port, and what it gives to the other stands behind that.
TEST(Anomalies, AFasterSramFillsTheQueueBehindItsPort) {
  const double base = seconds({}, exchange_in_sram);
  const double doubled = seconds({"cube.sram.bandwidth=1024GB/s"}, exchange_in_sram) / base;
  EXPECT_GT(doubled, 1.1);
  EXPECT_LT(doubled, 1.3);
  const double tenfold = seconds({"cube.sram.bandwidth=5120GB/s"}, exchange_in_sram) / base;
  EXPECT_GT(tenfold, doubled);
  EXPECT_LT(tenfold, 1.5);
  EXPECT_GT(seconds({"cube.sram.bandwidth=256GB/s"}, exchange_in_sram), 1.3 * base);
}

}  // namespace
}  // namespace kernbench
