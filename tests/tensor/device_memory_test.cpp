#include "tensor/placement/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/error.h"

namespace kernbench::tensor::device_memory_test {
namespace {

topology::Topology small_machine() {
  topology::Topology topology;
  topology.sip.cubes = {2, 1};
  topology.cube.pes = {2, 1};
  topology.cube.hbm.capacity = Bytes(2 << 20);
  topology.pe.mmu.page = Bytes(4096);
  return topology;
}

class CountingListener : public MemoryListener {
 public:
  void on_map(PeCoordinate slice, std::uint64_t address, Bytes bytes, const TensorRange&) override {
    EXPECT_TRUE(mapped.emplace(std::pair(slice, address), bytes).second);
  }
  void on_unmap(PeCoordinate slice, std::uint64_t address, Bytes bytes) override {
    const auto found = mapped.find({slice, address});
    ASSERT_NE(found, mapped.end());
    EXPECT_EQ(found->second, bytes);
    mapped.erase(found);
  }
  std::map<std::pair<PeCoordinate, std::uint64_t>, Bytes> mapped;
};

class DeviceMemoryTest : public ::testing::Test {
 protected:
  auto allocate(const std::string& name, std::vector<std::int64_t> shape, DPPolicy policy = {}) {
    return memory.allocate(SipId{0}, name, DType::f32, shape, policy);
  }
  addressing::VirtualAddressSpace addresses{Bytes(4096)};
  CountingListener listener;
  DeviceMemory memory{small_machine(), addresses, &listener};
};

TEST_F(DeviceMemoryTest, EveryShardIsMappedWhereItsDescriptorSays) {
  const auto x = allocate("x", {10, 1000});  // 3, 3 rows on cube 0 are 3+2; cube 1 alike
  const auto& tensor = *x->descriptor();
  ASSERT_EQ(tensor.shards.size(), 4u);
  EXPECT_EQ(tensor.va % 4096, 0u);
  for (std::size_t i = 0; i < tensor.shards.size(); ++i) {
    const auto& shard = tensor.shards[i];
    EXPECT_EQ(shard.va % 4096, 0u);
    const Bytes bytes = x->shard_bytes(i);
    EXPECT_EQ(bytes.count(), 4 * shard.shape[0] * shard.shape[1]);
    const auto at = addresses.translate({}, shard.va, bytes);
    EXPECT_EQ(at.slice, shard.owner);
    EXPECT_EQ(at.address, x->addresses()[i]);
    EXPECT_EQ(listener.mapped.at({shard.owner, at.address}), bytes);
    EXPECT_THROW(addresses.translate({}, shard.va, bytes + Bytes(1)), OutOfBoundsError);
  }
  EXPECT_EQ(tensor.va + static_cast<std::uint64_t>(tensor.va_bytes.count()),
            tensor.shards[3].va + static_cast<std::uint64_t>(x->shard_bytes(3).count()));
}

TEST_F(DeviceMemoryTest, ReplicasShareTheirVirtualAddress) {
  const auto w = allocate("w", {4, 4}, {Placement::replicate, Placement::row_wise});
  const auto& shards = w->descriptor()->shards;
  ASSERT_EQ(shards.size(), 4u);
  EXPECT_EQ(shards[0].va, shards[2].va);
  EXPECT_EQ(shards[1].va, shards[3].va);
  EXPECT_NE(shards[0].va, shards[1].va);
  EXPECT_EQ(addresses.translate({{0}, {1}, {1}}, shards[1].va, Bytes(4)).slice, shards[3].owner);
}

TEST_F(DeviceMemoryTest, OutOfMemorySaysWhoAskedWhatIsFreeAndWhatIsLive) {
  const auto big = allocate("big", {4, 180'000});
  const auto small = allocate("small", {4, 1024});
  try {
    allocate("huge", {4, 100'000});
    FAIL();
  } catch (const OutOfMemoryError& error) {
    const std::string text = error.what();
    EXPECT_EQ(
        text,
        "out of HBM on sip0.cube0.pe0: tensor \"huge\" (1.526 MiB in all) needs 390.625 KiB there, and 316 KiB of "
        "1 MiB are free (largest block 316 KiB; a shard takes whole pages of 4 KiB); largest live tensors there: "
        "\"big\" 703.125 KiB, \"small\" 4 KiB. "
        "Free tensors, make it smaller, or spread it over more PEs with a DPPolicy");
  }
}

TEST_F(DeviceMemoryTest, AFailedAllocationGivesEverythingBack) {
  const PeCoordinate last{{0}, {1}, {1}};
  const Bytes capacity = memory.free_bytes(last);
  // All but the last PE could hold their shard.
  DPPolicy one{Placement::row_wise, Placement::row_wise, 1, 1};
  const auto first = allocate("first", {200'000}, one);
  const Bytes before = memory.free_bytes({{0}, {0}, {0}});
  EXPECT_THROW(allocate("all", {4, 250'000}), OutOfMemoryError);
  EXPECT_THROW(allocate("all", {4, 262'145}), OutOfMemoryError);
  EXPECT_EQ(memory.free_bytes({{0}, {0}, {0}}), before);
  EXPECT_EQ(memory.free_bytes(last), capacity);
  EXPECT_EQ(addresses.live_ranges(), 1u);
  EXPECT_EQ(listener.mapped.size(), 1u);
}

TEST_F(DeviceMemoryTest, OutOfMemoryTellsFragmentsFromFreeBytes) {
  const DPPolicy one{Placement::row_wise, Placement::row_wise, 1, 1};
  std::vector<std::shared_ptr<const DeviceAllocation>> pages;
  for (int i = 0; i < 256; ++i) pages.push_back(allocate("page" + std::to_string(i), {1024}, one));
  for (std::size_t i = 0; i < 256; i += 2) pages[i].reset();
  try {
    allocate("two pages", {2048}, one);
    FAIL();
  } catch (const OutOfMemoryError& error) {
    EXPECT_THAT(
        error.what(),
        ::testing::HasSubstr("needs 8 KiB there, and 512 KiB of 1 MiB are free (largest "
                             "block 4 KiB; a shard takes whole pages of 4 KiB); largest "
                             "live tensors there: \"page1\" 4 KiB, \"page3\" 4 KiB, \"page5\" 4 KiB, \"page7\" 4 KiB, "
                             "\"page9\" 4 KiB. "));
  }
}

// Slices of 1 MiB in pages of 4 KiB; granules of 1 KiB.
TEST_F(DeviceMemoryTest, AnInterleavedTensorIsOneArrayWithAnEqualShareOfEachSlice) {
  const DPPolicy all{.cube = Placement::interleaved, .pe = Placement::interleaved};
  const auto x = allocate("x", {10, 1000}, all);  // 40 granules, ten for each of four slices
  const auto& tensor = *x->descriptor();
  ASSERT_EQ(tensor.arrays.size(), 1u);
  EXPECT_EQ(tensor.arrays.front().va, tensor.va);
  EXPECT_EQ(tensor.va_bytes, Bytes(40'000));
  EXPECT_EQ(tensor.interleaving, (Interleaving{2, 2, Bytes(1024)}));
  ASSERT_EQ(x->held().size(), 4u);
  for (const auto& held : x->held()) {
    EXPECT_EQ(held.bytes, Bytes(10 << 10));
    EXPECT_EQ(held.address, (1u << 20) - (12 << 10)) << "three pages, at the top of each slice";
    EXPECT_EQ(listener.mapped.at({held.slice, held.address}), held.bytes);
  }
  const auto at = addresses.translate({{0}, {1}, {1}}, tensor.va + 4097, Bytes(40'000 - 4097));
  ASSERT_TRUE(at.region.has_value());
  EXPECT_EQ(at.address, at.region->of_share(x->held().front().address) + 4097);
  EXPECT_THROW(addresses.translate({}, tensor.va, Bytes(40'001)), OutOfBoundsError);

  const auto y = allocate("y", {10, 1000}, {.cube = Placement::replicate, .pe = Placement::interleaved});
  const auto& replicas = y->descriptor()->arrays;
  ASSERT_EQ(replicas.size(), 2u);
  EXPECT_EQ(replicas[0].va, replicas[1].va);
  EXPECT_EQ(addresses.translate({{0}, {1}, {1}}, replicas[0].va, Bytes(1)).slice, (PeCoordinate{{0}, {1}, {0}}));
  EXPECT_EQ(addresses.translate({{0}, {0}, {1}}, replicas[0].va, Bytes(1)).slice, (PeCoordinate{{0}, {0}, {0}}));
}

TEST_F(DeviceMemoryTest, RandomInterleavedTensorsAndShardsNeverOverlapAndAllComesBack) {
  std::mt19937 random(5);
  std::vector<std::shared_ptr<const DeviceAllocation>> live;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    if (!live.empty() && random() % 5 < 2) {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    }
    DPPolicy policy{.num_cubes = static_cast<int>(random() % 3), .num_pes = static_cast<int>(random() % 3)};
    if (random() % 2 == 0) policy.pe = Placement::interleaved;
    if (policy.pe == Placement::interleaved && random() % 2 == 0) policy.cube = Placement::interleaved;
    try {
      live.push_back(allocate("x", {1 + static_cast<std::int64_t>(random() % 90'000)}, policy));
    } catch (const OutOfMemoryError&) {
      ++refused;
    }
    std::pair<PeCoordinate, std::uint64_t> end;
    for (const auto& [begin, bytes] : listener.mapped) {
      ASSERT_TRUE(begin.first != end.first || begin.second >= end.second) << "round " << round;
      ASSERT_LE(begin.second + static_cast<std::uint64_t>(bytes.count()), 1u << 20);
      end = {begin.first, begin.second + static_cast<std::uint64_t>(bytes.count())};
    }
    for (const auto& tensor : live) {
      if (!tensor->descriptor()->is_interleaved()) continue;
      std::size_t i = 0;  // the slices of an array follow each other
      for (const auto& held : tensor->held()) {
        const auto slices = static_cast<std::size_t>(tensor->descriptor()->interleaving.slices());
        ASSERT_EQ(held.address, tensor->addresses()[i++ / slices]);
      }
    }
  }
  EXPECT_GT(refused, 50);
  live.clear();
  EXPECT_TRUE(listener.mapped.empty());
  for (int pe = 0; pe < 4; ++pe)
    EXPECT_EQ(memory.free_bytes({{0}, {pe / 2}, {pe % 2}}), memory.usable_slice_capacity());
}

TEST_F(DeviceMemoryTest, ReplicasBeyondAllCountingAreOutOfMemory) {
  EXPECT_THROW(allocate("vast", {(std::int64_t{1} << 61) - 1},
                        {.cube = Placement::interleaved, .pe = Placement::interleaved, .num_cubes = 1, .num_pes = 1}),
               OutOfMemoryError);
  EXPECT_THROW(allocate("vast", {std::int64_t{1} << 60}, {Placement::replicate, Placement::replicate}),
               OutOfMemoryError);
}

TEST_F(DeviceMemoryTest, StatisticsAreThoseOfAPlainCountOverRandomTensors) {
  std::mt19937_64 random(14);
  struct LiveTensor {
    std::shared_ptr<const DeviceAllocation> allocation;
    std::int64_t requested, pages;
  };
  std::vector<LiveTensor> live;
  MemoryStatistics plain;
  const auto equal = [](const MemoryCount& a, const MemoryCount& b) {
    return a.current == b.current && a.peak == b.peak && a.allocated == b.allocated && a.freed == b.freed;
  };
  for (int round = 0; round < 4'000; ++round) {
    if (random() % 500 == 0) {
      memory.statistics(SipId{0}).reset_peak();
      plain.reset_peak();
    }
    if (random() % 500 == 0) {
      memory.statistics(SipId{0}).reset_accumulated();
      plain.reset_accumulated();
    }
    if (live.empty() || random() % 2 == 0) {
      const DPPolicy policy{static_cast<Placement>(random() % 5), static_cast<Placement>(random() % 5)};
      const std::vector<std::int64_t> shape{static_cast<std::int64_t>(random() % 600),
                                            static_cast<std::int64_t>(random() % 600)};
      std::int64_t requested = 0, pages = 0;
      for (const auto& spec : resolve_dp_policy(policy, shape, 4, 2, 2, SipId{0})) {
        requested += spec.bytes;
        pages += (spec.bytes + 4095) / 4096;
      }
      try {
        live.push_back({allocate("t", shape, policy), requested, pages});
        plain.tensors.add(1);
        plain.requested.add(requested);
        plain.allocated.add(4096 * pages);
      } catch (const OutOfMemoryError&) {
        ++plain.out_of_memory;
      }
    } else {
      std::swap(live[random() % live.size()], live.back());
      plain.tensors.remove(1);
      plain.requested.remove(live.back().requested);
      plain.allocated.remove(4096 * live.back().pages);
      live.pop_back();
    }
    const MemoryStatistics& counted = memory.statistics(SipId{0});
    ASSERT_TRUE(equal(counted.tensors, plain.tensors)) << round;
    ASSERT_TRUE(equal(counted.requested, plain.requested)) << round;
    ASSERT_TRUE(equal(counted.allocated, plain.allocated)) << round;
    ASSERT_EQ(counted.out_of_memory, plain.out_of_memory);
    std::int64_t free = 0;
    for (int i = 0; i < 4; ++i) free += memory.free_bytes({{0}, {i / 2}, {i % 2}}).count();
    ASSERT_EQ(counted.allocated.current + free, memory.sip_capacity().count());
  }
  EXPECT_GT(plain.out_of_memory, 0);
}

TEST_F(DeviceMemoryTest, RandomTensorsComeAndGoWithoutLeak) {
  std::mt19937_64 random(13);
  std::vector<std::shared_ptr<const DeviceAllocation>> live;
  for (int round = 0; round < 4'000; ++round) {
    if (live.empty() || random() % 2 == 0) {
      const DPPolicy policy{static_cast<Placement>(random() % 5), static_cast<Placement>(random() % 5)};
      try {
        live.push_back(allocate(
            "t", {static_cast<std::int64_t>(random() % 300), static_cast<std::int64_t>(random() % 300)}, policy));
      } catch (const OutOfMemoryError&) {
      }
    } else {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    }
  }
  live.clear();
  EXPECT_TRUE(listener.mapped.empty());
  EXPECT_EQ(addresses.live_ranges(), 0u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(memory.free_bytes({{0}, {i / 2}, {i % 2}}), memory.slice_capacity());
}

TEST_F(DeviceMemoryTest, ATensorWithoutElementsHasARangeAndNoShard) {
  const auto x = allocate("x", {0, 4});
  EXPECT_TRUE(x->descriptor()->shards.empty());
  EXPECT_THROW(addresses.translate({}, x->descriptor()->va, Bytes(1)), OutOfBoundsError);
}

}  // namespace
}  // namespace kernbench::tensor::device_memory_test
