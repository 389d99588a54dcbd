// The law of the DMA engine, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "bench.h"
#include "hardware/pe/command_queue.h"
#include "kernbench/error.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

CommandRef only_operation(const Bench& bench) {
  EXPECT_EQ(bench.log.operations.size(), 1u);
  return bench.log.operations.front();
}

void append(std::vector<Stage>& route, const std::vector<Stage>& more) {
  route.insert(route.end(), more.begin(), more.end());
}

void expect_read_law(Bench& bench, PeCoordinate pe, const DmaLeg& part) {
  bench.run(pe, [&](ProgramScope& p) { p.load({part}); });
  const CommandRef load = only_operation(bench);
  std::vector<Stage> route{bench.channels(part.slice)};
  append(route, bench.links(Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe)));
  route.push_back(bench.tcm_port(pe));
  const Time request = bench.message_time(Endpoint::pe_port(pe), Endpoint::hbm_slice(part.slice));
  const TransferTimes law =
      bench.transfer_times(route, part.ranges, load->times.started + bench.topology.pe.dma.setup + request);
  EXPECT_EQ(load->times.effect, law.departed);
  EXPECT_EQ(load->times.finished, law.delivered);
}

void expect_write_law(Bench& bench, PeCoordinate pe, const DmaLeg& part) {
  bench.run(pe, [&](ProgramScope& p) { p.store({part}); });
  const CommandRef store = only_operation(bench);
  std::vector<Stage> route{bench.tcm_port(pe)};
  append(route, bench.links(Endpoint::pe_port(pe), Endpoint::hbm_slice(part.slice)));
  route.push_back(bench.channels(part.slice));
  const TransferTimes law =
      bench.transfer_times(route, part.ranges, store->times.started + bench.topology.pe.dma.setup);
  EXPECT_EQ(store->times.effect, law.delivered);
  EXPECT_EQ(store->times.finished,
            law.delivered + bench.message_time(Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe)));
}

