// tl::multicast_load: its values, its time beside plain loads, what is counted, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "harness.h"
#include "support/interleaved.h"
#include "support/sanitizers.h"

namespace kernbench::tile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SimulateOptions machine(const std::string& topology, bool data = true, bool exact = false) {
  SimulateOptions options;
  options.topology = topology;
  options.data = data;
  options.exact_events = exact;
  return options;
}

/// All programs of a launch, cut into groups at random; by program: its groups.
struct RandomGroups {
  std::vector<tl::MulticastGroup> groups;
  std::vector<std::vector<std::size_t>> of;
};

RandomGroups random_groups(std::mt19937& random, std::int64_t programs, std::size_t count) {
  RandomGroups result;
  result.of.resize(static_cast<std::size_t>(programs));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(programs));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::shuffle(all, random);
    all.resize(1 + random() % all.size());
    for (const std::int64_t program : all) result.of[static_cast<std::size_t>(program)].push_back(i);
    result.groups.push_back({"group " + std::to_string(i), std::move(all)});
  }
  return result;
}

/// A block of a matrix for each group; some reach past the end.
struct Blocks {
  std::vector<tl::Extents> offsets, shapes;
};

/// Each program adds up the blocks of its groups, loaded together or one by one.
RunResult sums(const SimulateOptions& options, unsigned seed, bool together, std::vector<float>* values) {
  return simulate(options, [&] {
    std::mt19937 random(seed);
    const std::int64_t rows = 64 + static_cast<std::int64_t>(random() % 200),
                       columns = 64 + static_cast<std::int64_t>(random() % 100);
    const Placement placements[] = {Placement::balanced, Placement::replicate, Placement::column_wise};
    const auto policy =
        testing::maybe_interleaved({.cube = placements[random() % 3], .pe = placements[random() % 3]}, random());
    const auto x = (torch::arange(rows * columns, torch::kFloat) / 7.0 - 300).view({rows, columns});
    const DType dtype = random() % 2 == 0 ? DType::f16 : DType::f32;
    const auto on_device = x.to(torch::dtype(dtype).device("ahbm").placement(policy));
    const std::int64_t programs = options.topology == "tiny" ? 2 : 128;
    const RandomGroups groups = random_groups(random, programs, 6);
    Blocks blocks;
    for (std::size_t i = 0; i < groups.groups.size(); ++i) {
      blocks.offsets.push_back(
          {static_cast<std::int64_t>(random()) % rows, static_cast<std::int64_t>(random()) % columns});
      blocks.shapes.push_back({32, 16});
    }
    auto out = torch::empty({programs, 32, 16}, torch::dtype(torch::kFloat).device("ahbm"));
    torch::LaunchOptions launch;
    launch.all_pes = true;
    torch::launch(
        launch, "sums",
        [&](tl::In a, tl::Tensor result) {
          const auto me = static_cast<std::size_t>(tl::program_id());
          auto sum = tl::zeros({32, 16}, DType::f32);
          for (const std::size_t g : groups.of[me]) {
            const auto& at = blocks.offsets[g];
            const auto block = tl::make_block_ptr(a.data_ptr(), {rows, columns}, {columns, 1}, at, blocks.shapes[g]);
            const tl::BlockOptions checked{{0, 1}, tl::Padding::zero};
            tl::Tile tile;
            if (g % 3 == 0) {
              const tl::LoadOptions other{.other = 0.0f};
              tile = together ? tl::multicast_load(groups.groups[g], a, at, blocks.shapes[g], other)
                              : tl::load(a, at, blocks.shapes[g], other);
            } else if (g % 3 == 1) {
              tile = together ? tl::multicast_load(groups.groups[g], block, checked) : tl::load(block, checked);
            } else {
              auto [later, token] = together ? tl::multicast_load_async(groups.groups[g], block, checked)
                                             : tl::load_async(block, checked);
              tl::wait(token);
              tile = later;
            }
            sum = sum + tl::cast(tile, DType::f32);
          }
          tl::store(result, {static_cast<std::int64_t>(me), 0, 0}, tl::reshape(sum, {1, 32, 16}));
        },
        on_device, out);
    if (values == nullptr) return torch::ahbm::synchronize();
    const auto host = out.cpu();
    for (std::int64_t i = 0; i < host.numel(); ++i) values->push_back(host.view({host.numel()})[i].item<float>());
  });
}

