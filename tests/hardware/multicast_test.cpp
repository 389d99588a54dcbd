// Multicast loads: the law to the picosecond, counters of links, and what waits for whom.
#include "hardware/dma/multicast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "bench.h"
#include "sim/fiber.h"
#include "support/sanitizers.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

/// Loads of one block by several PEs together, each after a while of its own.
struct Together {
  std::vector<PeCoordinate> pes;
  std::vector<DmaLeg> legs;
  std::vector<Time> delays;
};

/// The number of the place whose farthest other is nearest, of equals the first one.
std::size_t middle(const std::vector<PeCoordinate>& pes) {
  const auto steps = [](PeCoordinate a, PeCoordinate b) {  // of a grid of 4 x 4 cubes of 4 x 2 PEs
    const auto x = [](PeCoordinate pe) { return pe.cube.value % 4 * 4 + pe.pe.value % 4; };
    const auto y = [](PeCoordinate pe) { return pe.cube.value / 4 * 2 + pe.pe.value / 4; };
    return std::abs(x(a) - x(b)) + std::abs(y(a) - y(b));
  };
  std::size_t best = 0;
  int least = INT_MAX;
  for (std::size_t i = 0; i < pes.size(); ++i) {
    int farthest = 0;
    for (const PeCoordinate other : pes) farthest = std::max(farthest, steps(pes[i], other));
    if (farthest < least) best = i;
    least = std::min(least, farthest);
  }
  return best;
}

/// Runs them; the commands by member.
std::vector<CommandRef> run_together(Bench& bench, const Together& what) {
  const auto multicast = std::make_shared<Multicast>("all", what.pes, what.legs, bench.topology, Multicast::Missing());
  std::vector<CommandRef> commands(what.pes.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < what.pes.size(); ++i) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return what.pes[i]; });
  std::vector<ProgramRequest> programs;
  for (const std::size_t i : order) {
    programs.push_back(bench.program(what.pes[i], [&, i](ProgramScope& p) {
      if (what.delays[i] > Time::zero()) sim::this_fiber::sleep(what.delays[i]);
      commands[i] = p.multicast(multicast, i, what.legs);
      sim::this_fiber::sleep(ns(100'000));  // so that no message of a program's end is beside it
    }));
  }
  bench.launch(std::move(programs));
  bench.scheduler.run();
  return commands;
}

std::vector<Stage> path_of(const Bench& bench, PeCoordinate slice, PeCoordinate pe) {
  std::vector<Stage> route{bench.channels(slice)};
  for (const Stage& link : bench.links(Endpoint::hbm_slice(slice), Endpoint::pe_port(pe))) route.push_back(link);
  route.push_back(bench.tcm_port(pe));
  return route;
}

/// The slice that counts the reports.
PeCoordinate home_of(const Together& what) {
  std::vector<PeCoordinate> slices;
  for (const DmaLeg& part : what.legs) slices.push_back(part.slice);
  return slices[middle(slices)];
}

/// When the home slice knows that a member is ready.
Time report_of(const Bench& bench, const Together& what, const std::vector<CommandRef>& commands, std::size_t member) {
  return commands[member]->times.started + bench.topology.pe.dma.setup +
         bench.message_time(Endpoint::pe_port(what.pes[member]), Endpoint::hbm_slice(home_of(what)));
}

/// When all have reported.
Time met(const Bench& bench, const Together& what, const std::vector<CommandRef>& commands) {
  Time last;
  for (std::size_t i = 0; i < what.pes.size(); ++i) last = std::max(last, report_of(bench, what, commands, i));
  return last;
}

/// When the bytes of a leg set out: when the request of the home slice is there.
Time begin_of(const Bench& bench, const Together& what, const std::vector<CommandRef>& commands, std::size_t leg) {
  const PeCoordinate home = home_of(what), slice = what.legs[leg].slice;
  const Time all = met(bench, what, commands);
  return home == slice ? all : all + bench.message_time(Endpoint::hbm_slice(home), Endpoint::hbm_slice(slice));
}

/// Different PEs of a machine of 8 PEs in each cube, of the first `cubes`.
std::vector<PeCoordinate> random_pes(std::mt19937_64& random, std::int32_t cubes, std::size_t most) {
  std::vector<PeCoordinate> all;
  for (std::int32_t cube = 0; cube < cubes; ++cube) {
    for (std::int32_t pe = 0; pe < 8; ++pe) all.push_back(at(0, cube, pe));
  }
  std::ranges::shuffle(all, random);
  all.resize(1 + random() % most);
  return all;
}

Together random_loads(std::mt19937_64& random, std::int32_t cubes, std::size_t most) {
  Together what;
  what.pes = random_pes(random, cubes, most);
  const auto cube = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(cubes));
  what.legs = {leg(at(0, cube, static_cast<std::int32_t>(random() % 8)), random() % 4096,
                   static_cast<std::int64_t>(1 + random() % 40'000))};
  for (std::size_t i = 0; i < what.pes.size(); ++i)
    what.delays.push_back(ns(static_cast<std::int64_t>(random() % 300)));
  return what;
}

TEST(Multicast, InACubeEachMemberTakesSetUpTheLastReportTheRequestTheReadAndItsOwnPath) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    Bench bench(ahbm_1sip());
    const Together what = random_loads(random, 1, 8);
    const auto commands = run_together(bench, what);
    const Time begin = begin_of(bench, what, commands, 0);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const TransferTimes law =
          bench.transfer_times(path_of(bench, what.legs[0].slice, what.pes[i]), what.legs[0].ranges, begin);
      EXPECT_EQ(commands[i]->times.effect, law.departed) << round;  // one read, seen by all
      // The slice's own PE has no link before its port: there the links of the others hold the fork.
      if (what.pes[i] == what.legs[0].slice)
        EXPECT_GE(commands[i]->times.finished, law.delivered) << round;
      else
        EXPECT_EQ(commands[i]->times.finished, law.delivered) << round;
      EXPECT_EQ(commands[i]->times.waited, met(bench, what, commands) - report_of(bench, what, commands, i)) << round;
    }
  }
}

