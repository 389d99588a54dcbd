// Blocks of library kernels in turn, with the loads of the next ones under way.
#include "tile/library/pipeline.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <vector>

#include "kernbench/kernbench.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using tile::library::Box;
using torch::Tensor;

torch::TensorOptions half() {
  return torch::dtype(torch::kHalf).device("ahbm");
}

LaunchResult last_launch(SimulateOptions options, const std::function<void()>& program) {
  options.data = false;
  return simulate(options, program).launches.back();
}

std::vector<std::int64_t> first_extents(const std::vector<Box>& blocks) {
  std::vector<std::int64_t> extents;
  for (const Box& block : blocks) extents.push_back(block.shape[0]);
  return extents;
}

TEST(LibraryPipeline, TheFirstBlockComesInPartsThatGrow) {
  const std::vector<Box> blocks{{{0, 0}, {16, 1024}}, {{16, 0}, {16, 1024}}};
  EXPECT_EQ(first_extents(tile::library::growing(blocks, {false, true})), (std::vector<std::int64_t>{2, 2, 4, 8, 16}));
  EXPECT_EQ(first_extents(tile::library::growing({{{0, 0}, {5, 4096}}}, {})), (std::vector<std::int64_t>{1, 1, 2, 1}));
  // Parts of at least 1 Ki elements, and nothing to cut.
  EXPECT_EQ(first_extents(tile::library::growing({{{0, 0}, {16, 100}}}, {})), (std::vector<std::int64_t>{11, 5}));
  EXPECT_EQ(tile::library::growing({{{0, 0}, {1, 4096}}}, {false, true}).size(), 1U);
  EXPECT_TRUE(tile::library::growing({}, {}).empty());
}

TEST(LibraryPipeline, PartsAreTheSameElementsInTheSameOrder) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    tl::Extents shape{static_cast<std::int64_t>(1 + random() % 40), static_cast<std::int64_t>(1 + random() % 300)};
    const tl::Extents block{static_cast<std::int64_t>(1 + random() % 20),
                            static_cast<std::int64_t>(1 + random() % 300)};
    std::vector<Box> blocks;
    tile::library::append_blocks(blocks, {{3, 5}, shape}, block);
    const auto parts = tile::library::growing(blocks, {});
    std::int64_t elements = 0;
    for (const Box& part : parts) elements += part.shape.numel();
    EXPECT_EQ(elements, shape.numel());
    std::int64_t first = 0;
    std::size_t n = 0;
    for (; first < blocks.front().shape.numel(); ++n) first += parts[n].shape.numel();
    EXPECT_EQ(first, blocks.front().shape.numel());
    ASSERT_EQ(parts.size() - n, blocks.size() - 1);
    for (std::size_t b = 1; b < blocks.size(); ++b, ++n) {
      EXPECT_EQ(parts[n].offset, blocks[b].offset);
      EXPECT_EQ(parts[n].shape, blocks[b].shape);
    }
  }
}

std::int64_t loads_of(const LaunchResult& launch, const std::string& kind = "load") {
  std::int64_t loads = 0;
  for (const OperationResult& operation : launch.operations)
    if (operation.operation == kind) loads += operation.count;
  return loads;
}

TEST(LibraryPipeline, WhatRepeatsIsLoadedOnceByEachProgram) {
  NOT_UNDER_SANITIZERS("long");
  // Two blocks of 16 lines for each of 128 programs, the first in four parts: five loads of x, one of the other.
  const auto row = last_launch({.topology = "ahbm-1sip"},
                               [] { torch::empty({4096, 1024}, half()) + torch::empty({1, 1024}, half()); });
  EXPECT_EQ(loads_of(row), 128 * 5);
  EXPECT_EQ(loads_of(row, "multicast_load"), 128) << "the row lies in many slices: all load it together";
  const auto norm = last_launch({.topology = "ahbm-1sip"}, [] {
    torch::layer_norm(torch::empty({4096, 1024}, half()), {1024}, torch::empty({1024}, half()),
                      torch::empty({1024}, half()));
  });
  EXPECT_EQ(loads_of(norm), 128 * (5 + 2));
  const auto both = last_launch({.topology = "ahbm-1sip"},
                                [] { torch::empty({4096, 1024}, half()) + torch::empty({4096, 1024}, half()); });
  EXPECT_EQ(loads_of(both), 128 * (5 + 5));
}

// Loads under way share the bandwidth: with more queues those that are needed first would come later.
TEST(LibraryPipeline, MoreDmaQueuesMakeNothingSlower) {
  const std::vector<std::function<void()>> functions{
      [] { torch::softmax(torch::empty({1024, 1000}, half()), 1); },
      [] { torch::layer_norm(torch::empty({256, 1024}, half()), {1024}); },
      [] { torch::exp(torch::empty({512, 2048}, half())); }};
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const auto time = [&](int queues) {
      const auto launch = last_launch({.topology = "tiny",
                                       .overrides = {"pe.dma.queues=" + std::to_string(queues), "pe.dma.outstanding=8",
                                                     "cube.hbm.bandwidth=50GB/s"}},
                                      functions[f]);
      return (launch.end - launch.start).count();
    };
    const auto four = time(4);
    EXPECT_LE(time(8), 1.005 * static_cast<double>(four)) << f;
    EXPECT_LE(time(16), 1.005 * static_cast<double>(four)) << f;
  }
}

// Lines so long that few fit: fewer loads under way, and no program that waits for its own tiles.
TEST(LibraryPipeline, LinesThatBarelyFitTheTcmDoNotWaitForEachOther) {
  NOT_UNDER_SANITIZERS("times only");
  for (const std::int64_t columns : {20'000, 40'000, 43'000}) {
    SimulateOptions options;
    options.topology = "tiny";
    options.overrides = {"pe.tcm.capacity=1MiB"};
    simulate(options, [&] {
      const auto x = torch::randn({24, columns});
      const auto weight = torch::randn({columns}), bias = torch::randn({columns});
      const auto y = torch::layer_norm(x.to("ahbm"), {columns}, weight.to("ahbm"), bias.to("ahbm"));
      check_close("layer_norm", y, torch::layer_norm(x, {columns}, weight, bias));
      check_close("softmax", torch::softmax(x.to("ahbm"), 1), torch::softmax(x, 1));
    });
  }
}

// Tiles of eight bytes: a program that has the TCM to itself would wait for room that only it can make.
TEST(LibraryPipeline, WideTypesFitTheTcm) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"pe.tcm.capacity=256KiB", "pe.ipcq.capacity=64KiB", "pe.contexts=1"};
  options.quick_plans = true;
  simulate(options, [] {
    const auto x = torch::arange(64 * 4096).to(DType::i64).view({64, 4096});
    const auto there = x.to("ahbm");
    EXPECT_TRUE(check_close("sum", there + there.clone(), x + x));
    there.slice(1, 0, 4096, 2).add_(there.slice(1, 1, 4096, 2));
    const auto expected = x.clone();
    expected.slice(1, 0, 4096, 2).add_(x.slice(1, 1, 4096, 2));
    EXPECT_TRUE(check_close("every second element", there, expected));
  });
}

}  // namespace
}  // namespace kernbench