TEST(Dma, OneChunkFromTheOwnSliceTakesSetupChannelLatencyAndPort) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.load({leg(p.pe(), 0, 1000)}); });
  const CommandRef load = only_operation(bench);
  const Time channel = transfer_time(Bytes(1000), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(load->times.effect, load->times.started + ps(30'011) + channel + ns(89));
  EXPECT_EQ(load->times.finished, load->times.effect + ps(1));  // the port cuts through: its smallest latency
}

TEST(Dma, OneChunkIntoTheOwnSliceTakesSetupPortChannelAndLatency) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.store({leg(p.pe(), 0, 1000)}); });
  const CommandRef store = only_operation(bench);
  const Time channel = transfer_time(Bytes(1000), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(store->times.effect, store->times.started + ps(30'011) + ps(1) + channel + ns(89));
  EXPECT_EQ(store->times.finished, store->times.effect);
}

TEST(Dma, AShortAccessOccupiesTheChannelForTheSmallestAccess) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.load({leg(p.pe(), 0, 3)}); });
  const CommandRef load = only_operation(bench);
  const Time channel = transfer_time(Bytes(64), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(load->times.effect, load->times.started + ps(30'011) + channel + ns(89));
  EXPECT_EQ(load->times.finished, load->times.effect + ps(1));
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

TEST_P(DmaLaw, HoldsWithPacketsAndAnHbmThatLosesTime) {
  const DmaLeg part = leg(at(0, 3, 1), 0, GetParam());
  const auto machine = lossy_machine({2, 2}, {2, 1});
  Bench read(machine), write(machine);
  expect_read_law(read, at(0, 0, 0), part);
  expect_write_law(write, at(0, 0, 0), part);
}

TEST(Dma, RowsOfAMatrixFollowTheLaw) {
  const DmaLeg part{at(0, 2, 1),
                    {StridedRange{100, 37, Bytes(260), 4096}, StridedRange{1 << 19, 3, Bytes(3000), 5000}}};
  const auto machine = small_machine({2, 2}, {2, 1});
  Bench read(machine), write(machine);
  expect_read_law(read, at(0, 1, 0), part);
  expect_write_law(write, at(0, 1, 0), part);
}

// The bound of an operation is what it takes alone where the law has a closed form, and never more than what it takes.
TEST_P(DmaLaw, TheBoundIsTheTimeAlone) {
  Bench bench(ahbm_1sip());
  const DmaLeg own = leg(at(0, 5, 3), 0, GetParam());
  bench.run(at(0, 5, 3), [&](ProgramScope& p) {
    p.load({own});
    p.wait_all();
  });
  const CommandRef load = only_operation(bench);
  const CommandBound bound = bench.machine.least(at(0, 5, 3), *load);
  EXPECT_LE(bound.total(), load->times.finished - load->times.started);
  // Accesses of one size over channels that all get as many of them: exactly the law.
  if (GetParam() % 4096 == 0 || GetParam() <= 1024) {
    EXPECT_EQ(bound.total(), load->times.finished - load->times.started);
  }
}

TEST(Dma, NoBoundExceedsTheTimeOfAnyOperation) {
  std::mt19937 random(23);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  Time bounds, times;
  for (int round = 0; round < 150; ++round) {
    Bench bench(round % 3 == 0 ? lossy_machine({2, 2}, {2, 1}) : small_machine({2, 2}, {2, 1}));
    const int operations = static_cast<int>(draw(1, 6));
    bench.run(at(0, 1, 0), [&](ProgramScope& p) {
      for (int i = 0; i < operations; ++i) {
        std::vector<DmaLeg> legs;
        for (int count = static_cast<int>(draw(1, 3)); count > 0; --count) {
          const auto row = draw(1, 3000);
          legs.push_back({at(0, static_cast<std::int32_t>(draw(0, 3)), static_cast<std::int32_t>(draw(0, 1))),
                          {StridedRange{static_cast<std::uint64_t>(draw(0, 9000)), draw(1, 20), Bytes(row),
                                        row + draw(0, 2000)}}});
        }
        draw(0, 1) == 0 ? p.load(legs) : p.store(legs);
      }
      p.wait_all();
    });
    for (const CommandRef& operation : bench.log.operations) {
      const Time bound = bench.machine.least(at(0, 1, 0), *operation).total();
      ASSERT_LE(bound, operation->times.finished - operation->times.started) << "round " << round;
      bounds += bound;
      times += operation->times.finished - operation->times.started;
    }
  }
  EXPECT_GT(bounds * 3, times) << "and it is of some use";
}

TEST(Dma, AllLegsOfADescriptorMustArriveAndTheLastMemoryAccessIsTheEffect) {
  Bench bench(small_machine({2, 2}, {2, 1}));
  const DmaLeg near = leg(at(0, 0, 0), 0, 64), far = leg(at(0, 3, 1), 0, 64);
  bench.run(at(0, 0, 0), [&](ProgramScope& p) { p.load({near, far}); });
  const CommandRef load = only_operation(bench);
  Bench alone(small_machine({2, 2}, {2, 1}));
  alone.run(at(0, 0, 0), [&](ProgramScope& p) { p.load({far}); });
  EXPECT_EQ(load->times.effect, only_operation(alone)->times.effect);
  EXPECT_EQ(load->times.finished, only_operation(alone)->times.finished);
}

topology::Topology with_outstanding(std::int32_t outstanding, std::int32_t depth) {
  topology::Topology machine = tiny();
  machine.pe.dma.outstanding = outstanding;
  machine.pe.dma.depth = depth;
  return machine;
}

TEST(Dma, OperationsGoRoundTheQueuesAndEachQueueHandlesOneAtATimeIfOneMayBeUnderWay) {
  Bench bench(with_outstanding(1, 4));
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (int i = 0; i < 7; ++i) p.load({leg(p.pe(), static_cast<std::uint64_t>(i) * 8192, 8192)});
  });
  const auto& all = bench.log.operations;
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(all[i]->queue->wait_name(), "sip0.cube0.pe0.dma.queue" + std::to_string(i % 3));
    if (i < 3) {
      EXPECT_EQ(all[i]->times.started, all[i]->times.issued);
    } else {
      EXPECT_EQ(all[i]->times.started, std::max(all[i]->times.issued, all[i - 3]->times.finished));
    }
  }
}

