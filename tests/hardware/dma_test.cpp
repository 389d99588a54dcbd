// The law of the DMA engine, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "bench.h"
#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

OperationRef only_operation(const Bench& bench) {
  EXPECT_EQ(bench.log.operations.size(), 1u);
  return bench.log.operations.front();
}

void append(std::vector<Stage>& route, const std::vector<Stage>& more) {
  route.insert(route.end(), more.begin(), more.end());
}

void expect_read_law(Bench& bench, PeCoordinate pe, const DmaLeg& part) {
  bench.run(pe, [&](ProgramScope& p) { p.load({part}); });
  const OperationRef load = only_operation(bench);
  std::vector<Stage> route{bench.channels(part.slice)};
  append(route, bench.links(Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe)));
  route.push_back(bench.tcm_port(pe));
  const Time request = bench.message_time(Endpoint::pe_port(pe), Endpoint::hbm_slice(part.slice));
  const TransferTimes law =
      bench.transfer_times(route, part.ranges, load->started + bench.topology.pe.dma.setup + request);
  EXPECT_EQ(load->effect, law.departed);
  EXPECT_EQ(load->finished, law.delivered);
}

void expect_write_law(Bench& bench, PeCoordinate pe, const DmaLeg& part) {
  bench.run(pe, [&](ProgramScope& p) { p.store({part}); });
  const OperationRef store = only_operation(bench);
  std::vector<Stage> route{bench.tcm_port(pe)};
  append(route, bench.links(Endpoint::pe_port(pe), Endpoint::hbm_slice(part.slice)));
  route.push_back(bench.channels(part.slice));
  const TransferTimes law = bench.transfer_times(route, part.ranges, store->started + bench.topology.pe.dma.setup);
  EXPECT_EQ(store->effect, law.delivered);
  EXPECT_EQ(store->finished,
            law.delivered + bench.message_time(Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe)));
}

TEST(Dma, OneChunkFromTheOwnSliceTakesSetupChannelLatencyAndPort) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.load({leg(p.pe(), 0, 1000)}); });
  const OperationRef load = only_operation(bench);
  const Time channel = transfer_time(Bytes(1000), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(load->effect, load->started + ps(30'011) + channel + ns(89));
  EXPECT_EQ(load->finished, load->effect + ps(1));  // the port cuts through: its smallest latency
}

TEST(Dma, OneChunkIntoTheOwnSliceTakesSetupPortChannelAndLatency) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.store({leg(p.pe(), 0, 1000)}); });
  const OperationRef store = only_operation(bench);
  const Time channel = transfer_time(Bytes(1000), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(store->effect, store->started + ps(30'011) + ps(1) + channel + ns(89));
  EXPECT_EQ(store->finished, store->effect);
}

TEST(Dma, AShortAccessOccupiesTheChannelForTheSmallestAccess) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.load({leg(p.pe(), 0, 3)}); });
  const OperationRef load = only_operation(bench);
  const Time channel = transfer_time(Bytes(64), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(load->effect, load->started + ps(30'011) + channel + ns(89));
  EXPECT_EQ(load->finished, load->effect + ps(1));
}

class DmaLaw : public testing::TestWithParam<std::int64_t> {};

TEST_P(DmaLaw, HoldsForTheOwnSlice) {
  const DmaLeg part = leg(at(0, 0, 1), 4096, GetParam());
  Bench read(tiny()), write(tiny());
  expect_read_law(read, at(0, 0, 1), part);
  expect_write_law(write, at(0, 0, 1), part);
}

TEST_P(DmaLaw, HoldsForASliceInTheSameCube) {
  const DmaLeg part = leg(at(0, 0, 0), 512, GetParam());
  Bench read(tiny()), write(tiny());
  expect_read_law(read, at(0, 0, 1), part);
  expect_write_law(write, at(0, 0, 1), part);
}

TEST_P(DmaLaw, HoldsForASliceInTheFarthestCube) {
  const DmaLeg part = leg(at(0, 15, 7), 0, GetParam());
  Bench read(ahbm_1sip()), write(ahbm_1sip());
  expect_read_law(read, at(0, 0, 0), part);
  expect_write_law(write, at(0, 0, 0), part);
}

TEST_P(DmaLaw, HoldsForASliceOfAnotherSip) {
  const DmaLeg part = leg(at(1, 3, 1), 0, GetParam());
  const auto machine = small_machine({2, 2}, {2, 1}, 2);
  Bench read(machine), write(machine);
  expect_read_law(read, at(0, 1, 1), part);
  expect_write_law(write, at(0, 1, 1), part);
}

INSTANTIATE_TEST_SUITE_P(Sizes, DmaLaw, testing::Values(1, 64, 1024, 1025, 4096, 65536));

TEST(Dma, RowsOfAMatrixFollowTheLaw) {
  const DmaLeg part{at(0, 2, 1),
                    {StridedRange{100, 37, Bytes(260), 4096}, StridedRange{1 << 19, 3, Bytes(3000), 5000}}};
  const auto machine = small_machine({2, 2}, {2, 1});
  Bench read(machine), write(machine);
  expect_read_law(read, at(0, 1, 0), part);
  expect_write_law(write, at(0, 1, 0), part);
}

TEST(Dma, AllLegsOfADescriptorMustArriveAndTheLastMemoryAccessIsTheEffect) {
  Bench bench(small_machine({2, 2}, {2, 1}));
  const DmaLeg near = leg(at(0, 0, 0), 0, 64), far = leg(at(0, 3, 1), 0, 64);
  bench.run(at(0, 0, 0), [&](ProgramScope& p) { p.load({near, far}); });
  const OperationRef load = only_operation(bench);
  Bench alone(small_machine({2, 2}, {2, 1}));
  alone.run(at(0, 0, 0), [&](ProgramScope& p) { p.load({far}); });
  EXPECT_EQ(load->effect, only_operation(alone)->effect);
  EXPECT_EQ(load->finished, only_operation(alone)->finished);
}

TEST(Dma, OperationsGoRoundTheQueuesAndEachQueueHandlesOneAtATime) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (int i = 0; i < 7; ++i) p.load({leg(p.pe(), static_cast<std::uint64_t>(i) * 8192, 8192)});
  });
  const auto& all = bench.log.operations;
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(all[i]->queue->wait_name(), "sip0.cube0.pe0.dma.queue" + std::to_string(i % 3));
    if (i < 3) {
      EXPECT_EQ(all[i]->started, all[i]->issued);
    } else {
      EXPECT_EQ(all[i]->started, std::max(all[i]->issued, all[i - 3]->finished));
    }
  }
}

TEST(Dma, MoreThan4096LegsAreAnError) {
  Bench bench(tiny());
  const std::vector<DmaLeg> legs(4097, leg(at(0, 0, 0), 0, 64));
  EXPECT_THROW(bench.run(at(0, 0, 0), [&](ProgramScope& p) { p.load(legs); }), ValueError);
}

}  // namespace
}  // namespace kernbench::hardware
