// Loads and stores in every form: values against a plain model, times against the laws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/units.h"
#include "memory_model.h"
#include "programs.h"
#include "support/all_cases.h"
#include "tile/program/program.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::one_pe;
using testing::run_random_accesses;
using testing::tiny;

TEST(MemoryForms, EveryLaneIsThatOfAPlainInterpreterInProgramOrder) {
  const auto seeds = static_cast<std::uint32_t>(number_of_cases(1200, 300, 40));
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    run_random_accesses(seed, {.cubes = seed % 3 == 0 ? 4 : 1});
    if (HasFailure()) return;
  }
}

TEST(MemoryForms, ExactEventsTakeTheSameTimes) {
  for (std::uint32_t seed = 2000; seed < (kSanitized ? 2020 : 2200); ++seed) {
    const int cubes = seed % 3 == 0 ? 4 : 1;
    const auto coalesced = run_random_accesses(seed, {.cubes = cubes});
    const auto exact = run_random_accesses(seed, {.exact = true, .cubes = cubes});
    ASSERT_EQ(coalesced.simulated_time, exact.simulated_time) << "seed " << seed;
    ASSERT_EQ(coalesced.times_fingerprint, exact.times_fingerprint) << "seed " << seed;
  }
}

TEST(MemoryForms, WithoutDataTheTimesAreTheSame) {
  for (std::uint32_t seed = 3000; seed < (kSanitized ? 3030 : 3300); ++seed) {
    const int cubes = seed % 3 == 0 ? 4 : 1;
    const auto with = run_random_accesses(seed, {.known_only = true, .cubes = cubes});
    const auto without = run_random_accesses(seed, {.data = false, .known_only = true, .cubes = cubes});
    ASSERT_EQ(with.simulated_time, without.simulated_time) << "seed " << seed;
    ASSERT_EQ(with.times_fingerprint, without.times_fingerprint) << "seed " << seed;
  }
}

// ---- element types

TEST(ElementTypes, EveryDeviceTypeComesBackFromAKernelAsItWent) {
  simulate(tiny(), [] {
    std::mt19937_64 random(3);
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i32, DType::i64, DType::f8e4m3,
                              DType::f8e5m2, DType::f16, DType::bf16, DType::f32}) {
      auto host = torch::zeros({7, 13}, torch::dtype(dtype));
      auto* bytes = static_cast<unsigned char*>(host.data_ptr());
      for (std::int64_t i = 0; i < 7 * 13 * item_size(dtype); ++i)
        bytes[i] = static_cast<unsigned char>(dtype == DType::boolean ? random() % 2 : random());
      auto x = host.to(torch::device("ahbm")), y = torch::zeros({7, 13}, torch::dtype(dtype).device("ahbm"));
      torch::launch(
          "copy",
          [](tl::In from, tl::Tensor to) {
            if (tl::program_id() == 0) tl::store(to, {0, 0}, tl::load(from, {0, 0}, {7, 13}));
          },
          x, y);
      const auto back = y.cpu();
      EXPECT_EQ(std::memcmp(back.data_ptr(), bytes, static_cast<std::size_t>(7 * 13 * item_size(dtype))), 0)
          << name(dtype);
      EXPECT_EQ(torch::ones({3}, torch::dtype(dtype).device("ahbm"))[2].item<float>(), 1.0f) << name(dtype);
    }
  });
}

// ---- laws, on `tiny`: 1 GHz, an issue of 4 ns, DMA setup 30 ns, scalar_read 10 ns

Time now() {
  return tile::Program::current("now").environment().scheduler.now();
}