TEST(MulticastLoad, EveryProgramGetsTheBitsOfAPlainLoad) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    for (const char* const topology : {"tiny", "ahbm-1sip"}) {
      if (seed > (kSanitized ? 0U : 3U) && std::string(topology) != "tiny") continue;
      std::vector<float> together, alone;
      sums(machine(topology), seed, true, &together);
      sums(machine(topology), seed, false, &alone);
      ASSERT_EQ(together, alone) << topology << " seed " << seed;
      ASSERT_FALSE(together.empty());
    }
  }
}

TEST(MulticastLoad, TimesAreThoseOfExactRunsAndOfRunsWithoutData) {
  for (unsigned seed = 0; seed < (kSanitized ? 1U : 4U); ++seed) {
    const RunResult fast = sums(machine("ahbm-1sip"), seed, true, nullptr);
    EXPECT_EQ(sums(machine("ahbm-1sip", true, true), seed, true, nullptr).times_fingerprint, fast.times_fingerprint);
    EXPECT_EQ(sums(machine("ahbm-1sip", false), seed, true, nullptr).times_fingerprint, fast.times_fingerprint);
    auto unexplained = machine("ahbm-1sip");
    unexplained.explain = false;
    EXPECT_EQ(sums(unexplained, seed, true, nullptr).times_fingerprint, fast.times_fingerprint);
  }
}

/// How many pages each PE has walked to, when the programs of `group` have loaded all of x together.
std::vector<std::uint64_t> walks(const Sizes& sizes, const torch::TensorOptions& where,
                                 const std::vector<std::int64_t>& group) {
  const RunResult result = simulate(machine("ahbm-1sip", false), [&] {
    const auto x = torch::empty(sizes, where);
    torch::LaunchOptions launch;
    launch.all_pes = true;
    torch::launch(
        launch, "load",
        [&](tl::In a) {
          if (std::ranges::find(group, tl::program_id()) == group.end()) return;
          tl::multicast_load({"all", group}, a, {0, 0}, {sizes[0], sizes[1]});
        },
        x);
    torch::ahbm::synchronize();
  });
  std::vector<std::uint64_t> misses;
  for (const TlbResult& tlb : result.tlbs) {
    EXPECT_EQ(tlb.hits, 0u) << tlb.name;
    if (tlb.misses > 0) misses.push_back(tlb.misses);
  }
  return misses;
}

// A row of 4096 has a page in each of 128 slices; 512 KiB in one slice are eight pages, which nobody of three has.
TEST(MulticastLoad, EachPageIsTranslatedByOneMember) {
  std::vector<std::int64_t> all(128);
  std::iota(all.begin(), all.end(), 0);
  const auto spread = torch::dtype(torch::kHalf).device("ahbm");
  EXPECT_EQ(walks({1, 4096}, spread, all), std::vector<std::uint64_t>(128, 1));
  EXPECT_EQ(walks({4, 65536}, one_pe(DType::f16), {1, 2, 3}), (std::vector<std::uint64_t>{3, 3, 2}));
  EXPECT_EQ(walks({4, 65536}, one_pe(DType::f16), {0, 2, 3}), (std::vector<std::uint64_t>{8}));
  EXPECT_EQ(walks({1, 4096}, spread, {5}), (std::vector<std::uint64_t>{128}));
}