TEST(Multicast, TheMiddleHasTheNearestFarthestOther) {
  std::mt19937_64 random(9);
  for (int round = 0; round < (kSanitized ? 150 : 1000); ++round) {
    const auto pes = random_pes(random, 16, 128);
    ASSERT_EQ(middle_of(pes, ahbm_1sip()), middle(pes)) << round;
  }
}

TEST(Multicast, OverCubesTheLongestBranchTakesItsOwnTimeAndNoneTakesLess) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 30; ++round) {
    Bench bench(ahbm_1sip());
    const Together what = random_loads(random, 16, 24);
    const auto commands = run_together(bench, what);
    const Time begin = begin_of(bench, what, commands, 0);
    Time last, law_of_last;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const TransferTimes law =
          bench.transfer_times(path_of(bench, what.legs[0].slice, what.pes[i]), what.legs[0].ranges, begin);
      EXPECT_GE(commands[i]->times.finished, law.delivered) << round;
      last = std::max(last, commands[i]->times.finished);
      law_of_last = std::max(law_of_last, law.delivered);
    }
    EXPECT_EQ(last, law_of_last) << round;
  }
}

/// Payload bytes by server.
std::map<std::uint32_t, std::int64_t> bytes_by_server(Bench& bench) {
  std::map<std::uint32_t, std::int64_t> bytes;
  for (std::uint32_t server = 0; server < bench.machine.fabric().server_count(); ++server) {
    bytes[server] = bench.machine.fabric().counters(ServerId{server}).bytes.count();
  }
  return bytes;
}

TEST(Multicast, EachLinkOfTheTreeMovesTheBytesOnce) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    Bench bench(ahbm_1sip());
    Together what = random_loads(random, 16, 24);
    const std::int64_t total = what.legs[0].total().count();
    run_together(bench, what);
    const auto moved = bytes_by_server(bench);
    std::set<std::uint32_t> links;
    std::int64_t by_unicasts = 0;
    for (const PeCoordinate pe : what.pes) {
      for (const Stage& at : path_of(bench, what.legs[0].slice, pe)) {
        if (at.group > 1) continue;
        links.insert(at.server.value);
        by_unicasts += total;
      }
    }
    std::int64_t sum = 0, on_tree = 0, messages = 0;
    for (const std::uint32_t server : links) on_tree += moved.at(server) / total * total;
    for (const auto& [server, bytes] : moved) sum += links.contains(server) ? bytes % total : 0;
    const Endpoint home = Endpoint::hbm_slice(what.legs[0].slice);
    for (const PeCoordinate pe : what.pes) messages += std::ssize(bench.links(Endpoint::pe_port(pe), home));
    EXPECT_LE(sum, messages * bench.topology.cube.noc.header.count()) << round;
    if (total > 24 * bench.topology.cube.noc.header.count()) {  // so that requests are told apart
      EXPECT_EQ(on_tree, std::ssize(links) * total) << round;
      EXPECT_LE(on_tree, by_unicasts) << round;
    }
    // The memory reads them once.
    std::int64_t read = 0;
    const Stage channels = bench.channels(what.legs[0].slice);
    for (std::uint32_t i = 0; i < channels.group; ++i) read += moved.at(channels.server.value + i);
    EXPECT_EQ(read, total) << round;
  }
}

