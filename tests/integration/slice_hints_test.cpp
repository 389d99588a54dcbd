// Which launch of a kernel gives the hints on HBM slices, and when the names of what lies there are looked up.
#include "runtime/observe/slice_hints.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/streams/launches.h"
#include "runtime/streams/stream.h"
#include "tile/program/launch_record.h"

namespace kernbench::runtime {
namespace {

constexpr std::int32_t kPes = 16;

topology::Topology two_cubes() {
  topology::Topology topology;
  topology.sip.cubes = {2, 1};
  topology.cube.pes = {4, 2};
  topology.cube.hbm.capacity = Bytes(16 << 20);
  topology.pe.mmu.page = Bytes(4096);
  return topology;
}

class SliceHintsTest : public ::testing::Test {
 protected:
  SliceHintsTest() {
    plan_.name = "k";
    for (std::int32_t pe = 0; pe < kPes; ++pe) plan_.pes.push_back(x_->descriptor()->shards[pe].owner);
  }

  /// Bytes of the first slices, 64 KiB each, all read.
  tile::LaunchRecord bytes_in(std::int32_t slices) const {
    tile::LaunchRecord record;
    for (std::int32_t i = 0; i < slices; ++i) {
      tile::SlicePlaces& places = record.slices[plan_.pes[i]].places;
      places.bytes = places.read = Bytes(1 << 16);
      places.blocks.add(x_->addresses()[i], 1 << 16, tile::kUseBlock);
    }
    return record;
  }
  tile::LaunchRecord atomics_in_one_place(std::int64_t count) const {
    tile::LaunchRecord record;
    tile::SlicePlaces& places = record.slices[plan_.pes[1]].places;
    places.all_atomics = count;
    places.atomics.add(x_->addresses()[1], count, Bytes(64));
    return record;
  }
  void add(const tile::LaunchRecord& record, Time duration, bool in_region) {
    hardware::LaunchTimes times;
    times.completed = duration;
    log_.add({plan_, times, record, {}, in_region, nothing_}, memory_);
  }
  SliceHints hints_of(const tile::LaunchRecord& record) {
    log_ = {};
    add(record, Time::picoseconds(1), false);
    return *log_.find("k", false);
  }

  addressing::VirtualAddressSpace addresses_{Bytes(4096)};
  tensor::DeviceMemory memory_{two_cubes(), addresses_, nullptr};
  std::shared_ptr<const tensor::DeviceAllocation> x_ =
      memory_.allocate(SipId{0}, "x", DType::f32, std::vector<std::int64_t>{kPes, 1024}, DPPolicy{});
  HeldUp nothing_;
  LaunchPlan plan_;
  SliceHintsLog log_;
};

TEST_F(SliceHintsTest, NamesAreLookedUpWhereNumbersMayLeadToAdvice) {
  const SliceHints hot = hints_of(bytes_in(1));
  EXPECT_EQ(hot.times_mean, kPes);
  EXPECT_EQ(hot.slice, "sip0.cube0.pe0");
  EXPECT_EQ(hot.tensor, "x");
  EXPECT_EQ(hot.slice_read, hot.slice_bytes);
  const SliceHints shared = hints_of(bytes_in(2));
  EXPECT_EQ(shared.times_mean, kPes / 2);
  EXPECT_EQ(shared.slice + shared.tensor, "") << "a look at all tensors for nothing";

  const SliceHints many = hints_of(atomics_in_one_place(2 * kPes));
  EXPECT_EQ(many.atomics_slice, "sip0.cube0.pe1");
  EXPECT_EQ(many.atomics_place, "element [1, 0] of x");
  const SliceHints few = hints_of(atomics_in_one_place(2 * kPes - 1));
  EXPECT_EQ(few.atomics, 2 * kPes - 1);
  EXPECT_EQ(few.atomics_slice + few.atomics_place, "");
}

TEST_F(SliceHintsTest, TheLongestLaunchCountsAndInMarkedRunsOnlyOneWithinTheRegion) {
  const auto times_mean = [&](bool marked) { return log_.find("k", marked)->times_mean; };
  add(bytes_in(1), Time::picoseconds(20), false);
  EXPECT_EQ(log_.find("k", true), nullptr);
  EXPECT_EQ(log_.find("other", false), nullptr);
  add(bytes_in(2), Time::picoseconds(10), true);
  add(bytes_in(4), Time::picoseconds(10), true);
  add(bytes_in(4), Time::picoseconds(5), true);
  EXPECT_EQ(times_mean(false), kPes);
  EXPECT_EQ(times_mean(true), kPes / 2) << "the first one of two that are as long";
  add(bytes_in(8), Time::picoseconds(30), true);
  EXPECT_EQ(times_mean(false), kPes / 8);
  EXPECT_EQ(times_mean(true), kPes / 8);
}

}  // namespace
}  // namespace kernbench::runtime