/// Simulated time that `access` takes from its call to its end, on PE 0 with x of 64 x 64 f32 on it. What the tiles of
/// `prepare` need has been computed before.
using Prepare = std::function<std::vector<tl::Tile>(const tl::Tensor&)>;
using AsyncAccess = std::function<tl::AsyncLoad(const tl::Tensor&, const std::vector<tl::Tile>&)>;
Time duration_of(const AsyncAccess& access, const Prepare& prepare = {}) {
  Time took;
  simulate(tiny(), [&] {
    auto x = torch::ones({64, 64}, one_pe());
    torch::ahbm::synchronize();
    torch::launch(
        "timed",
        [&](tl::Tensor t) {
          std::vector<tl::Tile> tiles;
          if (prepare) tiles = prepare(t);
          tl::delay(100000);
          const Time begin = now();
          const auto [tile, token] = access(t, tiles);
          tl::wait(token);
          took = now() - begin;
          const Time after = now();
          tl::wait(token);
          tl::wait_group(0);
          EXPECT_EQ(now(), after);
        },
        x);
    torch::ahbm::synchronize();
  });
  return took;
}

Time block_of_256() {
  return duration_of([](const auto& x, const auto&) { return tl::load_async(x, {0, 0}, {4, 64}); });
}

TEST(MemoryLaws, AMaskMovesNoByteLess) {
  const auto masked =
      duration_of([](const auto& x,
                     const auto& tiles) { return tl::load_async(x, {0, 0}, {4, 64}, {.other = 1, .mask = tiles[0]}); },
                  [](const auto&) { return std::vector{tl::full({4, 1}, false, DType::boolean)}; });
  EXPECT_EQ(masked, block_of_256());
}

TEST(MemoryLaws, AMaskAndAnOtherTileAreOperands) {
  // Both are computed while the load waits: 8 cycles of startup and 4 for each of 32 groups of lanes, twice.
  const auto slow = [](const tl::Tensor&) { return std::vector{tl::full({4096}, 0.5f, DType::f32)}; };
  const auto reduced = [](const std::vector<tl::Tile>& tiles) { return tl::max(tl::exp(tl::exp(tiles[0]))); };
  const Time chain = duration_of(
      [&](const auto& x, const auto& tiles) {
        const auto value = reduced(tiles);
        value.state()->producer->done.wait();
        return tl::load_async(x, {0, 0}, {4, 64});
      },
      slow);
  const Time other = duration_of(
      [&](const auto& x, const auto& tiles) { return tl::load_async(x, {0, 0}, {4, 64}, {.other = reduced(tiles)}); },
      slow);
  EXPECT_EQ(chain - other, Time::nanoseconds(4));  // its issue no longer comes after the wait
  const auto first = [&](bool as_mask) {
    return duration_of(
        [&](const auto& x, const auto& tiles) {
          const auto mask = reduced(tiles) > 0.0f;
          if (!as_mask) mask.state()->producer->done.wait();
          return tl::load_async(x, {0, 0}, {4, 64}, {.mask = as_mask ? mask : tl::Tile()});
        },
        slow);
  };
  EXPECT_EQ(first(false) - first(true), Time::nanoseconds(4));
}

TEST(MemoryLaws, AGatherOfNeighboursCostsWhatTheirBlockCosts) {
  const auto gather =
      duration_of([](const auto& x, const auto& tiles) { return tl::load_async(x.data_ptr() + tiles[0]); },
                  [](const auto&) { return std::vector{tl::arange(0, 256)}; });
  EXPECT_EQ(gather, block_of_256());
}

TEST(MemoryLaws, ATensorWithElementsAddedIsAPointerIntoIt) {
  const auto gather = duration_of([](const auto& x, const auto& tiles) { return tl::load_async(x + tiles[0]); },
                                  [](const auto&) { return std::vector{tl::arange(0, 256)}; });
  EXPECT_EQ(gather, block_of_256());
  simulate(tiny(), [] {
    const auto x = torch::arange(64, torch::kFloat).to(one_pe());
    auto out = torch::zeros({8}, one_pe());
    torch::launch(
        "pointers",
        [](tl::In from, tl::Tensor to) {
          const auto lanes = tl::arange(0, 4);
          tl::store(to + lanes, tl::load(from + 16 + lanes));
          tl::store(to + (lanes + 4), tl::load(from + 32, {4}, {2}));
        },
        x, out);
    check_close("out", out, torch::tensor({16.0f, 17.0f, 18.0f, 19.0f, 32.0f, 34.0f, 36.0f, 38.0f}));
  });
}

