// The law of address translation, to the picosecond.
#include "hardware/mmu/tlb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

#include "bench.h"

namespace kernbench::hardware {
namespace {

topology::MmuSpec spec(std::int32_t entries, std::int32_t walkers = 1) {
  return {.page = Bytes(4096), .tlb_entries = entries, .miss = ps(1009), .walkers = walkers};
}

std::vector<PageRange> run_of(std::uint64_t first, std::uint64_t count) {
  return {{first, count, 1, 0}};
}

TEST(Tlb, EachPageMissesOnceWhileAllFit) {
  Tlb tlb(spec(8));
  EXPECT_EQ(tlb.translate(run_of(100, 8)), 8 * ps(1009));
  EXPECT_EQ(tlb.translate(run_of(100, 8)), Time::zero());
  EXPECT_EQ(tlb.counters(), (TlbCounters{8, 8, 8 * ps(1009)}));
}

TEST(Tlb, WalksOfOneDescriptorOverlapAsFarAsThereAreWalkers) {
  for (const std::int32_t walkers : {1, 2, 3, 8}) {
    for (std::uint64_t pages = 0; pages <= 17; ++pages) {
      Tlb tlb(spec(64, walkers));
      const auto rounds = (static_cast<std::int64_t>(pages) + walkers - 1) / walkers;
      EXPECT_EQ(tlb.translate(run_of(5, pages)), rounds * ps(1009)) << pages << " pages, " << walkers << " walkers";
    }
  }
}

TEST(Tlb, WalksThatLastLongerThanASimulationLastAsLongAsOne) {
  topology::MmuSpec slow = spec(8);
  slow.miss = Time::seconds(1'000'000);
  EXPECT_EQ(Tlb(slow).translate(run_of(5, 4)), Time::seconds(4'000'000));
  EXPECT_EQ(Tlb(slow).translate(run_of(5, 20)), Time::limit());
}

TEST(Tlb, TheLeastRecentlyUsedPageGoesFirst) {
  Tlb tlb(spec(3));
  for (const std::uint64_t page : {1, 2, 3, 1, 4}) tlb.translate(run_of(page, 1));
  EXPECT_FALSE(tlb.holds(2));
  EXPECT_TRUE(tlb.holds(1));
  EXPECT_TRUE(tlb.holds(3));
  EXPECT_TRUE(tlb.holds(4));
}

TEST(Tlb, ALoopOverOnePageMoreThanItsReachNeverHits) {
  Tlb tlb(spec(16));
  for (int round = 0; round < 5; ++round) tlb.translate(run_of(0, 17));
  EXPECT_EQ(tlb.counters().hits, 0u);
  EXPECT_EQ(tlb.counters().misses, 5u * 17);
}

TEST(Tlb, RowsAreLookedUpOneAfterAnother) {
  Tlb tlb(spec(64));
  const std::vector<PageRange> rows{{10, 2, 3, 5}};  // 10 11, 15 16, 20 21
  EXPECT_EQ(tlb.translate(rows), 6 * ps(1009));
  for (std::uint64_t page = 0; page < 30; ++page) {
    const bool touched = page >= 10 && page <= 21 && (page % 5) < 2;
    EXPECT_EQ(tlb.holds(page), touched) << page;
  }
}

/// Pages in the order of their last use, the latest first.
class ListOfPages {
 public:
  explicit ListOfPages(std::size_t capacity) : capacity_(capacity) {}
  bool look_up(std::uint64_t page) {
    const auto found = std::ranges::find(pages_, page);
    const bool hit = found != pages_.end();
    if (hit) pages_.erase(found);
    pages_.push_front(page);
    if (pages_.size() > capacity_) pages_.pop_back();
    return hit;
  }

 private:
  std::size_t capacity_;
  std::list<std::uint64_t> pages_;
};

TEST(Tlb, AgreesWithAListOfPagesOnRandomTraffic) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const std::int32_t entries = static_cast<std::int32_t>(random() % 70) + 1;
    const std::int32_t walkers = static_cast<std::int32_t>(random() % 5) + 1;
    Tlb tlb(spec(entries, walkers));
    ListOfPages pages(static_cast<std::size_t>(entries));
    const std::uint64_t far = seed % 2 == 0 ? 1 : std::uint64_t{1} << 40;  // neighbours, or pages far apart
    for (int step = 0; step < 3000; ++step) {
      const PageRange range{random() % 100 * far, random() % 4, random() % 3 + 1, random() % 50 * far};
      std::int64_t misses = 0;
      for (std::uint64_t row = 0; row < range.rows; ++row) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
          misses += pages.look_up(range.first + row * range.stride + i) ? 0 : 1;
        }
      }
      const std::vector<PageRange> ranges{range};
      ASSERT_EQ(tlb.translate(ranges), (misses + walkers - 1) / walkers * ps(1009)) << "seed " << seed;
    }
    ASSERT_LE(tlb.size(), static_cast<std::size_t>(entries));
  }
}

