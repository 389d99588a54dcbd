// Copies that are alone repeat themselves, and what repeats itself is skipped: they see and leave the same as burst by
// burst, and so does whatever comes in the midst of them.
#include "hardware/copy/lone_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "sim/errors.h"

namespace kernbench::hardware {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// A slice holds 16 MiB.
topology::Topology roomy(topology::Topology machine) {
  machine.cube.hbm.capacity = Bytes(std::int64_t{16} * machine.cube.pes.count() * kMiB);
  return machine;
}

/// One leg in each of `slices` slices of SIP 0.
std::vector<PeCoordinate> slices_of(const topology::Topology& machine, std::int64_t slices) {
  std::vector<PeCoordinate> all;
  const std::int32_t pes = machine.cube.pes.count();
  for (std::int32_t i = 0; i < slices; ++i) all.push_back(at(0, i / pes, i % pes));
  return all;
}

/// What a run lets one see.
struct Outcome {
  std::vector<std::string> lines;
  std::uint64_t events = 0;
  Time end;
};

/// Two devices, copies and programs on them, and looks at all counters.
class Simulated {
 public:
  Simulated(const topology::Topology& machine, bool exact) : bench(machine, exact) {}

  void read(std::vector<DmaLeg> legs) {
    CopyRequest request;
    request.sip = legs.front().slice.sip;
    request.to_device = false;
    request.legs = std::move(legs);
    request.effect = [this] { note("effect"); };
    request.completed = [this] { note("completed"); };
    bench.machine.copy(std::move(request));
  }
  void read(std::int64_t slices, std::int64_t bytes, std::uint64_t address = 0) {
    std::vector<DmaLeg> legs;
    for (const PeCoordinate slice : slices_of(bench.topology, slices)) legs.push_back(leg(slice, address, bytes));
    read(std::move(legs));
  }
  void move(std::int64_t slices, std::int64_t bytes, std::uint64_t from = 0, std::uint64_t to = 0) {
    PeerCopyRequest request;
    request.source = SipId{0};
    for (const PeCoordinate slice : slices_of(bench.topology, slices)) {
      PeCoordinate there = slice;
      there.sip = SipId{1};
      request.legs.push_back({slice, there, {{from, 1, Bytes(bytes), 0}}, {{to, 1, Bytes(bytes), 0}}});
    }
    request.read = [this] { note("read"); };
    request.written = [this] { note("written"); };
    request.completed = [this] { note("completed"); };
    bench.machine.copy(std::move(request));
  }
  /// A program that loads, on a PE of SIP 0 or 1.
  void launch(std::int32_t sip, std::int32_t pe, std::int64_t bytes) {
    const PeCoordinate on = at(sip, 0, pe);
    bench.launch({bench.program(on,
                                [on, bytes](ProgramScope& p) {
                                  p.load({leg(on, 0, bytes)});
                                  p.store({leg(on, 4096, bytes / 2)});
                                })},
                 [this](const LaunchTimes& t) { note("launch of " + std::to_string(t.first_program.count())); });
  }
  void note(const std::string& what) {
    seen.lines.push_back(what + " at " + std::to_string(bench.scheduler.now().count()));
  }
  void look(std::uint64_t /*unused*/ = 0) {
    std::string all = "counters";
    for (std::uint32_t i = 0; i < bench.machine.fabric().server_count(); ++i) {
      const ServerCounters one = bench.machine.fabric().counters({i});
      all += " " + std::to_string(one.busy.count()) + "/" + std::to_string(one.bytes.count()) + "/" +
             std::to_string(one.bursts);
    }
    note(all);
  }
  /// Something happens at `when`.
  void at_time(Time when, std::function<void()> what) {
    later_.push_back(std::move(what));
    bench.scheduler.schedule(when, sim::Phase::deliver, {1}, later_.size(),
                             sim::call<&Simulated::act>(this, later_.size() - 1));
  }
  Outcome finish() {
    bench.scheduler.run();
    EXPECT_TRUE(bench.machine.fabric().idle());
    EXPECT_EQ(bench.scheduler.ambiguous_orders(), 0u);
    look();
    seen.events = bench.scheduler.events_processed();
    seen.end = bench.scheduler.now();
    for (const CommandRef& operation : bench.log.operations) {
      seen.lines.push_back("operation " + std::to_string(operation->times.started.count()) + " " +
                           std::to_string(operation->times.effect.count()));
    }
    return seen;
  }

  Bench bench;
  Outcome seen;

