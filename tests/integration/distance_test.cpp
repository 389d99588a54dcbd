// What a kernel pays for the distance of what it reads, through the whole stack, and for translating its address.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "programs.h"

namespace kernbench {
namespace {

using testing::tiny;

Time ns(std::int64_t count) {
  return Time::nanoseconds(count);
}

/// PE 1 of cube 0 reads (or writes) 1,000 bytes of each shard of a tensor that lies on both PEs of both cubes, twice.
/// The routers stand in one row: cube 0 PE 0, PE 1, cube 1 PE 0, PE 1. By launch: the only operation.
std::vector<OperationResult> accesses(bool write) {
  const RunResult result = simulate(tiny({"sip.cubes.mesh=[2, 1]", "pe.mmu.miss=120ns"}), [write] {
    auto x = torch::empty({4, 250}, torch::device("ahbm").placement({.num_cubes = 2, .num_pes = 2}));
    torch::LaunchOptions reader;
    reader.pes = {{CubeId{0}, PeId{1}}};
    for (int round = 0; round < 2; ++round) {
      for (const std::int64_t row : {1, 0, 2, 3}) {
        if (write) {
          torch::launch(
              reader, "write",
              [](tl::Tensor t, std::int64_t at) { tl::store(t, {at, 0}, tl::zeros({1, 250}, DType::f32)); }, x, row);
        } else {
          torch::launch(reader, "read", [](tl::In t, std::int64_t at) { tl::load(t, {at, 0}, {1, 250}); }, x, row);
        }
      }
    }
    torch::ahbm::synchronize();
  });
  std::vector<OperationResult> operations;
  for (const LaunchResult& launch : result.launches) {
    for (const OperationResult& operation : launch.operations) {
      if (operation.engine == "dma") operations.push_back(operation);
    }
  }
  return operations;
}

TEST(Distance, AnAccessPaysForItsLinksAndForTheFirstUseOfAPage) {
  // The figures of `tiny`: set-up, one chunk on one channel of 37.5 GB/s, HBM latency, the TCM port's picosecond.
  const Time alone =
      ns(30) + transfer_time(Bytes(1000), Bandwidth::bytes_per_second(37'500'000'000)) + ns(90) + Time::picoseconds(1);
  // A message over links: 32 B at the slowest of them, 128 GB/s.
  const Time message = transfer_time(Bytes(32), Bandwidth::gigabytes_per_second(128));
  const Time noc = ns(2), edge = ns(8), miss = ns(120);
  // Links of one way: own slice none; in, across, out within the cube; to the next cube the middle one is its edge;
  // to the PE behind one more of the mesh.
  const std::vector<std::pair<const char*, Time>> ways{{"own slice", Time::zero()},
                                                       {"same cube", 3 * noc},
                                                       {"next cube", 2 * noc + edge},
                                                       {"next cube, one further", 3 * noc + edge}};
  for (const bool write : {false, true}) {
    const auto operations = accesses(write);
    ASSERT_EQ(operations.size(), 2 * ways.size());
    Time before;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto& [where, links] = ways[i];
      const Time law = alone + (i == 0 ? Time::zero() : message + 2 * links);
      EXPECT_EQ(operations[i].work, law + miss) << where << ", first use of the page; write " << write;
      EXPECT_EQ(operations[ways.size() + i].work, law) << where << ", the page is known; write " << write;
      EXPECT_GT(law, before) << "nearer costs less";
      before = law;
    }
  }
}

TEST(Distance, TheResultCountsLookUpsOfEachPe) {
  const RunResult result = simulate(tiny({"pe.mmu.page=4KiB", "pe.mmu.miss=120ns", "pe.mmu.walkers=2"}), [] {
    auto x = torch::empty({4, 1024}, testing::one_pe());
    torch::launch(
        "read",
        [](tl::In t) {
          tl::load(t, {0, 0}, {3, 1024});
          tl::load(t, {0, 0}, {4, 1024});
        },
        x);
    torch::ahbm::synchronize();
  });
  ASSERT_EQ(result.tlbs.size(), 1u);
  const TlbResult& tlb = result.tlbs.front();
  EXPECT_EQ(tlb.name, "sip0.cube0.pe0.mmu");
  EXPECT_EQ(tlb.hits, 3u);
  EXPECT_EQ(tlb.misses, 4u);
  EXPECT_EQ(tlb.walking, 3 * ns(120)) << "three walks by two walkers, then one";
  const auto& waits = result.launches.front().waits;
  Time missed;
  for (const WaitResult& wait : waits) missed += wait.reason == "TLB miss" ? wait.time : Time::zero();
  EXPECT_EQ(missed, tlb.walking);
}

}  // namespace
}  // namespace kernbench