TEST(MemoryLaws, OffsetsThatAreNotKnownCostOneScalarRead) {
  const auto gather = duration_of(
      [](const auto& x, const auto& tiles) { return tl::load_async(x.data_ptr() + tiles[0], {.mask = tiles[1]}); },
      [](const auto& x) {
        const auto ones = tl::cast(tl::load(x.data_ptr(), {256}, {1}), DType::i32);
        return std::vector{tl::arange(0, 256) * ones, ones > 0};
      });
  EXPECT_EQ(gather, block_of_256() + Time::nanoseconds(10));
}

TEST(MemoryLaws, ADescriptorWithoutLanesCostsItsIssueAndSetup) {
  const auto nothing = duration_of(
      [](const auto& x, const auto& tiles) { return tl::load_async(x.data_ptr() + tiles[0], {.mask = tiles[1]}); },
      [](const auto&) { return std::vector{tl::arange(0, 256), tl::full({256}, false, DType::boolean)}; });
  EXPECT_EQ(nothing, Time::nanoseconds(34));
  const auto outside = duration_of([](const auto& x, const auto&) {
    return tl::load_async(tl::make_block_ptr(x.data_ptr(), {64, 64}, {64, 1}, {64, 0}, {4, 64}),
                          tl::BlockOptions{.boundary_check = {0, 1}, .padding = tl::Padding::nan});
  });
  EXPECT_EQ(outside, Time::nanoseconds(34));
}

