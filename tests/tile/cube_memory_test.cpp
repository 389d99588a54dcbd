// tl::alloc in the SRAM of a cube: what programs share, its values and order, its records, its errors, its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "harness.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "tile/stream/operation_record.h"

namespace kernbench::tile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kSramPorts[] = {"first_router", "every_router"};

SimulateOptions machine_with_ports(const std::string& topology, const std::string& ports = "first_router") {
  SimulateOptions options;
  options.topology = topology;
  options.threads = 1;
  options.overrides = {"cube.sram.ports=" + ports};
  return options;
}

/// A program on each of the first `cubes` * `pes` PEs, with barriers.
torch::LaunchOptions with_barriers(std::int32_t cubes, std::int32_t pes) {
  torch::LaunchOptions launch;
  for (std::int32_t cube = 0; cube < cubes; ++cube) {
    for (std::int32_t pe = 0; pe < pes; ++pe) launch.pes.push_back({CubeId{cube}, PeId{pe}});
  }
  launch.queues.window = WindowOptions{};
  return launch;
}

/// Each program stores a row in its cube's region, and then adds up what all of its cube have stored.
RunResult sums_of_cubes(const SimulateOptions& options, std::int32_t cubes, std::int32_t pes) {
  return simulate(options, [&] {
    const std::int64_t all = std::int64_t{cubes} * pes;
    const auto x = torch::arange(all * 32, torch::kFloat).view({all, 32}).to(one_pe(DType::f32));
    auto out = torch::empty({all, 32}, one_pe(DType::f32));
    torch::launch(
        with_barriers(cubes, pes), "sums",
        [pes](tl::In a, tl::Tensor result) {
          const std::int64_t me = tl::program_id();
          const auto rows = tl::alloc({pes, 32}, DType::f32, tl::CubeScope{"rows"});
          tl::store(rows, {tl::pe_id(), 0}, tl::load(a, {me, 0}, {1, 32}));
          tl::barrier(tl::Scope::cube);
          tl::store(result, {me, 0}, tl::sum(tl::load(rows, {0, 0}, {pes, 32}), 0, true));
        },
        x, out);
    torch::ahbm::synchronize();
  });
}

TEST(CubeMemory, ProgramsOfACubeSeeWhatOthersOfItHaveStored) {
  for (const char* const ports : kSramPorts) {
    const auto options = machine_with_ports("ahbm-1sip", ports);
    constexpr std::int64_t kPes = 8;
    std::vector<float> values;
    simulate(options, [&] {
      const auto x = torch::arange(2 * kPes * 32, torch::kFloat).view({2 * kPes, 32}).to(one_pe(DType::f32));
      auto out = torch::empty({2 * kPes, 32}, one_pe(DType::f32));
      torch::launch(
          with_barriers(2, kPes), "sums",
          [&](tl::In a, tl::Tensor result) {
            const std::int64_t me = tl::program_id();
            const auto rows = tl::alloc({kPes, 32}, DType::f32, tl::CubeScope{"rows"});
            EXPECT_EQ(rows.dtype(), DType::f32);
            EXPECT_EQ(rows.shape(), (tl::Extents{kPes, 32}));
            tl::store(rows, {tl::pe_id(), 0}, tl::load(a, {me, 0}, {1, 32}));
            tl::barrier(tl::Scope::cube);
            auto [all, token] = tl::load_async(rows, {0, 0}, {kPes, 32});
            tl::wait(token);
            tl::store(result, {me, 0}, tl::sum(all, 0, true));
          },
          x, out);
      const auto host = out.cpu();
      for (std::int64_t i = 0; i < host.numel(); ++i) values.push_back(host.view({host.numel()})[i].item<float>());
    });
    ASSERT_EQ(values.size(), 2u * kPes * 32);
    for (std::int64_t i = 0; i < 2 * kPes * 32; ++i) {
      const std::int64_t cube = i / (kPes * 32), column = i % 32;
      float sum = 0;
      for (std::int64_t pe = 0; pe < kPes; ++pe) sum += static_cast<float>((cube * kPes + pe) * 32 + column);
      ASSERT_EQ(values[static_cast<std::size_t>(i)], sum) << i;
    }
  }
}

