// Launches with a grid: who runs which program, in which order, when, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "devices.h"

namespace kernbench::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Ran {
  std::int64_t cube, pe;
  std::array<std::int64_t, 3> id, count;
};

/// What each program saw, in the order in which they began.
std::vector<Ran> ran(const torch::LaunchOptions& options, const SimulateOptions& machine) {
  std::vector<Ran> all;
  simulate(machine, [&] {
    torch::launch(options, "who", [&all] {
      all.push_back({tl::cube_id(),
                     tl::pe_id(),
                     {tl::program_id(0), tl::program_id(1), tl::program_id(2)},
                     {tl::num_programs(0), tl::num_programs(1), tl::num_programs(2)}});
      tl::delay(10);
    });
    torch::ahbm::synchronize();
  });
  return all;
}

/// Two cubes of 3 x 1 PEs.
SimulateOptions six_pes() {
  return tiny({"sip.cubes.mesh=[2, 1]", "cube.pes.mesh=[3, 1]", "cube.hbm.channels=6"});
}

// As balanced rows are shared: those of a PE follow each other, and the first PEs have one more.
TEST(Grid, EveryProgramRunsOnceAndAPeRunsThoseThatFollowEachOther) {
  const std::vector<std::vector<std::int64_t>> grids{{1},    {5},    {6},     {7},       {40},
                                                     {2, 3}, {3, 5}, {1, 13}, {2, 3, 4}, {1, 1, 9}};
  for (const auto& grid : grids) {
    std::array<std::int64_t, 3> extents{1, 1, 1};
    std::ranges::copy(grid, extents.begin());
    const std::int64_t programs = extents[0] * extents[1] * extents[2];
    std::map<std::int64_t, std::vector<std::int64_t>> of_pe;  // programs, in the order in which they ran
    for (const Ran& each : ran({.grid = grid}, six_pes())) {
      EXPECT_EQ(each.count, extents);
      of_pe[each.cube * 3 + each.pe].push_back(each.id[0] + extents[0] * (each.id[1] + extents[1] * each.id[2]));
    }
    std::int64_t program = 0;
    for (std::int64_t pe = 0; pe < 6; ++pe) {
      std::vector<std::int64_t> expected;
      for (std::int64_t i = 0; i < programs / 6 + (pe < programs % 6 ? 1 : 0); ++i) expected.push_back(program++);
      EXPECT_EQ(of_pe[pe], expected) << "PE " << pe << " of a grid of " << programs;
    }
  }
}

TEST(Grid, RunsOnTheNamedPesOnly) {
  const torch::LaunchOptions options{.pes = {{CubeId{1}, PeId{2}}, {CubeId{0}, PeId{1}}}, .grid = {5}};
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> who;
  for (const Ran& each : ran(options, six_pes())) who.emplace_back(each.id[0], each.cube, each.pe);
  std::ranges::sort(who);
  const decltype(who) expected{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 1, 2}, {4, 1, 2}};
  EXPECT_EQ(who, expected);
}

TEST(Grid, AllPesTakePartWhereverTheTensorsLie) {
  const auto programs = [](const torch::LaunchOptions& options) {
    std::int64_t count = 0;
    simulate(six_pes(), [&] {
      auto x = torch::zeros({8}, one_pe());
      torch::launch(options, "who", [&count](tl::In) { ++count; }, x);
      torch::ahbm::synchronize();
    });
    return count;
  };
  EXPECT_EQ(programs({}), 1);
  EXPECT_EQ(programs({.all_pes = true}), 6);
  EXPECT_EQ(programs({.grid = {4}}), 4);
}

TEST(Grid, AGridWithoutProgramsLaunchesNothing) {
  const RunResult result = simulate(six_pes(), [] {
    torch::launch(torch::LaunchOptions{.grid = {4, 0}}, "nobody", [] { FAIL(); });
    torch::ahbm::synchronize();
  });
  EXPECT_TRUE(result.launches.empty());
}

Time time_of(const RunResult& result) {
  return result.launches.at(0).end - result.launches.at(0).start;
}

RunResult delays(std::int64_t programs) {
  return simulate(tiny({"pe.control.start_latency=70ns"}), [programs] {
    torch::LaunchOptions options = kFirst;
    options.grid = {programs};
    torch::launch(options, "delays", [] { tl::delay(100); });
    torch::ahbm::synchronize();
  });
}

