// Interleaved tensors through the whole stack: laws, values on shipped machines, figures, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/interleaving.h"
#include "devices.h"
#include "host_copy_law.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::tiny;

constexpr DPPolicy kOverSip{.cube = Placement::interleaved, .pe = Placement::interleaved};
constexpr DPPolicy kOverCubes{.pe = Placement::interleaved};

Time nanoseconds_of(std::int64_t count) {
  return Time::nanoseconds(count);
}

/// An access of `bytes` in one channel of the PE's own slice, on `tiny`: set-up, channel, latency, the TCM port.
Time law_in_own_slice(std::int64_t bytes) {
  return nanoseconds_of(30) + transfer_time(Bytes(bytes), Bandwidth::bytes_per_second(37'500'000'000)) +
         nanoseconds_of(90) + Time::picoseconds(1);
}
/// What the links of one way add: a message, and the way there and back.
Time law_of_way(Time links) {
  return transfer_time(Bytes(32), Bandwidth::gigabytes_per_second(128)) + 2 * links;
}

/// The work of the DMA operation of each launch of `program`, in their order.
std::vector<Time> dma_times(const SimulateOptions& options, const std::function<void()>& program) {
  std::vector<Time> times;
  const RunResult result = simulate(options, [&] {
    program();
    torch::ahbm::synchronize();
  });
  for (const LaunchResult& launch : result.launches) {
    for (const OperationResult& operation : launch.operations)
      if (operation.engine == "dma") times.push_back(operation.work);
  }
  return times;
}

void access_rows(const torch::Tensor& x, const torch::LaunchOptions& reader, bool write, std::int64_t row,
                 std::int64_t rows) {
  if (write) {
    torch::launch(
        reader, "write",
        [](tl::Tensor t, std::int64_t at, std::int64_t count) {
          tl::store(t, {at, 0}, tl::zeros({count, t.size(1)}, DType::f32));
        },
        x, row, rows);
  } else {
    torch::launch(
        reader, "read", [](tl::In t, std::int64_t at, std::int64_t count) { tl::load(t, {at, 0}, {count, t.size(1)}); },
        x, row, rows);
  }
}

// The routers stand in one row: cube 0 PE 0, PE 1, cube 1 PE 0, PE 1. PE 1 of cube 0 accesses each granule of 1 KiB.
TEST(Interleaved, AnAccessPaysTheWayToTheSliceThatTheHashNames) {
  const Time noc = nanoseconds_of(2), edge = nanoseconds_of(8);
  const std::array<Time, 4> laws{law_in_own_slice(1024) + law_of_way(3 * noc), law_in_own_slice(1024),
                                 law_in_own_slice(1024) + law_of_way(2 * noc + edge),
                                 law_in_own_slice(1024) + law_of_way(3 * noc + edge)};
  constexpr std::int64_t kGranules = 24;
  // A page of each slice, the last one of its half of 9 GiB.
  constexpr std::uint64_t kFirst = ((std::uint64_t{9} << 30) / 2 - (64 << 10)) / 1024 * 4;
  for (const bool write : {false, true}) {
    const auto times = dma_times(tiny({"sip.cubes.mesh=[2, 1]"}), [write] {
      const auto x = torch::empty({kGranules, 256}, torch::device("ahbm").placement(kOverSip));
      for (std::int64_t i = 0; i < kGranules; ++i) access_rows(x, {.pes = {{CubeId{0}, PeId{1}}}}, write, i, 1);
    });
    ASSERT_EQ(std::ssize(times), kGranules);
    for (std::int64_t i = 0; i < kGranules; ++i) {
      const std::uint32_t slice = interleaved_part(kFirst + static_cast<std::uint64_t>(i), 4);
      EXPECT_EQ(times[static_cast<std::size_t>(i)], laws[slice]) << "granule " << i << ", write " << write;
    }
  }
}

TEST(Interleaved, SmallGranulesOfOneSliceAreAccessesOfOneLegAndTheFarthestLegIsTheLast) {
  const Time way = law_of_way(3 * nanoseconds_of(2));  // to the PE beside it
  // A write's legs leave through the one TCM port; the first granule is that of the PE's own slice.
  const Time port = transfer_time(Bytes(1024), Bandwidth::gigabytes_per_second(512));
  constexpr std::uint64_t kLastPage = (std::uint64_t{9} << 30) / 2 - (64 << 10);
  for (const std::int64_t granule : {64, 256, 1024}) {
    for (const bool write : {false, true}) {
      const auto times = dma_times(tiny(), [&] {
        DPPolicy policy = kOverCubes;
        policy.granule = Bytes(granule);
        const auto x = torch::empty({8, 128}, torch::device("ahbm").placement(policy));
        access_rows(x, testing::kFirst, write, 0, 4);  // 2 KiB, of which each slice has half
      });
      ASSERT_EQ(times.size(), 1u);
      ASSERT_EQ(interleaved_part(kLastPage / static_cast<std::uint64_t>(granule) * 2, 2), 0u);
      EXPECT_EQ(times.front(), law_in_own_slice(1024) + way + (write ? port : Time::zero()))
          << "granules of " << granule << ", write " << write;
    }
  }
}

// The first granule lies in the slice of the first PE, on every device.
TEST(Interleaved, CopiesOfAGranuleTakeTheTimesOfItsSlice) {
  using testing::kBytes;
  using testing::now;
  using testing::ps;
  simulate(testing::ring_of(2), [] {
    const auto on = [](int device) {
      return torch::TensorOptions(torch::Device(torch::kAHBM, device)).placement(kOverSip);
    };
    const auto x = torch::zeros({testing::kElements}, on(0)), y = torch::zeros({testing::kElements}, on(1));
    testing::wait_for_all();
    Time called = now();
    (void)x.cpu();
    EXPECT_EQ(now() - called, ps(testing::kOverhead) + testing::copy_to_host(kBytes));
    called = now();
    y.copy_(x);
    torch::ahbm::synchronize(1);
    EXPECT_EQ(now() - called, ps(testing::kOverhead) + testing::copy_to_peer(kBytes));
    called = now();
    y.copy_(torch::ones({testing::kElements}));
    torch::ahbm::synchronize(1);
    EXPECT_EQ(now() - called, ps(testing::kOverhead) + testing::copy_to_device(kBytes));
  });
}

// Pages are those of the array, however many slices they are spread over.
TEST(Interleaved, ATlbLooksUpThePagesOfTheArray) {
  const RunResult result = simulate(tiny({"sip.cubes.mesh=[2, 1]", "pe.mmu.page=4KiB", "pe.mmu.miss=120ns"}), [] {
    const auto x = torch::empty({64, 256}, torch::device("ahbm").placement(kOverSip));
    access_rows(x, testing::kFirst, false, 2, 12);  // bytes 2 KiB to 14 KiB
    access_rows(x, testing::kFirst, false, 4, 13);  // 4 KiB to 17 KiB
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(result.tlbs.size(), 1u);
  EXPECT_EQ(result.tlbs.front().misses, 5u);
  EXPECT_EQ(result.tlbs.front().hits, 3u);
}

TEST(Interleaved, BytesAreCountedByTheDistanceOfTheirSlices) {
  const RunResult result = simulate(tiny({"sip.cubes.mesh=[2, 1]"}), [] {
    const auto x = torch::empty({64, 256}, torch::device("ahbm").placement(kOverSip));
    access_rows(x, testing::kFirst, true, 8, 32);
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(result.launches.size(), 1u);
  const DistanceBytes& moved = result.launches.front().distance;
  EXPECT_EQ(moved.own_slice, Bytes(8 << 10));
  EXPECT_EQ(moved.same_cube, Bytes(8 << 10));
  EXPECT_EQ(moved.same_sip, Bytes(16 << 10));
  EXPECT_EQ(moved.other_sips, Bytes(0));
}

/// Random accesses of all PEs to tensors of random placements, copies, functions.
void random_program(std::uint32_t seed, bool reads) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  const auto policy = [&] {
    DPPolicy chosen = pick(0, 1) == 0 ? kOverSip : kOverCubes;
    if (chosen.cube != Placement::interleaved)
      chosen.cube = std::array{Placement::row_wise, Placement::balanced}[pick(0, 1)];
    chosen.granule = std::array{Bytes(0), Bytes(64), Bytes(256), Bytes(2048)}[pick(0, 3)];
    return chosen;
  };
  const DType dtype = std::array{DType::f32, DType::f16, DType::i32}[pick(0, 2)];
  const std::vector<std::int64_t> shape{pick(1, 90), pick(1, 150)};
  const auto host = torch::arange(shape[0] * shape[1], torch::kInt).remainder(97).view(shape).to(dtype);
  const auto options = torch::dtype(dtype).device("ahbm");
  const auto x = host.to(options.placement(policy()));
  auto y = torch::empty(shape, options.placement(pick(0, 2) == 0 ? DPPolicy{} : policy()));
  torch::LaunchOptions all;
  for (int cube = 0; cube < 2; ++cube)
    for (int pe = 0; pe < 3; ++pe) all.pes.push_back({CubeId{cube}, PeId{pe}});
  torch::launch(
      all, "copy_rows",
      [](tl::In from, tl::Tensor to) {
        const std::int64_t columns = from.size(1);
        for (std::int64_t row = tl::program_id(); row < from.size(0); row += tl::num_programs()) {
          if (row % 3 == 0) {
            tl::store(to, {row, 0}, tl::load(from, {row, 0}, {1, columns}));
          } else {
            tl::store(to.data_ptr() + row * columns, {1}, tl::load(from.data_ptr() + row * columns, {columns}, {1}));
          }
        }
      },
      x, y);
  auto z = torch::zeros(shape, torch::dtype(dtype).device(torch::Device(torch::kAHBM, 1)).placement(policy()));
  z.copy_(y);
  z.add_(z);
  check_close("copied rows", y, host, {});
  check_close("doubled", z, host + host, {});
  if (reads) {
    EXPECT_EQ(y[shape[0] - 1][shape[1] - 1].item<float>(), host[shape[0] - 1][shape[1] - 1].item<float>());
    EXPECT_TRUE(z.narrow(1, shape[1] / 2, 1).cpu().equal((host + host).narrow(1, shape[1] / 2, 1)));
  }
}

TEST(Interleaved, ExactEventsThreadsAndMissingDataChangeNoTime) {
  for (std::uint32_t seed = 0; seed < (kSanitized ? 3 : 60); ++seed) {
    const auto run = [seed](bool exact, int threads, bool data, bool reads) {
      SimulateOptions options =
          tiny({"system.sips.count=2", "sip.cubes.mesh=[2, 1]", "cube.pes.mesh=[3, 1]", "cube.hbm.channels=12"});
      options.exact_events = exact;
      options.threads = threads;
      options.data = data;
      RunResult result = simulate(options, [=] { random_program(seed, reads); });
      for (const CheckResult& check : result.checks)
        EXPECT_NE(check.status, CheckStatus::failed) << check.name << ", seed " << seed;
      return result;
    };
    const RunResult fast = run(false, 1, true, true);
    for (const auto& other : {run(true, 1, true, true), run(false, 2, true, true)}) {
      ASSERT_EQ(other.simulated_time, fast.simulated_time) << "seed " << seed;
      ASSERT_EQ(other.times_fingerprint, fast.times_fingerprint) << "seed " << seed;
      ASSERT_EQ(other.values_fingerprint, fast.values_fingerprint) << "seed " << seed;
    }
    const RunResult with = run(false, 1, true, false), without = run(true, 1, false, false);
    ASSERT_EQ(without.simulated_time, with.simulated_time) << "seed " << seed;
    ASSERT_EQ(without.times_fingerprint, with.times_fingerprint) << "seed " << seed;
  }
}

TEST(Interleaved, FunctionsOnTheShippedMachinesAreThoseOfTheHost) {
  if (kThreadSanitizer) GTEST_SKIP() << "a larger machine has no more threads";
  for (const char* machine : {"ahbm-1sip", "ahbm-2sip"}) {
    if (kSanitized && std::string(machine) == "ahbm-1sip") continue;
    SimulateOptions options;
    options.topology = machine;
    if (kSanitized) options.overrides = {"sip.cubes.mesh=[2, 2]"};
    options.threads = 2;
    options.quick_plans = true;
    simulate(options, [] {
      const int device = torch::ahbm::device_count() - 1;
      for (const DPPolicy& policy : {kOverSip, kOverCubes}) {
        if (kSanitized && !(policy == kOverSip)) continue;
        const auto whole = [](std::vector<std::int64_t> shape, std::int64_t range) {
          std::int64_t count = 1;
          for (const std::int64_t extent : shape) count *= extent;
          return (torch::arange(count, torch::kInt).remainder(range) - range / 2).view(shape).to(torch::kFloat);
        };
        const auto on = torch::device(torch::Device(torch::kAHBM, device)).placement(policy);
        const auto a = whole({61, 130}, 7), b = whole({130, 75}, 5);
        const auto x = a.to(on), y = b.to(on);
        EXPECT_TRUE(torch::matmul(x, y).cpu().equal(torch::matmul(a, b)));
        EXPECT_TRUE((x * 2 + 1).cpu().equal(a * 2 + 1));
        EXPECT_TRUE(torch::sum(x, {1}).cpu().equal(torch::sum(a, {1})));
        EXPECT_TRUE(torch::softmax(x, 1).cpu().allclose(torch::softmax(a, 1)));
        EXPECT_TRUE(x.transpose(0, 1).contiguous().cpu().equal(a.transpose(0, 1).contiguous()));
        EXPECT_TRUE(x.slice(0, 3, 50, 2).cpu().equal(a.slice(0, 3, 50, 2)));
        EXPECT_EQ(x[60][129].item<float>(), a[60][129].item<float>());
      }
    });
  }
}

std::string allocation_error(const DPPolicy& policy, std::vector<std::int64_t> shape = {4, 4}) {
  return testing::error_of([&] { torch::empty(shape, torch::device("ahbm").placement(policy).name("x")); },
                           tiny({"sip.cubes.mesh=[2, 1]"}));
}

TEST(Interleaved, PoliciesThatCannotBeAreRefused) {
  EXPECT_THAT(allocation_error({.cube = Placement::interleaved}),
              HasSubstr("DPPolicy: cube is interleaved, but pe is not: granules go to the slices of PEs. Interleave "
                        "both (over all slices of the SIP), or pe alone (over those of each cube)"));
  EXPECT_THAT(allocation_error({.granule = Bytes(64)}), HasSubstr("granule is 64 bytes, but pe is not interleaved"));
  for (const std::int64_t granule : {-64, 3, 32, 96, 128 << 10}) {
    DPPolicy policy = kOverSip;
    policy.granule = Bytes(granule);
    EXPECT_THAT(allocation_error(policy), AllOf(HasSubstr("give a power of two from 64B (cube.hbm.access, at least 8B) "
                                                          "to 64KiB (pe.mmu.page), or 0 for cube.hbm.interleave")))
        << granule;
  }
  EXPECT_THAT(allocation_error({.cube = Placement::interleaved, .pe = Placement::interleaved, .num_cubes = 3}),
              HasSubstr("num_cubes is 3, but the machine has 2"));
}

TEST(Interleaved, OutOfMemoryNamesTheFullestSlice) {
  const auto text = testing::error_of(
      [] {
        const auto mine = torch::empty({1 << 20, 1000}, testing::one_pe().name("mine"));  // 4 GB of 4.5 GiB on PE 0
        torch::empty({1 << 20, 1000}, torch::device("ahbm").placement(kOverSip).name("spread"));
      },
      tiny());
  EXPECT_THAT(text, AllOf(HasSubstr("out of HBM: the interleaved tensor \"spread\""), HasSubstr("each of 2 slices"),
                          HasSubstr("on sip0.cube0.pe0, the fullest"), HasSubstr("\"mine\" 3.906 GiB"),
                          HasSubstr("interleave it over more slices")));
}

TEST(Interleaved, MemoryIsTakenInEqualSharesAndGivenBack) {
  simulate(tiny({"sip.cubes.mesh=[2, 1]"}), [] {
    const auto figures = [] { return torch::ahbm::memory_allocated(); };
    const auto before = figures();
    {
      const auto x = torch::empty({1 << 20}, torch::device("ahbm").placement(kOverSip));
      EXPECT_EQ(figures() - before, 4 << 20) << "a quarter in each of four slices, whole pages";
      const auto y = torch::empty({(1 << 20) + 1}, torch::device("ahbm").placement(kOverSip));
      EXPECT_EQ(figures() - before, (4 << 20) + (4 << 20) + 4 * (64 << 10)) << "one group of granules more";
    }
    EXPECT_EQ(figures(), before);
  });
}

TEST(Interleaved, AnAddressPastTheArrayIsAnErrorWithItsName) {
  const auto text = testing::error_of([] {
    auto x = torch::zeros({100}, torch::device("ahbm").placement(kOverSip).name("x"));
    torch::launch(testing::kFirst, "wrong", [](tl::Tensor t) { tl::store(t.data_ptr() + 100, 0.0F); }, x);
    torch::ahbm::synchronize();
  });
  EXPECT_THAT(text, HasSubstr("x of shape [100]"));
}

TEST(Interleaved, EachPeWorksOnAPartOfItsOwn) {
  simulate(tiny({"sip.cubes.mesh=[2, 1]"}), [] {
    auto x = torch::zeros({10, 7}, torch::device("ahbm").placement(kOverSip));
    torch::launch(
        "mine",
        [](tl::Tensor t) {
          for (std::size_t i = 0; i < t.local_shard_count(); ++i) {
            const auto [offset, shape] = t.local_shard(i);
            tl::store(t, offset, tl::load(t, offset, shape) + static_cast<float>(tl::program_id() + 1));
          }
        },
        x);
    const auto host = x.cpu();
    for (std::int64_t row = 0; row < 10; ++row) {
      const float expected = host[row][0].item<float>();
      EXPECT_TRUE(expected >= 1 && expected <= 4);
      EXPECT_TRUE(host[row].equal(torch::full({7}, expected)));
    }
  });
}

TEST(Interleaved, AtomicsOfAllPesMeetInTheirSlices) {
  simulate(tiny({"sip.cubes.mesh=[2, 1]"}), [] {
    DPPolicy policy = kOverSip;
    policy.granule = Bytes(64);
    auto counters = torch::zeros({100}, torch::dtype(torch::kInt).device("ahbm").placement(policy));
    torch::launch(
        "count",
        [](tl::Tensor t) {
          tl::atomic_add(t.data_ptr() + tl::arange(0, 100), 1);
          for (std::int64_t i = 0; i < 100; i += 9) tl::atomic_add(t.data_ptr() + i, 10);
        },
        counters);
    const auto host = counters.cpu();
    for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(host[i].item<int>(), i % 9 == 0 ? 44 : 4) << i;
  });
  const auto text = testing::error_of(
      [] {
        auto x = torch::zeros({100}, torch::dtype(torch::kInt)
                                         .device("ahbm")
                                         .placement({.cube = Placement::replicate, .pe = Placement::interleaved}));
        torch::launch("count", [](tl::Tensor t) { tl::atomic_add(t.data_ptr(), 1); }, x);
        torch::ahbm::synchronize();
      },
      tiny({"sip.cubes.mesh=[2, 1]"}));
  EXPECT_THAT(text, HasSubstr("is replicated, and an atomic would change one copy of it only"));
}

TEST(Interleaved, CopiesBetweenPlacementsKeepTheElements) {
  simulate(tiny({"sip.cubes.mesh=[2, 1]", "cube.pes.mesh=[3, 1]", "cube.hbm.channels=12"}), [] {
    const auto host = torch::arange(47 * 53, torch::kInt).view({47, 53});
    const std::vector<DPPolicy> policies{
        {},
        kOverSip,
        kOverCubes,
        {.cube = Placement::replicate, .pe = Placement::interleaved, .granule = Bytes(64)},
        {.cube = Placement::column_wise, .pe = Placement::column_wise}};
    for (const DPPolicy& from : policies) {
      for (const DPPolicy& to : policies) {
        const auto x = host.to(torch::device("ahbm").placement(from));
        auto y = torch::zeros({47, 53}, torch::dtype(torch::kInt).device("ahbm").placement(to));
        y.copy_(x);
        EXPECT_TRUE(y.cpu().equal(host));
        y.narrow(1, 7, 11).fill_(-1);
        y[3].copy_(x[5]);
        auto expected = host.clone();
        expected.narrow(1, 7, 11).fill_(-1);
        expected[3].copy_(host[5]);
        EXPECT_TRUE(y.cpu().equal(expected));
        EXPECT_TRUE(y.view({53, 47}).cpu().equal(expected.view({53, 47})));
      }
    }
  });
}

// Kernels take views of consecutive elements of an array, in any shape, wherever they begin.
TEST(Interleaved, AKernelSeesAViewAsATensorOfItsOwn) {
  simulate(tiny({"sip.cubes.mesh=[2, 1]"}), [] {
    DPPolicy policy = kOverSip;
    policy.granule = Bytes(64);
    const auto host = torch::arange(37 * 12, torch::kInt);
    auto x = host.to(torch::device("ahbm").placement(policy));
    auto part = x.narrow(0, 5, 30 * 14).view({30, 14});
    torch::launch(
        "negate",
        [](tl::Tensor t) {
          for (std::size_t i = 0; i < t.local_shard_count(); ++i) {
            const auto [offset, shape] = t.local_shard(i);
            tl::store(t, offset, tl::load(t, offset, shape) * -1);
          }
        },
        part);
    auto expected = host.clone();
    expected.narrow(0, 5, 30 * 14).mul_(-1);
    EXPECT_TRUE(x.cpu().equal(expected));
  });
}

TEST(Interleaved, ElementsThatNobodyWroteAndReplicasThatDifferAreNamed) {
  const auto two_cubes = tiny({"sip.cubes.mesh=[2, 1]"});
  EXPECT_THAT(testing::error_of(
                  [] {
                    auto x = torch::empty({40, 30}, torch::device("ahbm").placement(kOverSip).name("x"));
                    x.narrow(0, 0, 17).fill_(1);
                    x[17].narrow(0, 0, 5).fill_(1);
                    (void)x.cpu();
                  },
                  two_cubes),
              HasSubstr("cpu read element [17, 5] of tensor x, which was never written; initialise it"));
  EXPECT_THAT(testing::error_of(
                  [] {
                    const DPPolicy replicas{.cube = Placement::replicate, .pe = Placement::interleaved};
                    auto x = torch::zeros({4000}, torch::device("ahbm").placement(replicas).name("x"));
                    torch::launch(
                        torch::LaunchOptions{.pes = {{CubeId{1}, PeId{1}}}}, "one",
                        [](tl::Tensor t) { tl::store(t.data_ptr() + 3210, 1.0F); }, x);
                    (void)x.cpu();
                  },
                  two_cubes),
              AllOf(HasSubstr("cpu read tensor x, whose replicas differ"), HasSubstr("sip0.cube0.pe"),
                    HasSubstr("sip0.cube1.pe")));
}

}  // namespace
}  // namespace kernbench