TEST(Multicast, MembersSendOneMessageEachAndOneSliceAsksTheOthers) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 10; ++round) {
    Bench bench(ahbm_1sip());
    Together what{random_pes(random, 16, 24), {}, {}};
    what.delays.resize(what.pes.size());
    for (std::int32_t pe = 0; pe < 8; ++pe) what.legs.push_back(leg(at(0, round, pe), 64, 1000 + pe));
    run_together(bench, what);
    std::int64_t expected = 0;
    std::set<std::uint32_t> links;
    const Endpoint home = Endpoint::hbm_slice(home_of(what));
    const auto message = [&](Endpoint from, Endpoint to) {
      for (const Stage& link : bench.links(from, to)) {
        links.insert(link.server.value);
        expected += bench.topology.cube.noc.header.count();
      }
    };
    for (const PeCoordinate pe : what.pes) message(Endpoint::pe_port(pe), home);
    for (const DmaLeg& part : what.legs) {
      if (Endpoint::hbm_slice(part.slice) != home) message(home, Endpoint::hbm_slice(part.slice));
      std::set<std::uint32_t> tree;
      for (const PeCoordinate pe : what.pes) {
        for (const Stage& link : bench.links(Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe)))
          tree.insert(link.server.value);
      }
      expected += std::ssize(tree) * part.total().count();
      links.merge(tree);
    }
    // The messages of a launch are in both.
    Bench idle(ahbm_1sip());
    std::vector<ProgramRequest> programs;
    std::ranges::sort(what.pes);
    for (const PeCoordinate pe : what.pes) programs.push_back(idle.program(pe, [](ProgramScope&) {}));
    idle.launch(std::move(programs));
    idle.scheduler.run();
    const auto moved = bytes_by_server(bench), without = bytes_by_server(idle);
    std::int64_t bytes = 0;
    for (const std::uint32_t link : links) bytes += moved.at(link) - without.at(link);
    EXPECT_EQ(bytes, expected) << round;
  }
}