// The law: a program that follows another one on its PE starts control.start_latency after the end of its body.
TEST(Grid, TheNextProgramStartsAfterTheStartLatency) {
  const RunResult one = delays(1), four = delays(4);
  const Time each = Clock(Frequency::gigahertz(1)).after(Time::zero(), 100);
  EXPECT_EQ(time_of(four) - time_of(one), 3 * (each + Time::nanoseconds(70)));
  EXPECT_EQ(four.launches.at(0).programs, 4);
  EXPECT_EQ(four.launches.at(0).pes, 1);
  Time next;
  for (const PathPart& part : four.launches.at(0).critical_path) {
    if (part.activity == "next program") next += part.time;
  }
  EXPECT_EQ(next, 3 * Time::nanoseconds(70));
}

/// Programs of one PE that each store 8 KiB, behind what they load of the program before them if they `read` it.
Time time_of_stores(std::int64_t programs, bool read) {
  const RunResult result = simulate(tiny({"pe.control.start_latency=70ns"}), [programs, read] {
    auto x = torch::zeros({8 * (programs + 1), 256}, one_pe());
    torch::LaunchOptions options = kFirst;
    options.grid = {programs};
    torch::launch(
        options, "store",
        [read](tl::Tensor t) {
          const std::int64_t row = 8 * (tl::program_id() + 1);
          const auto before = read ? tl::load(t, {row - 8, 0}, {8, 256}) : tl::full({8, 256}, 1, DType::f32);
          tl::store(t, {row, 0}, before + 1);
        },
        x);
    const auto host = x.cpu();
    for (std::int64_t row = 8; row < host.size(0); ++row) {
      const auto number = static_cast<float>(row / 8);
      EXPECT_EQ(host[row][255].item<float>(), read ? number : 2.0F) << row;
    }
  });
  return result.launches.back().end - result.launches.back().start;
}

// A program's store is under way when its body returns: the next one begins behind it, and waits for what it reads.
TEST(Grid, StoresOfAProgramHideBehindTheNextOneUnlessThatReadsThem) {
  const Time store = transfer_time(Bytes(8192), Bandwidth::gigabytes_per_second(150));
  const Time four = time_of_stores(4, false), five = time_of_stores(5, false);
  const Time start = Time::nanoseconds(70);
  EXPECT_LT(five - four, start + store) << "70 ns pass while the store is under way";
  EXPECT_GE(five - four, std::max(start, store)) << "the slice has all stores to take";
  EXPECT_GT(time_of_stores(5, true) - time_of_stores(4, true), start + 2 * store) << "a load behind each store";
}

// Triton's first tutorial, with a block that does not divide the vector.
void add_kernel(tl::In x, tl::In y, tl::Tensor out, std::int64_t elements, std::int64_t block) {
  const auto offsets = tl::program_id(0) * block + tl::arange(0, block);
  const auto mask = offsets < elements;
  const auto a = tl::load(x.data_ptr() + offsets, {.mask = mask});
  const auto b = tl::load(y.data_ptr() + offsets, {.mask = mask});
  tl::store(out.data_ptr() + offsets, a + b, {.mask = mask});
}

TEST(Grid, VectorAddAsTritonWritesItIsRightForAnyNumberOfElements) {
  for (const std::int64_t elements : {1, 255, 256, 257, 5000}) {
    const RunResult result = simulate(six_pes(), [elements] {
      const auto x = torch::arange(elements, torch::dtype(torch::kFloat)), y = 2 * x;
      const auto on_device_x = x.to("ahbm"), on_device_y = y.to("ahbm");
      auto out = torch::empty_like(on_device_x);
      torch::launch(torch::LaunchOptions{.grid = {tl::cdiv(elements, 256)}}, "add", add_kernel, on_device_x,
                    on_device_y, out, elements, 256);
      EXPECT_TRUE(torch::equal(out.cpu(), x + y)) << elements;
    });
    EXPECT_EQ(result.status, RunStatus::ok);
  }
}