// ---- in a machine

topology::Topology machine_with(std::int32_t entries, std::int32_t walkers) {
  topology::Topology topology = tiny();
  topology.pe.mmu = spec(entries, walkers);
  return topology;
}

CommandRef load(ProgramScope& program, std::vector<PageRange> pages) {
  return program.load({leg(program.pe(), 0, 64)}, {}, std::move(pages));
}

TEST(TlbInAMachine, ADescriptorIsSetUpLaterByItsWalks) {
  const auto ends = [](std::vector<PageRange> pages) {
    Bench bench(machine_with(64, 2));
    bench.run(at(0, 0, 0), [&](ProgramScope& p) { load(p, pages); });
    const Command& operation = *bench.log.operations.front();
    return std::tuple{operation.times.effect - operation.times.started,
                      operation.times.finished - operation.times.started, operation.times.translation};
  };
  const auto [effect, end, none] = ends({});
  EXPECT_EQ(none, Time::zero());
  for (std::uint64_t pages = 1; pages <= 5; ++pages) {
    const Time walks = static_cast<std::int64_t>((pages + 1) / 2) * ps(1009);
    EXPECT_EQ(ends(run_of(3, pages)), (std::tuple{effect + walks, end + walks, walks}));
  }
}

TEST(TlbInAMachine, TheNextDescriptorOfTheQueueIsSetUpAfterTheWalks) {
  topology::Topology topology = machine_with(64, 2);
  topology.pe.dma.queues = 1;
  Bench bench(topology);
  bench.run(at(0, 0, 0), [&](ProgramScope& p) {
    load(p, run_of(1, 3));
    load(p, run_of(1, 3));
    load(p, {});
  });
  const auto& operations = bench.log.operations;
  EXPECT_EQ(operations[1]->times.started, operations[0]->times.started + topology.pe.dma.setup + 2 * ps(1009));
  EXPECT_EQ(operations[2]->times.started, operations[1]->times.started + topology.pe.dma.setup)
      << "the pages are known by now";
}

TEST(TlbInAMachine, QueuesOfAPeShareTheTlbAndPesDoNot) {
  Bench bench(machine_with(64, 1));
  const auto body = [](ProgramScope& p) {
    load(p, run_of(7, 1));
    load(p, run_of(7, 1));  // on the next queue
  };
  bench.launch({bench.program(at(0, 0, 0), body), bench.program(at(0, 0, 1), body)});
  bench.scheduler.run();
  const auto usage = bench.machine.tlb_usage();
  ASSERT_EQ(usage.size(), 2u);
  for (const TlbUsage& one : usage) EXPECT_EQ(one.counters, (TlbCounters{1, 1, ps(1009)}));
}

TEST(TlbInAMachine, ACopyOfTheHostUsesNone) {
  Bench bench(machine_with(64, 1));
  bench.machine.copy(
      {.sip = {0}, .to_device = true, .legs = {leg(at(0, 0, 0), 0, 4096)}, .effect = [] {}, .completed = [] {}});
  bench.scheduler.run();
  EXPECT_TRUE(bench.machine.tlb_usage().empty());
}

TEST(TlbInAMachine, ExactAndCoalescedAgree) {
  std::vector<Told> told[2];
  for (const bool exact : {false, true}) {
    Bench bench(machine_with(4, 2), exact);
    const auto body = [](ProgramScope& p) {
      for (std::uint64_t i = 0; i < 40; ++i) {
        p.load({leg(at(0, 0, static_cast<std::int32_t>(i % 2)), 512 * i, 5000)}, {}, run_of(i * i % 7, 1 + i % 3));
      }
    };
    bench.launch({bench.program(at(0, 0, 0), body), bench.program(at(0, 0, 1), body)});
    bench.scheduler.run();
    told[exact ? 1 : 0] = bench.log.told;
  }
  EXPECT_EQ(told[0], told[1]);
}

}  // namespace
}  // namespace kernbench::hardware