/// All programs load one block of [64, 64] in f16 that lies with program 0; each begins after `delay` times its number.
RunResult one_block(SimulateOptions options, bool together, std::int64_t delay = 0) {
  return simulate(options, [&] {
    const auto x = torch::ones({64, 64}, one_pe(DType::f16));
    torch::LaunchOptions launch;
    launch.all_pes = true;
    torch::launch(
        launch, "one_block",
        [&](tl::In a) {
          tl::MulticastGroup all{"all", {}};
          for (std::int64_t i = 0; i < tl::num_programs(); ++i) all.programs.push_back(i);
          if (delay > 0) tl::delay(tl::program_id() * delay);
          if (together)
            tl::multicast_load(all, a, {0, 0}, {64, 64});
          else
            tl::load(a, {0, 0}, {64, 64});
        },
        x);
    torch::ahbm::synchronize();
  });
}

const LaunchResult& launch_called(const RunResult& result, const std::string& kernel) {
  return *std::ranges::find(result.launches, kernel, &LaunchResult::kernel);
}

TEST(MulticastLoad, BytesLeaveTheMemoryOnce) {
  const LaunchResult together = launch_called(one_block(machine("ahbm-1sip"), true), "one_block");
  const LaunchResult alone = launch_called(one_block(machine("ahbm-1sip"), false), "one_block");
  EXPECT_EQ(together.hbm_bytes, Bytes(64 * 64 * 2));
  EXPECT_EQ(together.distance.own_slice, Bytes(64 * 64 * 2));  // of the first program
  EXPECT_EQ(alone.hbm_bytes, Bytes(64 * 64 * 2) * 128);
  EXPECT_LT(together.end - together.start, alone.end - alone.start);
}

TEST(MulticastLoad, LinksCarryTheTree) {
  std::int64_t bytes[2] = {0, 0};
  for (const bool together : {false, true}) {
    simulate(machine("ahbm-1sip"), [&] {
      const auto x = torch::ones({64, 64}, one_pe(DType::f16));
      torch::ahbm::synchronize();
      const torch::ahbm::TrafficMeter meter;
      torch::LaunchOptions launch;
      launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}, {CubeId{0}, PeId{2}}, {CubeId{0}, PeId{3}}};
      torch::launch(
          launch, "row",
          [&](tl::In a) {
            if (together)
              tl::multicast_load({"row", {0, 1, 2, 3}}, a, {0, 0}, {64, 64});
            else
              tl::load(a, {0, 0}, {64, 64});
          },
          x);
      torch::ahbm::synchronize();
      bytes[together ? 1 : 0] = meter.read().noc_bytes;
    });
  }
  // PE 0 holds the block; the others are one, two and three routers away. A tree has three links between routers, loads
  // one by one 1 + 2 + 3. Beside them the same headers.
  const std::int64_t block = 64 * 64 * 2;
  EXPECT_EQ(bytes[0] - bytes[1], 3 * block);
}

TEST(MulticastLoad, TheExplanationNamesTheGroupAndWhoCameLast) {
  const RunResult result = one_block(tiny(), true, 5000);  // program 1 comes 5 us later than program 0
  const LaunchResult& launch = launch_called(result, "one_block");
  bool waited = false;
  for (const WaitResult& wait : launch.waits) {
    if (wait.reason != "group") continue;
    waited = true;
    EXPECT_EQ(wait.operation, "multicast_load");
    EXPECT_THAT(wait.where, HasSubstr("multicast_test.cpp:"));
    EXPECT_GT(wait.time, Time::microseconds(4));
  }
  EXPECT_TRUE(waited);
  const auto operation = std::ranges::find(launch.operations, "multicast_load", &OperationResult::operation);
  ASSERT_NE(operation, launch.operations.end());
  EXPECT_EQ(operation->count, launch.programs);
}