TEST(Multicast, OfOneMemberIsALoad) {
  for (const std::int32_t pe : {0, 3, 100}) {
    const PeCoordinate reader = at(0, pe / 8, pe % 8);
    const std::vector<DmaLeg> parts{leg(at(0, 2, 5), 192, 20'000), leg(at(0, 9, 1), 64, 700)};
    Bench alone(ahbm_1sip()), together(ahbm_1sip());
    alone.run(reader, [&](ProgramScope& p) { p.load(parts); });
    const auto commands = run_together(together, {{reader}, parts, {Time()}});
    EXPECT_EQ(commands[0]->times.effect, alone.log.operations[0]->times.effect);
    EXPECT_EQ(commands[0]->times.finished, alone.log.operations[0]->times.finished);
  }
}

TEST(Multicast, OfSeveralSlicesEndsWithTheLast) {
  Bench bench(ahbm_1sip());
  const Together what{{at(0, 0, 0), at(0, 0, 3), at(0, 0, 6)},
                      {leg(at(0, 0, 1), 0, 3000), leg(at(0, 0, 5), 0, 9000)},
                      {Time(), ns(40), Time()}};
  const auto commands = run_together(bench, what);
  // What a leg's bytes meet on the way is the other leg's, so the law is a bound.
  for (std::size_t i = 0; i < commands.size(); ++i) {
    for (std::size_t part = 0; part < 2; ++part) {
      const TransferTimes law = bench.transfer_times(path_of(bench, what.legs[part].slice, what.pes[i]),
                                                     what.legs[part].ranges, begin_of(bench, what, commands, part));
      EXPECT_GE(commands[i]->times.effect, law.departed);
      EXPECT_GE(commands[i]->times.finished, law.delivered);
    }
    EXPECT_EQ(commands[i]->times.effect, commands[0]->times.effect);
  }
}

/// What all programs of a random mixture of loads, stores and multicasts saw.
std::vector<Time> random_mixture(std::uint64_t seed, bool exact) {
  std::mt19937_64 random(seed);
  Bench bench(seed % 2 == 0 ? ahbm_1sip() : lossy_machine({4, 4}, {4, 2}), exact);
  const std::size_t count = 6 + random() % 20;
  std::vector<PeCoordinate> pes = random_pes(random, 16, count);
  std::ranges::sort(pes);
  struct Act {
    std::shared_ptr<Multicast> multicast;
    std::vector<std::size_t> members;
    std::vector<DmaLeg> parts;
  };
  std::vector<Act> acts;
  for (int i = 0; i < 12; ++i) {
    Act act;
    const std::vector<PeCoordinate> slices = random_pes(random, 16, 3);
    for (const PeCoordinate slice : slices)
      act.parts.push_back(leg(slice, random() % 2048, static_cast<std::int64_t>(1 + random() % 20'000)));
    for (std::size_t pe = 0; pe < pes.size(); ++pe) {
      if (random() % 2 == 0) act.members.push_back(pe);
    }
    if (act.members.empty()) continue;
    std::vector<PeCoordinate> of;
    for (const std::size_t member : act.members) of.push_back(pes[member]);
    if (random() % 3 > 0)
      act.multicast = std::make_shared<Multicast>("m", of, act.parts, bench.topology, Multicast::Missing());
    acts.push_back(std::move(act));
  }
  std::vector<ProgramRequest> programs;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    const Time delay = ns(static_cast<std::int64_t>(random() % 400));
    programs.push_back(bench.program(pes[pe], [&, pe, delay](ProgramScope& p) {
      if (delay > Time::zero()) sim::this_fiber::sleep(delay);
      for (const Act& act : acts) {
        const auto member = std::ranges::find(act.members, pe);
        if (member == act.members.end()) continue;
        if (act.multicast != nullptr) {
          p.multicast(act.multicast, static_cast<std::size_t>(member - act.members.begin()), act.parts);
        } else if (pe % 3 == 0) {
          p.store(act.parts);
        } else {
          p.load(act.parts);
        }
      }
    }));
  }
  bench.launch(std::move(programs));
  bench.scheduler.run();
  EXPECT_TRUE(bench.machine.fabric().idle());
  EXPECT_EQ(bench.scheduler.ambiguous_orders(), 0u);
  std::vector<Time> times;
  for (const CommandRef& command : bench.log.operations) {
    EXPECT_TRUE(command->done.is_set());
    times.push_back(command->times.effect);
    times.push_back(command->times.finished);
  }
  return times;
}

TEST(Multicast, ExactAndFastRunsOfRandomMixturesAgree) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    ASSERT_EQ(random_mixture(seed, false), random_mixture(seed, true)) << "seed " << seed;
  }
}

// Whatever the instant at which programs are taken back: who waits for members is given up, what is on its way ends.
TEST(Multicast, ProgramsAreTakenBackAtAnyInstant) {
  const std::vector<PeCoordinate> pes{at(0, 0, 0), at(0, 0, 3), at(0, 0, 5)};
  const std::vector<DmaLeg> legs{leg(at(0, 0, 1), 0, 30'000), leg(at(0, 0, 7), 512, 500)};
  for (std::int64_t step = 0; step < 150; step += kSanitized ? 7 : 1) {
    Bench bench(ahbm_1sip());
    std::vector<std::shared_ptr<Multicast>> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(std::make_shared<Multicast>("all", pes, legs, bench.topology, Multicast::Missing()));
    bool cut = false;
    LaunchRequest request{SipId{0}, "test#0", {}, {}};
    request.owner = 7;
    for (std::size_t member = 0; member < pes.size(); ++member) {
      request.programs.push_back(bench.program(pes[member], [&, member](ProgramScope& scope) {
        sim::this_fiber::sleep(ns(static_cast<std::int64_t>(member * 100 + 1)));
        for (std::size_t i = 0; i < all.size(); ++i) {
          if (i < 2 || member > 0) scope.multicast(all[i], member, legs);  // the last one never begins
        }
        if (member == 0) sim::this_fiber::sleep(ns(1'000'000));
      }));
    }
    request.completed = [&](const LaunchTimes& times) { cut = times.cut; };
    bench.machine.launch(std::move(request));
    sim::FiberOptions options;
    options.agent = bench.machine.host_agent(0);
    options.name = "rank 0";
    bench.scheduler.spawn(std::move(options), [&] {
      sim::this_fiber::sleep(Time::nanoseconds(2600) + ps(step * 11'456));
      bench.machine.cancel(7);
    });
    bench.scheduler.run();
    EXPECT_TRUE(cut) << step;
    EXPECT_TRUE(bench.machine.fabric().idle()) << step;
    bench.run(pes[0], [&](ProgramScope& scope) { scope.load({legs}); });
    EXPECT_TRUE(bench.log.operations.back()->done.is_set()) << step;
  }
}

}  // namespace
}  // namespace kernbench::hardware