 private:
  void act(std::uint64_t number) { later_[number](); }
  std::vector<std::function<void()>> later_;
};

using Program = std::function<void(Simulated&)>;

Outcome run(const topology::Topology& machine, bool exact, const Program& program) {
  Simulated one(machine, exact);
  program(one);
  return one.finish();
}

/// Yields what the coalesced run saw.
Outcome expect_alike(const topology::Topology& machine, const Program& program, const std::string& what) {
  const Outcome skipped = run(machine, false, program), exact = run(machine, true, program);
  EXPECT_EQ(skipped.lines, exact.lines) << what;
  EXPECT_EQ(skipped.end, exact.end) << what;
  return skipped;
}

/// The links to the host and between SIPs set the pace, as they do in machines.
topology::Topology with_slow_links(topology::Topology machine) {
  machine.host.link.bandwidth = Bandwidth::gigabytes_per_second(23);
  machine.system.link.bandwidth = Bandwidth::gigabytes_per_second(41);
  return machine;
}

std::vector<topology::Topology> machines() {
  std::vector<topology::Topology> all;
  for (const MeshExtent pes : {MeshExtent{1, 1}, MeshExtent{2, 2}}) {
    all.push_back(roomy(small_machine({2, 1}, pes, 2)));
    all.push_back(roomy(lossy_machine({2, 1}, pes, 2)));
    all.push_back(with_slow_links(all[all.size() - 2]));
    all.push_back(with_slow_links(all[all.size() - 2]));
  }
  return all;
}

constexpr std::int64_t kBurst = 1024;  // of all of them
/// Burst by burst it takes more: each is asked for, has left its memory, and arrives.
std::uint64_t events_of_bursts(std::int64_t bytes) {
  return static_cast<std::uint64_t>(3 * bytes / kBurst);
}

TEST(LoneCopy, TakesAsManyEventsForManyBytesAsForFew) {
  const topology::Topology machine = with_slow_links(roomy(small_machine({2, 2}, {2, 2}, 2)));
  for (const bool peer : {false, true}) {
    const auto events = [&](std::int64_t bytes) {
      return run(machine, false, [&](Simulated& r) { peer ? r.move(16, bytes) : r.read(16, bytes); }).events;
    };
    EXPECT_LE(events(16 * kMiB), 2 * events(kMiB / 16)) << peer;
  }
}

TEST(LoneCopy, IsWhatItIsBurstByBurst) {
  for (const topology::Topology& machine : machines()) {
    const std::int64_t all = std::int64_t{machine.sip.cubes.count()} * machine.cube.pes.count();
    for (const std::int64_t slices : {std::int64_t{1}, all}) {
      const std::int64_t bytes = 3 * kMiB / 4 / slices;
      for (const std::uint64_t address : {0, 100}) {
        const std::string what = machine.name + " " + std::to_string(all) + " " + std::to_string(slices);
        expect_alike(machine, [&](Simulated& r) { r.read(slices, bytes + 3, address); }, what);
        expect_alike(machine, [&](Simulated& r) { r.move(slices, bytes + 3, address, 2048); }, what + " peer");
      }
    }
  }
}

// Rows that are shorter than a burst, legs of several lengths, and several ranges.
TEST(LoneCopy, OfAnyShapeIsWhatItIsBurstByBurst) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  for (int trial = 0; trial < 12; ++trial) {
    const topology::Topology machine =
        roomy(trial % 2 == 0 ? small_machine({2, 1}, {2, 1}, 2) : lossy_machine({2, 1}, {2, 1}, 2));
    std::vector<DmaLeg> legs;
    for (std::int32_t i = 0; i < 4; ++i) {
      DmaLeg one{at(0, i / 2, i % 2), {}};
      for (std::int64_t n = pick(1, 2); n > 0; --n) {
        const std::int64_t row = std::int64_t{64} << pick(0, 6);
        const auto address = static_cast<std::uint64_t>(pick(0, 3) * 512);
        one.ranges.push_back({address, (128 << 10) / row + pick(0, 3), Bytes(row), row * pick(1, 3)});
      }
      legs.push_back(one);
    }
    expect_alike(machine, [&](Simulated& r) { r.read(legs); }, "trial " + std::to_string(trial));
  }
}

// What its memory takes longer for comes in the middle of it.
TEST(LoneCopy, EndsItsRepetitionWhereItsPartsAskForMore) {
  const topology::Topology machine = with_slow_links(roomy(small_machine({1, 1}, {1, 1}, 2)));
  const StridedRange whole{0, 1, Bytes(2 * kMiB), 0}, rows{8 << 20, 1 << 16, Bytes(4), 8};
  for (const bool rows_first : {false, true}) {
    const auto program = [&](Simulated& r) {
      r.read({{at(0, 0, 0), rows_first ? std::vector{rows, whole} : std::vector{whole, rows}}});
    };
    EXPECT_LT(expect_alike(machine, program, rows_first ? "rows first" : "rows last").events,
              events_of_bursts(2 * kMiB));
  }
}