/// The error of a kernel on all PEs of `tiny`, which gets f16 matrices of [64, 64] and [32, 32].
std::string group_error(const std::function<void(tl::In a, tl::In b)>& kernel, std::vector<std::int64_t> grid = {}) {
  const RunResult result = try_simulate(tiny(), [&] {
    const auto x = torch::ones({64, 64}, one_pe(DType::f16)), y = torch::ones({32, 32}, one_pe(DType::f16));
    torch::LaunchOptions launch;
    launch.all_pes = true;
    launch.grid = std::move(grid);
    torch::launch(launch, "wrong", [&](tl::In a, tl::In b) { kernel(a, b); }, x, y);
    torch::ahbm::synchronize();
  });
  return result.error ? result.error->type + ": " + result.error->message + " | " + result.error->where : "no error";
}

TEST(MulticastLoad, AnotherBlockThanTheOthersIsAnErrorThatNamesBoth) {
  const auto both = AllOf(HasSubstr("ValueError: tl::multicast_load: multicast 0 of group \"pair\" is f16 "),
                          HasSubstr("for program 0 on sip0.cube0.pe0 at multicast_test.cpp:"),
                          HasSubstr("all programs of a group load the same blocks in the same order"),
                          HasSubstr("kernel wrong#0 on sip0.cube0.pe1 (program 1), multicast_test.cpp:"));
  const auto at_program_1 = [](const std::function<void(tl::In, tl::In)>& other) {
    return group_error([&other](tl::In a, tl::In b) {
      if (tl::program_id() == 0) return void(tl::multicast_load({"pair", {0, 1}}, a, {0, 0}, {16, 16}));
      if (tl::program_id() > 1) return;
      tl::delay(100);
      other(a, b);
    });
  };
  EXPECT_THAT(at_program_1([](tl::In a, tl::In) { tl::multicast_load({"pair", {0, 1}}, a, {16, 0}, {16, 16}); }), both);
  EXPECT_THAT(at_program_1([](tl::In a, tl::In) { tl::multicast_load({"pair", {0, 1}}, a, {0, 0}, {16, 8}); }), both);
  EXPECT_THAT(at_program_1([](tl::In, tl::In b) { tl::multicast_load({"pair", {0, 1}}, b, {0, 0}, {16, 16}); }), both);
  EXPECT_THAT(at_program_1([](tl::In a, tl::In) {
                tl::multicast_load({"pair", {0, 1}},
                                   tl::make_block_ptr(a.data_ptr(), {64, 64}, {64, 1}, {0, 0}, {16, 16}));
              }),
              both);
}

TEST(MulticastLoad, GroupsThatCannotBe) {
  const auto load = [](const tl::MulticastGroup& group) {
    return [group](tl::In a, tl::In) {
      if (tl::program_id() == 0) tl::multicast_load(group, a, {0, 0}, {16, 16});
    };
  };
  EXPECT_THAT(group_error(load({"none", {}})), HasSubstr("group \"none\" has no programs"));
  EXPECT_THAT(group_error(load({"far", {0, 99}})),
              HasSubstr("group \"far\" names program 99; the launch has the programs 0 to "));
  EXPECT_THAT(group_error(load({"others", {1}})), HasSubstr("program 0 is not in group \"others\""));
  EXPECT_THAT(group_error(load({"twice", {0, 0}})),
              HasSubstr("group \"twice\" names two programs of sip0.cube0.pe0, 0 the second"));
  EXPECT_THAT(group_error(load({"one PE's", {0, 1}}), {4}),
              HasSubstr("group \"one PE's\" names two programs of sip0.cube0.pe0, 1 the second"));
  EXPECT_THAT(
      group_error([](tl::In a, tl::In) {
        const std::int64_t me = tl::program_id();
        if (me > 1) return;
        tl::delay(me * 100);
        tl::multicast_load({"pair", me == 0 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1, 0}}, a,
                           {0, 0}, {16, 16});
      }),
      AllOf(HasSubstr("group \"pair\" has the programs [1, 0] here, but [0, 1] for program 0 on sip0.cube0.pe0 at "),
            HasSubstr("give another group another name")));
  EXPECT_THAT(group_error([](tl::In a, tl::In) {
                tl::multicast_load({"me", {tl::program_id()}}, a, {0, 0}, {16, 16},
                                   {.mask = tl::full({16, 16}, true, DType::boolean)});
              }),
              HasSubstr("a multicast takes no mask"));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