TEST(Dma, OperationsOfWhoAsksForFewerQueuesGoRoundThese) {
  const auto queues_of = [](std::int32_t asked) {
    Bench bench(tiny());
    bench.run(at(0, 0, 0), [&](ProgramScope& p) {
      p.use_dma_queues(asked);
      for (int i = 0; i < 5; ++i) p.load({leg(p.pe(), 0, 64)});
    });
    std::string all;
    for (const CommandRef& load : bench.log.operations) all += load->queue->wait_name().text().back();
    return all;
  };
  EXPECT_EQ(queues_of(0), "01201");  // of three
  EXPECT_EQ(queues_of(1), "00000");
  EXPECT_EQ(queues_of(2), "01010");
  EXPECT_EQ(queues_of(3), "01201");
  EXPECT_EQ(queues_of(7), "01201");
}

// One queue, and a slice whose channels are never short: descriptors of one granule each, to channels in turn.
topology::Topology one_queue(std::int32_t outstanding) {
  topology::Topology machine = with_outstanding(outstanding, 64);
  machine.pe.dma.queues = 1;
  machine.pe.control.issue = ps(1);
  return machine;
}

TEST(Dma, DescriptorsBackToBackAreSetUpOneAfterTheOtherAndSoManyAreUnderWay) {
  const Time setup = ps(30'011), granule = transfer_time(Bytes(1000), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  const Time alone = setup + granule + ns(89) + ps(1);
  for (std::int32_t outstanding = 1; outstanding <= 8; ++outstanding) {
    Bench bench(one_queue(outstanding));
    bench.run(at(0, 0, 0), [](ProgramScope& p) {
      for (std::uint64_t i = 0; i < 20; ++i) p.load({leg(p.pe(), i * 1024, 1000)});
    });
    const auto& all = bench.log.operations;
    // A round of `outstanding` descriptors begins when its first place is free, and when all are set up.
    const Time round = std::max(alone, outstanding * setup);
    for (int i = 0; i < 20; ++i) {
      const Command& load = *all[static_cast<std::size_t>(i)];
      const Time expected = all[0]->times.started + (i / outstanding) * round + (i % outstanding) * setup;
      EXPECT_EQ(load.times.started, expected) << outstanding << " under way, descriptor " << i;
      EXPECT_EQ(load.times.finished, expected + alone) << outstanding << " under way, descriptor " << i;
      EXPECT_EQ(load.times.started_by.known(), i > 0);
    }
  }
}

TEST(Dma, AQueueIsBusyWhileAnyDescriptorIsUnderWay) {
  Bench bench(one_queue(3));
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    for (std::uint64_t i = 0; i < 7; ++i) p.load({leg(p.pe(), i * 1024, 1000)});
    sim::this_fiber::sleep(Time::microseconds(3));
    p.load({leg(p.pe(), 0, 1000)});
  });
  const auto& all = bench.log.operations;
  for (const ResourceUsage& usage : bench.machine.usage()) {
    if (usage.name != "sip0.cube0.pe0.dma.queue0") continue;
    EXPECT_EQ(usage.busy,
              (all[6]->times.finished - all[0]->times.started) + (all[7]->times.finished - all[7]->times.started));
  }
}