TEST(CubeMemory, TimesAreThoseOfExactRunsOfTwoThreadsAndWithoutData) {
  for (const char* const ports : kSramPorts) {
    const auto options = machine_with_ports("ahbm-1sip", ports);
    const RunResult fast = sums_of_cubes(options, 4, 8);
    auto exact = options, threads = options, no_data = options;
    exact.exact_events = true;
    threads.threads = 2;
    no_data.data = false;
    EXPECT_EQ(sums_of_cubes(exact, 4, 8).times_fingerprint, fast.times_fingerprint);
    EXPECT_EQ(sums_of_cubes(threads, 4, 8).times_fingerprint, fast.times_fingerprint);
    EXPECT_EQ(sums_of_cubes(no_data, 4, 8).times_fingerprint, fast.times_fingerprint);
  }
}

TEST(CubeMemory, AccessesOfOneProgramKeepTheirOrder) {
  simulate(machine_with_ports("tiny"), [] {
    auto out = torch::empty({3, 64}, one_pe(DType::f32));
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{1}}};
    torch::launch(
        launch, "order",
        [](tl::Tensor result_tensor) {
          const auto region = tl::alloc({4, 64}, DType::f32, tl::CubeScope{"x"});
          for (int i = 0; i < 3; ++i) {
            tl::store(region, {1, 0}, tl::full({1, 64}, static_cast<float>(i + 1), DType::f32));
            tl::store(result_tensor, {i, 0}, tl::load(region, {1, 0}, {1, 64}));
          }
          const auto token = tl::store_async(region, {0, 0}, tl::full({4, 64}, 9, DType::i32));  // cast to f32
          tl::wait(token);
        },
        out);
    const auto host = out.cpu();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(host[i][63].item<float>(), static_cast<float>(i + 1));
  });
}

TEST(CubeMemory, BytesThatNobodyHasWrittenAreInvalid) {
  for (const bool zero : {false, true}) {
    auto options = machine_with_ports("tiny");
    if (zero) options.uninitialized_memory = UninitializedMemory::zero;
    const RunResult result = try_simulate(options, [] {
      auto out = torch::zeros({1, 8}, one_pe(DType::f32));
      torch::launch(
          "read",
          [](tl::Tensor to) {
            const auto region = tl::alloc({1, 8}, DType::f32, tl::CubeScope{"x"});
            tl::store(to, {0, 0}, tl::load(region, {0, 0}, {1, 8}));
          },
          out);
      EXPECT_EQ(out[0][3].item<float>(), 0.0f);
    });
    ASSERT_EQ(result.error.has_value(), !zero);
    if (result.error) {
      EXPECT_THAT(result.error->message,
                  AllOf(HasSubstr("read memory that nobody had written"), HasSubstr("cube_memory_test.cpp:")));
    }
  }
}

/// Read and written.
std::int64_t bytes_of_srams() {
  hardware::Fabric& fabric = runtime::current_context("test").simulation.machine().fabric();
  std::int64_t bytes = 0;
  for (std::uint32_t server = 0; server < fabric.server_count(); ++server) {
    if (fabric.spec({server}).part.kind == PartKind::sram) bytes += fabric.counters({server}).bytes.count();
  }
  return bytes;
}

TEST(CubeMemory, AMulticastReadsItOnceForAllAndYieldsWhatLoadsYield) {
  for (const char* const ports : kSramPorts) {
    std::int64_t sram_bytes[2] = {0, 0};
    float sums[2] = {0, 0};
    for (const bool together : {false, true}) {
      simulate(machine_with_ports("ahbm-1sip", ports), [&] {
        const auto x = torch::arange(64 * 32, torch::kFloat).view({64, 32}).to(one_pe(DType::f32));
        auto out = torch::empty({8, 1}, one_pe(DType::f32));
        torch::launch(
            with_barriers(1, 8), "share",
            [&](tl::In a, tl::Tensor result) {
              const auto region = tl::alloc({64, 32}, DType::f32, tl::CubeScope{"x"});
              if (tl::pe_id() == 3) tl::store(region, {0, 0}, tl::load(a, {0, 0}, {64, 32}));
              tl::barrier(tl::Scope::cube);
              const auto tile = together
                                    ? tl::multicast_load({"cube", {0, 1, 2, 3, 4, 5, 6, 7}}, region, {0, 0}, {64, 32})
                                    : tl::load(region, {0, 0}, {64, 32});
              tl::store(result, {tl::program_id(), 0}, tl::reshape(tl::sum(tl::ravel(tile), 0), {1, 1}));
            },
            x, out);
        torch::ahbm::synchronize();
        sram_bytes[together ? 1 : 0] = bytes_of_srams();
        sums[together ? 1 : 0] = out[7][0].item<float>();
      });
    }
    EXPECT_EQ(sums[0], sums[1]);
    EXPECT_NE(sums[0], 0.0f);
    EXPECT_EQ(sram_bytes[0], 9 * 64 * 32 * 4);
    EXPECT_EQ(sram_bytes[1], 2 * 64 * 32 * 4);
  }
}

