// Memory of a run by the operating system's count, with operator new of KernBench's own programs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "kernbench/kernbench.h"

namespace kernbench {
namespace {

/// Bytes of this process that have memory behind them.
std::int64_t resident() {
  std::int64_t all = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(ResidentMemory, WhatWorkersComputeTakesNoMoreMemoryWithMoreLaunches) {
  SimulateOptions options;
  options.topology = "tiny";
  options.threads = 2;
  options.explain = false;
  options.quick_plans = true;
  options.detailed_launches = 20;
  std::int64_t grown = 0;
  simulate(options, [&] {
    const auto x = torch::ones({64, 64}, torch::dtype(torch::kFloat32).device("ahbm"));
    const auto step = [&] {
      const auto product = x.matmul(x).relu() * 0.5F;
      torch::ahbm::synchronize();
    };
    for (int i = 0; i < 100; ++i) step();
    const std::int64_t before = resident();
    for (int i = 0; i < 400; ++i) step();
    grown = resident() - before;
  });
  EXPECT_LT(grown, 4 << 20);
}

}  // namespace
}  // namespace kernbench