TEST(Dma, DescriptorsFinishOutOfOrderAndEachFreesItsPlace) {
  topology::Topology machine = small_machine({2, 2}, {2, 1});
  machine.pe.dma.queues = 1;
  machine.pe.dma.outstanding = 2;
  Bench bench(machine);
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.load({leg(at(0, 3, 1), 0, 60'000)});
    p.load({leg(p.pe(), 0, 64)});
    p.load({leg(p.pe(), 4096, 64)});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, all[0]->times.started + ps(30'011));
  EXPECT_LT(all[1]->times.finished, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.started, all[1]->times.finished);
  EXPECT_EQ(all[2]->times.started_by.name, all[1]->command_name());
  EXPECT_LT(all[2]->times.finished, all[0]->times.finished);
}

TEST(Dma, ADescriptorThatWaitsForOperandsHoldsUpThoseBehindIt) {
  Bench bench(one_queue(4));
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    const auto dot = p.gemm({1, 8, 16, 3000});
    p.store({leg(p.pe(), 0, 64)}, {dot});
    p.load({leg(p.pe(), 4096, 64)});
  });
  const auto& all = bench.log.operations;
  EXPECT_EQ(all[1]->times.started, all[0]->times.finished);
  EXPECT_EQ(all[2]->times.ready, all[2]->times.issued);
  EXPECT_EQ(all[2]->times.started, all[1]->times.started + ps(30'011));
}

// Little's law: with N descriptors under way on average, each for the time W, throughput is N / W.
TEST(Dma, ThroughputIsBoundedByDescriptorsUnderWayUntilBandwidthBoundsIt) {
  constexpr std::int64_t kLoadBytes = 4096, kCount = 200;
  const double bandwidth = 149e9;  // of the slice
  double best = 0;
  for (const std::int32_t outstanding : {1, 2, 4, 8, 16, 32}) {
    Bench bench(one_queue(outstanding));
    bench.run(at(0, 0, 0), [](ProgramScope& p) {
      for (std::uint64_t i = 0; i < kCount; ++i) p.load({leg(p.pe(), i * kLoadBytes % (1 << 19), kLoadBytes)});
    });
    const auto& all = bench.log.operations;
    Time under_way;
    Time end;
    for (const CommandRef& load : all) {
      under_way += load->times.finished - load->times.started;
      end = std::max(end, load->times.finished);
    }
    const double span = (end - all[0]->times.started).in_seconds();
    const double throughput = static_cast<double>(kLoadBytes * kCount) / span;
    const double mean = under_way.in_seconds() / span;
    const double residence = under_way.in_seconds() / kCount;
    EXPECT_NEAR(throughput, mean * kLoadBytes / residence, throughput * 1e-9);
    EXPECT_LE(mean, outstanding);
    const double alone = (all[0]->times.finished - all[0]->times.started).in_seconds();
    const double setup_rate = kLoadBytes / bench.topology.pe.dma.setup.in_seconds();
    const double bound = std::min({outstanding * kLoadBytes / alone, bandwidth, setup_rate});
    EXPECT_LE(throughput, bound * (1 + 1e-9)) << outstanding;
    EXPECT_GE(throughput, bound * 0.9) << outstanding;
    EXPECT_GE(throughput, best * (1 - 1e-9)) << "more under way is never slower here";
    best = throughput;
  }
}

TEST(Dma, ADescriptorWithoutLegsEndsWhenItIsSetUp) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) {
    p.load({});
    p.store({});
  });
  for (const CommandRef& operation : bench.log.operations) {
    EXPECT_EQ(operation->times.effect, operation->times.started + ps(30'011));
    EXPECT_EQ(operation->times.finished, operation->times.effect);
  }
}

void expect_atomic_law(const topology::Topology& machine, PeCoordinate pe, const DmaLeg& part) {
  Bench bench(machine);
  bench.run(pe, [&](ProgramScope& p) { p.atomic({part}); });
  const CommandRef atomic = only_operation(bench);
  std::vector<Stage> request{bench.tcm_port(pe)};
  append(request, bench.links(Endpoint::pe_port(pe), Endpoint::hbm_slice(part.slice)));
  request.push_back(bench.channels(part.slice));
  const TransferTimes operands =
      bench.transfer_times(request, part.ranges, atomic->times.started + machine.pe.dma.setup);
  EXPECT_EQ(atomic->times.effect, operands.delivered);
  std::vector<Stage> response = bench.links(Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe));
  response.push_back(bench.tcm_port(pe));
  const TransferTimes old_values = bench.transfer_times(response, {StridedRange{0, 1, part.total(), 0}},
                                                        operands.delivered + machine.cube.hbm.atomic);
  EXPECT_EQ(atomic->times.finished, old_values.delivered);
}

TEST(Dma, AnAtomicTakesEffectWhereItLandsAndEndsWithItsAnswer) {
  const auto four = small_machine({2, 2}, {2, 1});
  const auto two_sips = small_machine({2, 2}, {2, 1}, 2);
  const DmaLeg scattered{at(0, 3, 1), {StridedRange{4, 5, Bytes(4), 4096}, StridedRange{1 << 16, 1, Bytes(3000), 0}}};
  expect_atomic_law(tiny(), at(0, 0, 0), leg(at(0, 0, 0), 64, 4));
  expect_atomic_law(tiny(), at(0, 0, 0), leg(at(0, 0, 1), 64, 4));
  expect_atomic_law(tiny(), at(0, 0, 0), leg(at(0, 0, 1), 64, 5000));
  expect_atomic_law(four, at(0, 0, 0), leg(at(0, 3, 1), 64, 8));
  expect_atomic_law(four, at(0, 0, 0), scattered);
  expect_atomic_law(two_sips, at(0, 1, 1), leg(at(1, 3, 1), 64, 4));
  auto at_once = four;
  at_once.cube.hbm.atomic = Time::zero();
  expect_atomic_law(at_once, at(0, 0, 0), scattered);
}

TEST(Dma, AnAtomicOfOneWordOnTheOwnSliceInNumbers) {
  Bench bench(tiny());
  bench.run(at(0, 0, 0), [](ProgramScope& p) { p.atomic({leg(p.pe(), 64, 4)}); });
  const CommandRef atomic = only_operation(bench);
  const Time channel = transfer_time(Bytes(64), Bandwidth::bytes_per_second(298'000'000'000 / 8));
  EXPECT_EQ(atomic->times.effect, atomic->times.started + ps(30'011) + ps(1) + channel + ns(89));
  const Time port = transfer_time(Bytes(4), Bandwidth::gigabytes_per_second(509));
  EXPECT_EQ(atomic->times.finished, atomic->times.effect + ps(4999) + port + ps(1));
}

TEST(Dma, AnAtomicOfSeveralLegsTakesEffectWithTheLast) {
  const auto machine = small_machine({2, 2}, {2, 1});
  const DmaLeg near = leg(at(0, 0, 0), 0, 64), far = leg(at(0, 3, 1), 0, 64);
  Bench both(machine), alone(machine);
  both.run(at(0, 0, 0), [&](ProgramScope& p) { p.atomic({near, far}); });
  alone.run(at(0, 0, 0), [&](ProgramScope& p) { p.atomic({far}); });
  // The port of the TCM sends the operands of the near leg first.
  const Time port = transfer_time(Bytes(64), Bandwidth::gigabytes_per_second(509));
  EXPECT_EQ(only_operation(both)->times.effect, only_operation(alone)->times.effect + port);
}

TEST(Dma, MoreThan4096LegsAreAnError) {
  Bench bench(tiny());
  const std::vector<DmaLeg> legs(4097, leg(at(0, 0, 0), 0, 64));
  EXPECT_THROW(bench.run(at(0, 0, 0), [&](ProgramScope& p) { p.load(legs); }), ValueError);
}

/// A load or store of 64 KiB on another SIP, over a link with such a buffer.
CommandRef over_a_link(Bytes buffer, bool write, bool exact, std::string* server) {
  auto machine = small_machine({1, 1}, {2, 1}, 2);
  machine.system.link = {Bandwidth::gigabytes_per_second(199), ns(499), buffer};
  Bench bench(machine, exact);
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    const std::vector<DmaLeg> legs{leg(at(1, 0, 1), 0, 1 << 16)};
    write ? p.store(legs) : p.load(legs);
  });
  const CommandRef operation = only_operation(bench);
  *server = bench.machine.fabric().spec(operation->starved.server).name;
  return operation;
}

TEST(Dma, WhatASmallBufferBehindALinkCostsIsKnownWithItsName) {
  for (const bool write : {false, true}) {
    std::string server, ignored;
    const CommandRef small = over_a_link(Bytes(7 * 1024), write, false, &server),
                     exact = over_a_link(Bytes(7 * 1024), write, true, &ignored),
                     enough = over_a_link(Bytes(10'000'000), write, false, &ignored);
    const Time longer =
        (small->times.finished - small->times.started) - (enough->times.finished - enough->times.started);
    EXPECT_GT(longer, Time::microseconds(5));
    EXPECT_GE(small->starved.time, longer);
    EXPECT_LE(small->starved.time, longer + Time::picoseconds(longer.count() / 10))
        << "but for what the link would have idled anyway";
    EXPECT_EQ(server, write ? "sip0.io.to_sip1" : "sip1.io.to_sip0");
    EXPECT_EQ(enough->starved.time, Time());
    EXPECT_EQ(exact->starved.time, small->starved.time);
  }
}

}  // namespace
}  // namespace kernbench::hardware