class SramRanges final : public tile::OperationConsumer {
 public:
  void on_operation(const tile::OperationRecord& operation) override {
    operation.for_each_range([&](const tile::ByteRange& range) {
      if (range.memory == tile::MemoryKind::sram) seen.push_back(range);
    });
  }
  std::vector<tile::ByteRange> seen;
};

TEST(CubeMemory, RecordsSayWhichBytesOfWhichSramAreReadAndWritten) {
  SramRanges ranges;
  RunResult result = simulate(machine_with_ports("ahbm-1sip", "every_router"), [&] {
    torch::ahbm::synchronize();
    runtime::current_context("test").simulation.operations().subscribe(ranges, {tile::Topic::operations});
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{3}, PeId{5}}};
    torch::launch(launch, "touch", [] {
      const auto first = tl::alloc({64}, DType::f32, tl::CubeScope{"first"});
      const auto second = tl::alloc({4, 64}, DType::f32, tl::CubeScope{"second"});
      tl::store(second, {1, 0}, tl::full({2, 64}, 1.0f, DType::f32));
      tl::load(second, {0, 32}, {4, 32});
    });
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(ranges.seen.size(), 2u);
  for (const auto& range : ranges.seen) EXPECT_EQ(range.owner, (PeCoordinate{SipId{0}, CubeId{3}, PeId{0}}));
  EXPECT_TRUE(ranges.seen[0].writes);
  EXPECT_EQ(ranges.seen[0].range.address, 256u + 256);  // behind the other region
  EXPECT_EQ(ranges.seen[0].range.total(), Bytes(512));
  EXPECT_FALSE(ranges.seen[1].writes);
  EXPECT_EQ(ranges.seen[1].range.address, 256u + 128);
  EXPECT_EQ(ranges.seen[1].range.rows, 4);
  const auto launch = std::ranges::find(result.launches, "touch", &LaunchResult::kernel);
  EXPECT_EQ(launch->hbm_bytes, Bytes(0));
}

/// The error of a kernel on all PEs of the first cube of `tiny`.
std::string cube_error(const std::function<void()>& kernel, const std::vector<std::string>& overrides = {}) {
  auto options = tiny();
  for (const auto& each : overrides) options.overrides.push_back(each);
  const RunResult result = try_simulate(options, [&] {
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
    torch::launch(launch, "wrong", [&] { kernel(); });
    torch::ahbm::synchronize();
  });
  return result.error ? result.error->type + ": " + result.error->message + " | " + result.error->where : "no error";
}

TEST(CubeMemory, AnotherShapeOrTypeUnderOneNameIsAnErrorThatNamesBoth) {
  const auto both = [](tl::Extents shape, DType dtype) {
    return cube_error([=] {
      if (tl::program_id() == 0) return void(tl::alloc({64, 32}, DType::f16, tl::CubeScope{"weights"}));
      tl::delay(100);
      tl::alloc(shape, dtype, tl::CubeScope{"weights"});
    });
  };
  EXPECT_THAT(
      both({64, 64}, DType::f16),
      AllOf(HasSubstr("ValueError: tl::alloc: \"weights\" is f16 [64, 64] (8 KiB) here on sip0.cube0.pe1, but f16 "
                      "[64, 32] (4 KiB) for program 0 on sip0.cube0.pe0 at cube_memory_test.cpp:"),
            HasSubstr("or another name"), HasSubstr("kernel wrong#0 on sip0.cube0.pe1 (program 1)")));
  EXPECT_THAT(both({64, 32}, DType::f32), HasSubstr("\"weights\" is f32 [64, 32] (8 KiB) here"));
  EXPECT_EQ(both({64, 32}, DType::f16), "no error");
}