TEST(MulticastLoad, AProgramThatNeverJoinsIsNamedWithGroupAndLine) {
  const std::string error = group_error([](tl::In a, tl::In) {
    if (tl::program_id() == 0) tl::multicast_load({"pair", {0, 1}}, a, {0, 0}, {16, 16});
  });
  EXPECT_THAT(first_line(error),
              AllOf(HasSubstr("DeadlockError"), HasSubstr("sip0.cube0.pe1"), HasSubstr("group \"pair\""),
                    HasSubstr("program 1"), HasSubstr("multicast_test.cpp:"), HasSubstr("multicast_load")));
}

TEST(MulticastLoad, ProgramsThatJoinInAnotherOrderWaitForEachOther) {
  // Room for one block each: the second multicast of either has no room before its first one has ended.
  auto options = tiny();
  options.overrides.push_back("pe.tcm.capacity=8KiB");
  const RunResult result = try_simulate(options, [&] {
    const auto x = torch::ones({64, 64}, one_pe(DType::f16));
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
    torch::launch(
        launch, "crossed",
        [&](tl::In a) {
          const bool first = tl::program_id() == 0;
          const tl::MulticastGroup x_group{"x", {0, 1}}, y_group{"y", {0, 1}};
          tl::multicast_load(first ? x_group : y_group, a, {0, 0}, {64, 64});
          tl::multicast_load(first ? y_group : x_group, a, {0, 0}, {64, 64});
        },
        x);
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "DeadlockError");
  EXPECT_THAT(result.error->message, AllOf(HasSubstr("cycle"), HasSubstr("multicast_load")));
  // In one order they do.
  EXPECT_FALSE(try_simulate(options, [&] {
                 const auto x = torch::ones({64, 64}, one_pe(DType::f16));
                 torch::LaunchOptions launch;
                 launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
                 torch::launch(
                     launch, "ordered",
                     [&](tl::In a) {
                       tl::multicast_load({"x", {0, 1}}, a, {0, 0}, {64, 64});
                       tl::multicast_load({"y", {0, 1}}, a, {0, 0}, {64, 64});
                     },
                     x);
                 torch::ahbm::synchronize();
               }).error);
}

TEST(MulticastLoad, AProgramThatFailsWhileOthersWaitIsTheError) {
  EXPECT_THAT(group_error([](tl::In a, tl::In) {
                if (tl::program_id() == 0) return void(tl::multicast_load({"pair", {0, 1}}, a, {0, 0}, {16, 16}));
                tl::delay(1000);
                tl::assume(false);
              }),
              HasSubstr("AssumptionError"));
}

TEST(MulticastLoad, StoresBeforeItAreSeenAndStoresBehindItAreNot) {
  const RunResult result = simulate(tiny(), [&] {
    auto x = torch::zeros({16, 16}, one_pe(DType::f32));
    auto out = torch::empty({16, 16}, one_pe(DType::f32));
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
    torch::launch(
        launch, "order",
        [&](tl::Tensor a, tl::Tensor result_tensor) {
          const bool writer = tl::program_id() == 1;
          if (writer) tl::store(a, {0, 0}, tl::full({16, 16}, 3.0f, DType::f32));
          const auto tile = tl::multicast_load({"pair", {0, 1}}, a, {0, 0}, {16, 16});
          if (writer) tl::store(a, {0, 0}, tl::full({16, 16}, 5.0f, DType::f32));
          if (!writer) tl::store(result_tensor, {0, 0}, tile);
        },
        x, out);
    check_close("first", out, torch::full({16, 16}, 3.0f, torch::kFloat));
    check_close("second", x, torch::full({16, 16}, 5.0f, torch::kFloat));
  });
  for (const CheckResult& check : result.checks) EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
}

}  // namespace
}  // namespace kernbench::tile_test