TEST(MemoryLaws, RepeatedElementsAreMovedOnceForEachLane) {
  // An access of 4 B for each lane, all in one burst and one channel: 64 B at least of its 37.5 GB/s.
  const auto same = [](std::int64_t lanes) {
    return duration_of([](const auto& x, const auto& tiles) { return tl::load_async(x.data_ptr() + tiles[0]); },
                       [lanes](const auto&) { return std::vector{tl::zeros({lanes}, DType::i32)}; });
  };
  const Time step = same(33) - same(32);
  const auto channel = Bandwidth::bytes_per_second(37'500'000'000);
  EXPECT_EQ(step, transfer_time(Bytes(33 * 64), channel) - transfer_time(Bytes(32 * 64), channel));
}

TEST(MemoryLaws, ABufferCopyIsAVectorCommand) {
  simulate(tiny(), [] {
    auto x = torch::ones({128}, one_pe());
    torch::launch(
        "copies",
        [](tl::Tensor) {
          const auto tile = tl::full({128}, 1.0f, DType::f32);
          const auto buffer = tl::alloc({256}, DType::f32);
          tl::delay(1000);
          const Time begin = now();
          tl::store(buffer, {64}, tile);
          const auto back = tl::load(buffer, {0}, {256});
          back.state()->producer->done.wait();
          // An issue of 4 ns; startup 8 and one group, then startup 8 and two groups of 128 lanes.
          EXPECT_EQ(now() - begin, Time::nanoseconds(4 + 9 + 10));
        },
        x);
    torch::ahbm::synchronize();
  });
}

TEST(MemoryLaws, ADelayEndsOnAnEdgeOfTheClock) {
  simulate(tiny({"pe.clock=1.5GHz"}), [] {
    auto x = torch::ones({1}, one_pe());
    torch::launch(
        "delays",
        [](tl::Tensor) {
          const Clock clock(Frequency::hertz(1'500'000'000));
          for (const std::int64_t cycles : {1, 2, 3, 1000, 0}) {
            tl::full({1}, 0, DType::i32);  // leaves the edges
            const Time begin = now();
            tl::delay(cycles);
            EXPECT_EQ(now(), cycles == 0 ? begin : clock.after(begin, cycles));
          }
        },
        x);
    torch::ahbm::synchronize();
  });
}

// ---- buffers -------------------------------------------------------------------------------------------------------

TEST(Buffers, RandomBoxesHoldWhatWasStoredLast) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    simulate(tiny(), [&] {
      auto x = torch::ones({1}, one_pe());
      torch::launch(
          "boxes",
          [&](tl::Tensor) {
            auto& executor = tile::Program::current("test").environment().executor;
            const auto pick = [&](std::int64_t low, std::int64_t high) {
              return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
            };
            const tl::Extents shape{pick(1, 6), pick(1, 6)};
            const auto buffer = tl::alloc(shape, DType::i32);
            std::vector<std::optional<std::int64_t>> model(static_cast<std::size_t>(shape.numel()));
            std::vector<std::pair<tl::Tile, std::vector<std::optional<std::int64_t>>>> seen;
            for (std::int64_t step = 0; step < 12; ++step) {
              const tl::Extents at{pick(0, shape[0] - 1), pick(0, shape[1] - 1)};
              const tl::Extents box{pick(1, shape[0] - at[0]), pick(1, shape[1] - at[1])};
              const bool store = pick(0, 1) == 0;
              std::vector<std::optional<std::int64_t>> lanes;
              for (std::int64_t i = 0; i < box[0]; ++i) {
                for (std::int64_t j = 0; j < box[1]; ++j) {
                  auto& element = model[static_cast<std::size_t>((at[0] + i) * shape[1] + at[1] + j)];
                  if (store) element = 1000 * step + i * box[1] + j;
                  lanes.push_back(element);
                }
              }
              if (store)
                tl::store(buffer, at, tl::reshape(tl::arange(1000 * step, 1000 * step + box.numel()), box));
              else
                seen.emplace_back(tl::load(buffer, at, box), lanes);
            }
            for (const auto& [tile, lanes] : seen) {
              tile.state()->producer->done.wait();
              const auto view = numerics::view(executor, tile.state()->value()->value);
              for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
                const auto number = static_cast<std::int64_t>(lane);
                ASSERT_EQ(view.valid(number), lanes[lane].has_value());
                if (!lanes[lane]) continue;
                ASSERT_EQ(view.element(number).as_integer(), *lanes[lane]);
              }
            }
            seen.clear();
          },
          x);
      torch::ahbm::synchronize();
    });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Buffers, TheirRoomComesBackWithTheLastHandleAndTheLastOperation) {
  const auto program = [](int count) {
    return [count] {
      auto x = torch::ones({64}, one_pe());
      torch::launch(
          "reuse",
          [](tl::Tensor t, int buffers) {
            std::vector<tl::Buffer> kept;
            for (int i = 0; i < 20; ++i) {
              const auto buffer = tl::alloc({4096}, DType::f32);
              tl::store(buffer, {0}, tl::load(t, {0}, {64}));
              if (i < buffers) kept.push_back(buffer);
            }
          },
          x, count);
      torch::ahbm::synchronize();
    };
  };
  const auto options = tiny({"pe.tcm.capacity=64KiB"});
  EXPECT_EQ(error_of(program(0), options), "no error");
  EXPECT_EQ(error_type_of(program(4), options), "OutOfMemoryError");
  EXPECT_THAT(error_of(program(4), options), HasSubstr("\n  buffer 0 [4096] f32 from alloc at memory_test.cpp:"));
}

// ---- printing, waypoints, ranges, identity

std::vector<std::string> printed(bool data) {
  std::vector<std::string> lines;
  SimulateOptions options = tiny();
  options.data = data;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  simulate(options, [] {
    auto x = torch::arange(4, torch::dtype(DType::f32)).to(one_pe(DType::f32));
    torch::launch(
        "talk",
        [](tl::In t) {
          const auto slow = tl::load(t, {0}, {4});
          tl::device_print("late", {slow * 0.5f, tl::arange(0, 2)});
          tl::device_print("early");
          tl::device_print("tail", tl::load(t, {2}, {4}));
          tl::device_print("many", tl::reshape(tl::arange(0, 2000), {2, 1000}));
          tl::device_print("flag", tl::full({}, true, DType::boolean));
        },
        x);
    torch::ahbm::synchronize();
  });
  return lines;
}

TEST(DevicePrint, PrintsInSimulatedOrderOnceTheValuesAreThere) {
  const std::string who = "talk#0 on sip0.cube0.pe0 (program 0): ";
  const std::vector<std::string> lines = printed(true);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], who + "early\n");
  EXPECT_THAT(lines, ::testing::Contains(who + "late f32[4] [0, 0.5, 1, 1.5] i32[2] [0, 1]\n"));
  EXPECT_THAT(lines, ::testing::Contains(who + "tail f32[4] [2, 3, ?, ?]\n"));
  EXPECT_THAT(lines, ::testing::Contains(who + "many i32[2, 1000] [[0, 1, 2, ..., 997, 998, 999], [1000, 1001, 1002, "
                                               "..., 1997, 1998, 1999]]\n"));
  EXPECT_THAT(lines, ::testing::Contains(who + "flag bool[] true\n"));
}