TEST(CubeMemory, Misuses) {
  const tl::CubeScope x{"x"};
  EXPECT_THAT(cube_error([] { tl::alloc({4}, DType::f32, tl::CubeScope{}); }),
              HasSubstr("memory of the cube needs a name, by which its programs share it"));
  EXPECT_THAT(cube_error([&] { tl::alloc({4, 0}, DType::f32, x); }), HasSubstr("must be positive in every dimension"));
  EXPECT_THAT(
      cube_error([&] { tl::load(tl::alloc({4, 4}, DType::f32, x), {0, 2}, {4, 4}); }),
      AllOf(HasSubstr("OutOfBoundsError"), HasSubstr("leaves the buffer of shape [4, 4] (from alloc at cube_memory")));
  EXPECT_THAT(cube_error([&] { tl::load(tl::alloc({4, 4}, DType::f32, x), {0}, {4}); }),
              HasSubstr("the buffer has 2 dimensions"));
  EXPECT_THAT(cube_error([&] { tl::store(tl::CubeBuffer(nullptr), {0}, tl::zeros({4}, DType::f32)); }),
              HasSubstr("an empty buffer was used"));
  std::vector<tl::CubeBuffer> kept;
  EXPECT_THAT(cube_error([&] {
                if (tl::program_id() == 0) return kept.push_back(tl::alloc({4}, DType::f32, x));
                tl::delay(100);
                tl::load(kept.front(), {0}, {4});
              }),
              HasSubstr("the buffer is another program's handle; allocate under its name"));
  EXPECT_THAT(cube_error([&] { (void)tl::load_async(tl::alloc({4}, DType::f32, x), {0}, {4}); }),
              HasSubstr("UnawaitedAccessError"));
}

TEST(CubeMemory, MoreThanThereIsIsAnErrorThatNamesCapacityUseAndRegions) {
  const std::string text = cube_error(
      [] {
        if (tl::program_id() > 0) return;
        tl::alloc({40, 1024}, DType::u8, tl::CubeScope{"a"});
        tl::alloc({30, 1024}, DType::u8, tl::CubeScope{"b"});
      },
      {"cube.sram.capacity=64KiB"});
  EXPECT_THAT(text,
              AllOf(HasSubstr("OutOfMemoryError: out of memory in sip0.cube0.sram: \"b\" is u8 [30, 1024] (30 KiB), "
                              "and 24 KiB of 64 KiB are free"),
                    HasSubstr("raise cube.sram.capacity"),
                    HasSubstr("\"a\" u8 [40, 1024] (40 KiB) from program 0 at cube_memory_test.cpp:"),
                    HasSubstr("kernel wrong#0 on sip0.cube0.pe0 (program 0)")));
}

TEST(CubeMemory, SlotsOfQueuesTakeOfTheSameBytes) {
  auto options = tiny();
  options.overrides.push_back("cube.sram.capacity=64KiB");
  const auto run = [&](std::int64_t bytes) {
    return try_simulate(options, [&] {
      torch::LaunchOptions launch;
      launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
      launch.queues.window = WindowOptions{.bytes = Bytes(16 * 1024), .buffer_kind = BufferKind::sram};  // twice
      torch::launch(launch, "both", [&] { tl::alloc({bytes}, DType::u8, tl::CubeScope{"a"}); });
      torch::ahbm::synchronize();
    });
  };
  EXPECT_FALSE(run(32 * 1024).error);
  const RunResult refused = run(32 * 1024 + 1);
  ASSERT_TRUE(refused.error);
  EXPECT_THAT(refused.error->message, HasSubstr("and 32 KiB of 64 KiB are free"));
}

TEST(CubeMemory, ItIsFreeWhenTheLaunchHasEndedAndNotBefore) {
  auto options = tiny();
  options.overrides.push_back("cube.sram.capacity=64KiB");
  simulate(options, [] {
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
    for (int i = 0; i < 3; ++i) {
      // The next launch of the stream starts behind this one, without the host: its region needs the same bytes.
      torch::launch(launch, "all_of_it", [] {
        if (tl::program_id() == 0) return void(tl::alloc({64, 1024}, DType::u8, tl::CubeScope{"a"}));
        tl::delay(2000);  // the region is still there, with what nobody holds a handle of
        tl::store(tl::alloc({64, 1024}, DType::u8, tl::CubeScope{"a"}), {0, 0}, tl::full({1, 64}, 1, DType::u8));
      });
    }
    torch::ahbm::synchronize();
  });
}