TEST(Grid, TimesAreTheSameExactlyAndWithoutData) {
  const auto fingerprint = [](bool exact, bool data) {
    SimulateOptions options = six_pes();
    options.exact_events = exact;
    options.data = data;
    return simulate(options,
                    [] {
                      auto x = torch::zeros({13, 256}, torch::device("ahbm"));
                      torch::launch(
                          torch::LaunchOptions{.grid = {13}}, "rows",
                          [](tl::Tensor t) {
                            const auto row = tl::load(t, {tl::program_id(), 0}, {1, 256});
                            tl::store(t, {tl::program_id(), 0}, row + 1.0F);
                          },
                          x);
                      torch::ahbm::synchronize();
                    })
        .times_fingerprint;
  };
  const auto expected = fingerprint(false, true);
  EXPECT_EQ(fingerprint(true, true), expected);
  EXPECT_EQ(fingerprint(false, false), expected);
}

/// Three programs of one PE, each with loads that fill its DMA queues; the first one asks for one queue before, or
/// behind its loads.
Time time_of_loads(bool before, bool behind) {
  const RunResult result = simulate(tiny({"pe.dma.outstanding=1"}), [=] {
    const auto x = torch::zeros({24, 16}, one_pe());
    torch::LaunchOptions options = kFirst;
    options.grid = {3};
    const auto read = [=](tl::In t) {
      const bool first = tl::program_id() == 0;
      if (first && before) tl::use_dma_queues(1);
      for (std::int64_t row = 0; row < 8; ++row) tl::load(t, {8 * tl::program_id() + row, 0}, {1, 16});
      if (first && behind) tl::use_dma_queues(1);
    };
    torch::launch(options, "read", read, x);
    torch::ahbm::synchronize();
  });
  return result.launches.back().end - result.launches.back().start;
}

TEST(Grid, EachProgramBeginsWithAllDmaQueues) {
  EXPECT_EQ(time_of_loads(false, true), time_of_loads(false, false));
  EXPECT_GT(time_of_loads(true, false), time_of_loads(false, false));
}

void launch_nothing(const torch::LaunchOptions& options) {
  torch::launch(options, "k", [] {});
}

TEST(Grid, WhatCannotBeIsRefused) {
  EXPECT_THAT(error_of([] { launch_nothing({.grid = {1, 1, 1, 1}}); }),
              HasSubstr("has 4 axes; a launch has one to three"));
  EXPECT_THAT(error_of([] { launch_nothing({.grid = {2, -1}}); }), HasSubstr("-1 programs along axis 1"));
  EXPECT_THAT(error_of([] { launch_nothing({.grid = {1 << 16, 1 << 16}}); }),
              AllOf(HasSubstr("(65536, 65536)"), HasSubstr("at most 2^31 - 1")));
  EXPECT_THAT(error_of([] { launch_nothing({.pes = {{CubeId{0}, PeId{1}}, {CubeId{0}, PeId{1}}}}); }),
              HasSubstr("names sip0.cube0.pe1 twice in pes; name each PE once"));
  EXPECT_THAT(error_of([] { launch_nothing({.pes = kFirst.pes, .all_pes = true}); }),
              HasSubstr("both all_pes and pes"));
  EXPECT_THAT(error_of([] {
                torch::LaunchOptions options{.grid = {9}};
                options.queues.topology = QueueTopology::ring_1d;
                launch_nothing(options);
              }),
              AllOf(HasSubstr("9 programs for 2 PEs"), HasSubstr("at most one program for each PE")));
}

// What a program of a grid leaves is an error of that program, not of the next.
TEST(Grid, AnErrorNamesItsProgram) {
  const auto options = [] {
    torch::LaunchOptions all = kFirst;
    all.grid = {3};
    return all;
  };
  EXPECT_THAT(error_of([&] {
                torch::launch(options(), "k", [] { tl::assume(tl::program_id() != 2); });
                torch::ahbm::synchronize();
              }),
              HasSubstr("program 2"));
  EXPECT_THAT(error_of([&] {
                tl::Tile kept;
                torch::launch(options(), "k", [&kept] { kept = tl::zeros({4}, DType::f32); });
                torch::ahbm::synchronize();
              }),
              AllOf(HasSubstr("a tile outlives its kernel"), HasSubstr("program 0")));
}

}  // namespace
}  // namespace kernbench::testing
