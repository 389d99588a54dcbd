// Little's law on every queue: the mean number in it is the rate of arrival times the mean time spent in it.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "logged_run.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using testing::LoggedOperation;
using testing::operations_of;

void mixed_kernel(tl::In x, tl::Tensor y, std::int64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed + tl::program_id()));
  tl::Tile sum = tl::zeros({64, 64}, DType::f32);
  for (int step = 0; step < 60; ++step) {
    const auto row = static_cast<std::int64_t>(random() % 4) * 64,
               column = static_cast<std::int64_t>(random() % 4) * 64;
    const auto a = tl::load(x, {row, column}, {64, 64}), b = tl::load(x, {column, row}, {64, 64});
    sum = tl::dot(a, b, sum);
    if (random() % 3 == 0) tl::store(y, {tl::program_id() * 128, 0}, tl::exp(tl::cast(sum, DType::f32) * 0.01f));
  }
  tl::store(y, {tl::program_id() * 128, 0}, sum);
}

std::string engine_of(const LoggedOperation& operation) {
  const std::string pe = operation.program.substr(0, operation.program.find('/'));
  if (operation.kind == "dot") return pe + ".gemm";
  if (operation.kind == "load" || operation.kind == "store") return pe + ".dma";
  return pe + ".vector";
}

TEST(LittlesLaw, HoldsOnEveryEnginesQueue) {
  NOT_UNDER_SANITIZERS("times only");
  const auto operations = operations_of({}, [] {
    auto x = torch::randn({256, 256}, torch::dtype(torch::kHalf).device("ahbm"));
    auto y = torch::zeros({256, 256}, torch::device("ahbm"));
    torch::launch("mixed", mixed_kernel, x, y, std::int64_t{3});
    torch::ahbm::synchronize();
  });
  std::map<std::string, std::vector<const LoggedOperation*>> queues;
  for (const auto& operation : operations) {
    if (operation.program.find("mixed") != std::string::npos) queues[engine_of(operation)].push_back(&operation);
  }
  ASSERT_EQ(queues.size(), 6u);  // three engines on each of two PEs
  std::mt19937_64 random(11);
  for (const auto& [name, queue] : queues) {
    ASSERT_GE(queue.size(), 20u) << name;
    Time begin = Time::max(), end;
    double residence = 0;  // picoseconds
    for (const auto* operation : queue) {
      begin = std::min(begin, operation->issued);
      end = std::max(end, operation->finished);
      residence += static_cast<double>((operation->finished - operation->issued).count());
    }
    const auto span = static_cast<double>((end - begin).count());
    const double rate = static_cast<double>(queue.size()) / span;
    const double expected = rate * (residence / static_cast<double>(queue.size()));
    // The mean number is looked at from outside: at random instants, how many are in the queue?
    constexpr int kLooks = 100'000;
    double found = 0;
    for (int look = 0; look < kLooks; ++look) {
      const Time at = begin + Time::picoseconds(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(span)));
      for (const auto* operation : queue) found += operation->issued <= at && at < operation->finished ? 1 : 0;
    }
    EXPECT_NEAR(found / kLooks, expected, 0.02 * expected + 0.01) << name;
  }
}

/// Loads of 64 bytes from the own slice, as many as the queues take; the time of each once the queues are full.
double loads_per_microsecond(int queues, int outstanding, Time& latency) {
  constexpr std::int64_t kLoads = 600;
  const auto operations = operations_of({"pe.dma.queues=" + std::to_string(queues),
                                         "pe.dma.outstanding=" + std::to_string(outstanding), "pe.control.issue=1ns"},
                                        [] {
                                          auto x = torch::zeros({kLoads * 256}, testing::on_one_pe(DType::f32));
                                          torch::launch(
                                              "loads",
                                              [](tl::In in) {
                                                for (std::int64_t i = 0; i < kLoads; ++i) tl::load(in, {i * 256}, {16});
                                              },
                                              x);
                                          torch::ahbm::synchronize();
                                        });
  std::vector<Time> ends;
  latency = Time::max();
  for (const auto& operation : operations) {
    if (operation.program.find("loads") == std::string::npos) continue;
    ends.push_back(operation.finished);
    latency = std::min(latency, operation.finished - operation.started);
  }
  const Time span = ends[ends.size() - 100] - ends[100];
  return static_cast<double>(ends.size() - 200) / (static_cast<double>(span.count()) * 1e-6);
}

TEST(LittlesLaw, BoundsTheRateOfLoadsByTheirNumberOverTheirLatency) {
  for (const int queues : {1, 2, 4}) {
    for (const int outstanding : {1, 2, 4}) {
      Time latency;
      const double rate = loads_per_microsecond(queues, outstanding, latency);
      const double bound = queues * outstanding / (static_cast<double>(latency.count()) * 1e-6);
      EXPECT_LE(rate, bound * 1.001) << queues << " queues, " << outstanding << " outstanding";
      EXPECT_GE(rate, bound * 0.95) << queues << " queues, " << outstanding << " outstanding";
    }
  }
}

}  // namespace
}  // namespace kernbench
