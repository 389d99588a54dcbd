// PEs that share a slice: bytes are conserved, nobody exceeds a bandwidth, everybody gets an equal share.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "bench.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

constexpr std::int64_t kBytes = 256 * 1024;
constexpr std::int64_t kChunk = 1024;

// PEs 1 … k read or write the slice of PE 0, all descriptors submitted at one time.
void run(Bench& bench, int k, bool write) {
  std::vector<ProgramRequest> programs;
  for (int pe = 1; pe <= k; ++pe) {
    programs.push_back(bench.program(at(0, 0, pe), [write](ProgramScope& p) {
      sim::this_fiber::sleep_until(Time::microseconds(5));
      const DmaLeg part = leg(at(0, 0, 0), static_cast<std::uint64_t>(p.pe().pe.value) << 20, kBytes);
      write ? p.store({part}) : p.load({part});
    }));
  }
  bench.launch(std::move(programs));
  bench.scheduler.run();
}

class SharedSlice : public testing::TestWithParam<std::tuple<int, bool>> {};
class ReadersOfASlice : public testing::TestWithParam<int> {};

TEST_P(SharedSlice, ConservesBytesAndExceedsNoBandwidth) {
  const auto [k, write] = GetParam();
  Bench bench(small_machine({1, 1}, {4, 2}));
  run(bench, k, write);
  Fabric& fabric = bench.machine.fabric();
  EXPECT_TRUE(fabric.idle());
  EXPECT_EQ(fabric.in_flight(), 0u);
  Time begin = Time::max(), end;
  for (const auto& operation : bench.log.operations) {
    begin = std::min(begin, operation->times.started);
    end = std::max(end, operation->times.finished);
  }
  const Time elapsed = end - begin;
  Bytes moved;
  const Stage group = bench.channels(at(0, 0, 0));
  for (std::uint32_t i = 0; i < group.group; ++i) {
    moved += fabric.counters(ServerId{group.server.value + i}).bytes;
  }
  EXPECT_EQ(moved, Bytes(k * kBytes));
  for (int pe = 1; pe <= k; ++pe) {
    EXPECT_EQ(fabric.counters(bench.tcm_port(at(0, 0, pe)).server).bytes, Bytes(kBytes));
  }
  for (std::uint32_t id = 0; id < fabric.server_count(); ++id) {
    const ServerCounters counters = fabric.counters(ServerId{id});
    EXPECT_LE(transfer_time(counters.bytes, fabric.spec(ServerId{id}).bandwidth), elapsed + Time::microseconds(5));
    if (counters.bytes >= Bytes(kBytes)) {
      EXPECT_LE(transfer_time(counters.bytes, fabric.spec(ServerId{id}).bandwidth), elapsed);
    }
    EXPECT_GE(counters.busy, transfer_time(counters.bytes, fabric.spec(ServerId{id}).bandwidth));
  }
}

// Readers only: writers meet at several routers on their way, each of which shares between its inputs, not flows.
TEST_P(ReadersOfASlice, ShareItWithinAChunkPerFlow) {
  const int k = GetParam();
  Bench bench(small_machine({1, 1}, {4, 2}));
  run(bench, k, false);
  Time first = Time::max(), last, nearest = Time::max(), farthest;
  for (const auto& operation : bench.log.operations) {
    first = std::min(first, operation->times.finished);
    last = std::max(last, operation->times.finished);
  }
  for (int pe = 1; pe <= k; ++pe) {
    const Time there =
        bench.message_time(topology::Endpoint::pe_port(at(0, 0, pe)), topology::Endpoint::hbm_slice(at(0, 0, 0)));
    nearest = std::min(nearest, there);
    farthest = std::max(farthest, there);
  }
  // What the nearest gains while it is alone, on the way there and back, and one chunk of each flow at the slice's
  // link and at a channel.
  const Time chunk = transfer_time(Bytes(kChunk), Bandwidth::gigabytes_per_second(127)) +
                     transfer_time(Bytes(kChunk), Bandwidth::bytes_per_second(149'000'000'000 / 4));
  const Time hops = (farthest - nearest) + transfer_time(Bytes(4 * kChunk), Bandwidth::gigabytes_per_second(127));
  EXPECT_LE(last - first, 2 * hops + k * chunk);
  EXPECT_GE(last - Time::microseconds(5), transfer_time(Bytes(k * kBytes), Bandwidth::gigabytes_per_second(127)));
}

INSTANTIATE_TEST_SUITE_P(Flows, SharedSlice, testing::Combine(testing::Values(1, 2, 3, 5, 7), testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Flows, ReadersOfASlice, testing::Values(2, 3, 5, 7));

}  // namespace
}  // namespace kernbench::hardware