// Bursts wait for room that is on its way back.
TEST(LoneCopy, WaitsForRoomAsBurstByBurst) {
  topology::Topology machine = with_slow_links(roomy(small_machine({2, 1}, {1, 1}, 2)));
  machine.sip.link.buffer = Bytes(kBurst);
  const Outcome outcome = expect_alike(machine, [](Simulated& r) { r.read(2, kMiB); }, "");
  EXPECT_LT(outcome.events, events_of_bursts(2 * kMiB));
}

// Copies, programs on either device, and looks at all counters.
TEST(LoneCopy, HidesNothingFromWhatComesInItsMidst) {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
  const std::vector<topology::Topology> all = machines();
  std::uint64_t events = 0, events_burst_by_burst = 0;
  for (int trial = 0; trial < 12; ++trial) {
    const topology::Topology machine = with_slow_links(all[random() % all.size()]);
    const std::int64_t slices = std::int64_t{machine.sip.cubes.count()} * machine.cube.pes.count();
    const std::int64_t bytes = 4 * kMiB / slices;
    const bool peer = below(2) == 0;
    const auto start = [=](Simulated& r) { peer ? r.move(slices, bytes, 0, 1024) : r.read(slices, bytes); };
    const auto end = static_cast<std::uint64_t>(run(machine, false, start).end.count());
    const Time times[] = {ps(below(end)), ps(below(end)), ps(below(end))};
    const std::int64_t kind = below(4);
    const auto program = [&](Simulated& r) {
      start(r);
      r.at_time(times[0], [&r] { r.look(); });
      r.at_time(times[1], [&r] { r.look(); });
      r.at_time(times[2], [&r, kind, bytes, slices] {
        if (kind == 0) r.launch(0, 0, 3000);
        if (kind == 1) r.read(slices, bytes / 16, 4096);
        if (kind == 2) r.move(1, bytes / 16, 4096, 0);
        if (kind == 3) r.launch(1, 0, 20'000);
      });
    };
    events += expect_alike(machine, program, "trial " + std::to_string(trial)).events;
    events_burst_by_burst += events_of_bursts(bytes * slices);
  }
  EXPECT_LT(events, events_burst_by_burst);
}

// A short copy that comes and goes on the other device within a period is no part of it. One before it has left the
// state in which it leaves that device.
TEST(LoneCopy, RepeatsNothingOfOthers) {
  const topology::Topology machine = with_slow_links(roomy(small_machine({2, 1}, {2, 2}, 2)));
  for (std::int64_t n = 0; n < 24; ++n) {
    const auto program = [n](Simulated& r) {
      const auto other = [&r] { r.read({leg(at(1, 0, 0), 0, 64)}); };
      r.read(8, kMiB / 8);
      other();
      r.at_time(ns(4000 + 700 * n), other);
    };
    expect_alike(machine, program, std::to_string(n));
  }
}

// Acknowledgements come at the instants of landings, and slots come back when they are taken: in the order of names,
// which are other ones in each period.
TEST(LoneCopy, SkipsWherePartsAreAcknowledgedAsOthersLand) {
  topology::Topology machine = roomy(small_machine({1, 1}, {1, 1}, 2));
  machine.system.link.bandwidth = Bandwidth::gigabytes_per_second(16);
  constexpr std::int64_t kMoved = 2 * kMiB, kPace = kBurst * 1000 / 16;
  const Time way =
      Bench(machine).message_time(topology::Endpoint::hbm_slice(at(1, 0, 0)), topology::Endpoint::io_cpu(SipId{0}));
  machine.system.link.latency += ps(kPace - way.count() % kPace);
  const Outcome outcome = expect_alike(machine, [](Simulated& r) { r.move(1, kMoved); }, "tied");
  EXPECT_LT(outcome.events, events_of_bursts(kMoved));
}

// What repeats itself is not skipped past the end of a run, which comes at the same event.
TEST(LoneCopy, EndsWithItsRun) {
  const topology::Topology machine = with_slow_links(roomy(small_machine({2, 1}, {2, 1}, 2)));
  for (const bool exact : {false, true}) {
    Simulated one(machine, exact);
    one.read(4, kMiB);
    sim::RunLimits limits;
    limits.max_time = Time::microseconds(100);
    EXPECT_THROW(one.bench.scheduler.run(limits), sim::TimeLimitError);
    EXPECT_LE(one.bench.scheduler.now(), limits.max_time);
    EXPECT_GT(one.bench.scheduler.now(), Time::microseconds(99));
  }
}

}  // namespace
}  // namespace kernbench::hardware