TEST(DevicePrint, WithoutDataItPrintsShapesInTheSameOrder) {
  const std::vector<std::string> with = printed(true), without = printed(false);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    // "f32[4] [1, 2, 3, 4]" becomes "f32[4]".
    std::string shapes = with[i];
    for (auto at = shapes.find("] ["); at != std::string::npos; at = shapes.find("] [", at + 1)) {
      std::size_t end = at + 2;
      int depth = 0;
      do {
        if (shapes[end] == '[') ++depth;
        if (shapes[end] == ']') --depth;
        ++end;
      } while (depth > 0);
      shapes.erase(at + 1, end - at - 1);
    }
    EXPECT_EQ(without[i], shapes == with[i] && i > 0 ? shapes.substr(0, shapes.rfind(' ')) + "\n" : shapes);
  }
}

TEST(Waypoints, StandInTheOperationLogWithTheirTimeAndLine) {
  const std::string path = ::testing::TempDir() + "/waypoints.log";
  SimulateOptions options = tiny();
  options.operation_log = path;
  Time at;
  simulate(options, [&] {
    auto x = torch::ones({1}, one_pe());
    torch::launch(
        "marks",
        [&](tl::Tensor) {
          tl::delay(7);
          at = now();
          tl::waypoint("half \"way\"");
          EXPECT_EQ(now(), at);
        },
        x);
    torch::ahbm::synchronize();
  });
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(std::to_string(at.count()) +
                                    " sip0.cube0.pe0/marks#0 0 waypoint \"half \\\"way\\\"\" memory_test.cpp:"));
}

TEST(Ranges, AreThoseOfPython) {
  const auto numbers = [](const tl::Range& range) {
    std::vector<std::int64_t> result;
    for (const auto i : range) result.push_back(i);
    EXPECT_EQ(static_cast<std::int64_t>(result.size()), range.size());
    return result;
  };
  for (std::int64_t begin = -4; begin <= 4; ++begin) {
    for (std::int64_t end = -4; end <= 4; ++end) {
      for (const std::int64_t step : {-3, -2, -1, 1, 2, 3}) {
        std::vector<std::int64_t> expected;
        for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) expected.push_back(i);
        EXPECT_EQ(numbers(tl::range(begin, end, step)), expected);
      }
    }
  }
  EXPECT_EQ(numbers(tl::range(3)), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_THROW(tl::range(0, 1, 0), ValueError);
}

TEST(Identity, CountsSipsCubesAndPes) {
  simulate(tiny({"sip.cubes.mesh=[2, 2]", "system.sips.count=2"}), [] {
    torch::LaunchOptions where;
    where.pes = {{CubeId{3}, PeId{1}}};
    torch::launch(
        where, "who",
        [](int) {
          EXPECT_EQ(tl::num_devices(), 2);
          EXPECT_EQ(tl::num_cubes(), 4);
          EXPECT_EQ(tl::num_pes(), 2);
          EXPECT_EQ(tl::device_id(), 0);
          EXPECT_EQ(tl::cube_id(), 3);
          EXPECT_EQ(tl::pe_id(), 1);
          EXPECT_EQ(tl::program_id(1), 0);
          EXPECT_EQ(tl::num_programs(2), 1);
        },
        1);
    torch::ahbm::synchronize();
  });
}

}  // namespace
}  // namespace kernbench