TEST(CubeMemory, ProgramsOfAGridThatFollowEachOtherFindTheRegionOfTheirCube) {
  simulate(machine_with_ports("tiny"), [] {
    auto out = torch::zeros({8, 4}, one_pe(DType::f32));
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{0}}};
    launch.grid = {8};
    torch::launch(
        launch, "count",
        [](tl::Tensor result) {
          const auto sum = tl::alloc({1, 4}, DType::f32, tl::CubeScope{"sum"});
          if (tl::program_id() == 0) tl::store(sum, {0, 0}, tl::zeros({1, 4}, DType::f32));
          const auto next = tl::load(sum, {0, 0}, {1, 4}) + 1.0f;
          tl::store(sum, {0, 0}, next);
          tl::store(result, {tl::program_id(), 0}, next);
        },
        out);
    EXPECT_EQ(out[7][2].item<float>(), 8.0f);
  });
}

TEST(CubeMemory, AProgramThatFailsLeavesNothingBehind) {
  auto options = tiny();
  options.overrides.push_back("cube.sram.capacity=64KiB");
  simulate(options, [] {
    torch::LaunchOptions launch;
    launch.pes = {{CubeId{0}, PeId{0}}, {CubeId{0}, PeId{1}}};
    const auto region = [] { return tl::alloc({64, 1024}, DType::u8, tl::CubeScope{"a"}); };
    EXPECT_THROW(
        {
          torch::launch(launch, "fails", [&] {
            const auto mine = region();
            tl::load(mine, {0, 0}, {64, 1024});
            if (tl::program_id() == 1) throw ValueError("on purpose");
          });
          torch::ahbm::synchronize();
        },
        ValueError);
    torch::launch(launch, "goes_on", [&] { region(); });
    torch::ahbm::synchronize();
  });
}

enum class Reads { from_hbm, together, from_sram };

/// How long the PEs of a cube take for what they read of a table of 512 KiB in one far slice: `blocks` blocks of 64 KiB
/// in one order, or rows of 1 KiB of which no two PEs read the same at one time.
Time reading_time(const std::string& ports, Reads from, bool rows) {
  auto options = machine_with_ports("ahbm-1sip", ports);
  options.data = false;
  const RunResult result = simulate(options, [&] {
    const auto table = torch::empty({512, 512}, one_pe(DType::f16));
    torch::LaunchOptions launch;
    for (std::int32_t pe = 0; pe < 8; ++pe) launch.pes.push_back({CubeId{15}, PeId{pe}});
    launch.queues.window = WindowOptions{};
    torch::launch(
        launch, "read",
        [&](tl::In a) {
          const bool staged = from == Reads::from_sram;
          const auto region = tl::alloc({512, 512}, DType::f16, tl::CubeScope{"table"});
          for (std::int64_t i = 0; staged && i < 64; i += 16) {
            const tl::Extents at{64 * tl::pe_id() + i, 0};
            tl::store(region, at, tl::load(a, at, {16, 512}));
          }
          if (staged) tl::barrier(tl::Scope::cube);
          for (std::int64_t i = 0; i < (rows ? 512 : 32); ++i) {
            const tl::Extents at{rows ? (389 * i + 131 * tl::pe_id()) % 512 : 64 * (i % 8), 0};
            const tl::Extents shape{rows ? 1 : 64, 512};
            if (from == Reads::from_hbm) tl::load(a, at, shape);
            if (from == Reads::together) tl::multicast_load({"cube", {0, 1, 2, 3, 4, 5, 6, 7}}, a, at, shape);
            if (from == Reads::from_sram) tl::load(region, at, shape);
          }
        },
        table);
    torch::ahbm::synchronize();
  });
  const auto launch = std::ranges::find(result.launches, "read", &LaunchResult::kernel);
  return launch->end - launch->start;
}

// Staging wins where PEs read what lies in a slice with less bandwidth than the SRAM, and not the same at one time.
// Where they read the same, a multicast wins: each byte leaves its memory once, by as many links.
TEST(CubeMemory, StagingBeatsAFarSliceForLookupsAndAMulticastBeatsBothWhereAllReadTheSame) {
  const Time rows = reading_time(kSramPorts[0], Reads::from_hbm, true);
  const Time blocks = reading_time(kSramPorts[0], Reads::from_hbm, false);
  const Time together = reading_time(kSramPorts[0], Reads::together, false);
  for (const char* const ports : kSramPorts) {
    EXPECT_LT(reading_time(ports, Reads::from_sram, true) * 2, rows) << ports;
    const Time staged = reading_time(ports, Reads::from_sram, false);
    EXPECT_LT(staged * 2, blocks) << ports;
    EXPECT_LT(together, staged) << ports;
  }
}

}  // namespace
}  // namespace kernbench::tile_test
