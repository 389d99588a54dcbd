// Graphs of launches, to the picosecond: one message brings all of them, and each goes out when those before it are
// over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "launch_queues.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

using After = std::vector<std::vector<std::size_t>>;

/// One after the other.
After chain(std::size_t launches) {
  After after(launches);
  for (std::size_t i = 1; i < launches; ++i) after[i] = {i - 1};
  return after;
}

std::string step(std::size_t i) {
  return "g" + std::to_string(i);
}

/// A graph of launches "g0", "g1", … of one program on `pe` each.
GraphRequest graph_on(Queues& queues, PeCoordinate pe, Time time, After after, std::uint64_t queue = 1,
                      std::uint64_t owner = 0) {
  GraphRequest graph;
  for (std::size_t i = 0; i < after.size(); ++i) {
    graph.launches.push_back(queues.request(step(i), queue, {pe}, time, owner));
  }
  graph.after = std::move(after);
  return graph;
}

/// From the command to the end of the handling of a message with so many launches.
Time list_to_io_cpu(const Bench& bench, std::int64_t launches) {
  const Bytes list(launches * bench.topology.cube.noc.header.count());
  return kDoorbell + bench.message_time(Endpoint::host(), Endpoint::io_cpu(SipId{0}), list) +
         bench.topology.sip.io.cpu_latency;
}

void expect_chain_law(const topology::Topology& machine, PeCoordinate pe, std::size_t launches) {
  Queues queues(machine);
  const Bench& bench = queues.bench;
  queues.bench.machine.launch(graph_on(queues, pe, ns(100), chain(launches)));
  queues.run();
  const Time each = way_out(bench, pe) + ns(100) + way_back(bench, pe);
  Time turn = list_to_io_cpu(bench, static_cast<std::int64_t>(launches));
  for (std::size_t i = 0; i < launches; ++i, turn += each) {
    const LaunchTimes times = queues.times[step(i)];
    EXPECT_EQ(times.requested, i == 0 ? Time::zero() : turn) << i;
    EXPECT_EQ(times.first_program, turn + way_out(bench, pe)) << i;
    EXPECT_EQ(times.completed, turn + each + to_host(bench)) << i;
  }
}

TEST(LaunchGraph, OneMessageBringsAHundredLaunchesThatStartOneBehindTheOther) {
  expect_chain_law(tiny(), at(0, 0, 1), 100);
  expect_chain_law(ahbm_1sip(), at(0, 15, 7), 100);
}

TEST(LaunchGraph, AGraphOfOneLaunchTakesTheTimesOfTheLaunch) {
  Queues one(ahbm_1sip()), graph(ahbm_1sip());
  const PeCoordinate pe = at(0, 3, 3);
  one.launch(step(0), 1, {pe}, ns(100));
  graph.bench.machine.launch(graph_on(graph, pe, ns(100), chain(1)));
  one.run();
  graph.run();
  EXPECT_EQ(one.times[step(0)].first_program, graph.times[step(0)].first_program);
  EXPECT_EQ(one.times[step(0)].completed, graph.times[step(0)].completed);
}

TEST(LaunchGraph, AListOfThousandsIsOneMessage) {
  expect_chain_law(tiny(), at(0, 0, 0), 3000);
}

TEST(LaunchGraph, AGraphWaitsForItsTurnAndWhatComesBehindItWaitsForAllOfIt) {
  Queues queues(tiny());
  const PeCoordinate pe = at(0, 0, 0);
  queues.launch("a", 1, {pe}, Time::microseconds(9));
  queues.bench.machine.launch(graph_on(queues, pe, ns(100), chain(3)));
  queues.launch("b", 1, {pe}, ns(100));
  queues.run();
  const Time there_and_back = way_back(queues.bench, pe) + way_out(queues.bench, pe);
  EXPECT_EQ(queues.times[step(0)].first_program, queues.times["a"].last_program + there_and_back);
  EXPECT_EQ(queues.times["b"].first_program, queues.times[step(2)].last_program + there_and_back);
  EXPECT_EQ(queues.ran, (std::vector<std::string>{"a", step(0), step(1), step(2), "b"}));
}

TEST(LaunchGraph, BranchesRunTogetherAndTheirJoinWaitsForTheLast) {
  //   g0 -> g1 (long), g2 (short) -> g3
  Queues queues(small_machine({2, 2}, {2, 2}));
  const Bench& bench = queues.bench;
  const std::vector<PeCoordinate> pes = {at(0, 0, 0), at(0, 1, 0), at(0, 2, 0), at(0, 3, 0)};
  const std::vector<Time> lasts = {ns(100), Time::microseconds(5), ns(300), ns(100)};
  GraphRequest graph;
  for (std::size_t i = 0; i < pes.size(); ++i) graph.launches.push_back(queues.request(step(i), 1, {pes[i]}, lasts[i]));
  graph.after = {{}, {0}, {0}, {1, 2}};
  queues.bench.machine.launch(std::move(graph));
  queues.run();
  const Time fork = queues.times[step(0)].last_program + way_back(bench, pes[0]);
  EXPECT_EQ(queues.times[step(1)].requested, fork);
  EXPECT_EQ(queues.times[step(2)].requested, fork);
  EXPECT_EQ(queues.times[step(1)].first_program, fork + way_out(bench, pes[1]));
  // The second message follows the first one on the links that they share.
  const Time behind = queues.times[step(2)].first_program - (fork + way_out(bench, pes[2]));
  EXPECT_GE(behind, Time::zero());
  EXPECT_LT(behind, ns(1));
  EXPECT_LT(queues.times[step(2)].completed, queues.times[step(1)].last_program);
  EXPECT_EQ(queues.times[step(3)].first_program,
            queues.times[step(1)].last_program + way_back(bench, pes[1]) + way_out(bench, pes[3]));
}

TEST(LaunchGraph, OneThatIsTakenBackStartsNoProgramAndHoldsUpNothingBehindIt) {
  const auto start_of_b = [](bool taken_back, bool has_begun) {
    Queues queues(tiny());
    const PeCoordinate pe = at(0, 0, 0);
    queues.launch("a", 1, {pe}, has_begun ? ns(10) : Time::microseconds(9), 1);
    if (taken_back) queues.bench.machine.launch(graph_on(queues, pe, Time::microseconds(9), chain(5), 1, 2));
    queues.launch("b", 1, {pe}, ns(100), 3);
    queues.at_time(Time::microseconds(5), [&] { queues.bench.machine.cancel(2); });
    queues.run();
    EXPECT_EQ(queues.order.back(), "b");
    std::size_t ran = std::ranges::count(queues.ran, step(0));
    EXPECT_EQ(ran, taken_back && has_begun ? 1U : 0U);
    EXPECT_EQ(queues.ran.size(), 2 + ran);
    for (const auto& [name, times] : queues.times) EXPECT_EQ(times.cut, name[0] == 'g') << name;
    return queues.times["b"].first_program;
  };
  EXPECT_EQ(start_of_b(true, false), start_of_b(false, false));
  start_of_b(true, true);
}

TEST(LaunchGraph, ALaunchWaitsForThoseThatItComesAfter) {
  Queues queues(tiny());
  const PeCoordinate pe = at(0, 0, 0);
  queues.launch("a", 1, {pe}, ns(100));
  const auto nodes = queues.bench.machine.launch(graph_on(queues, pe, ns(100), {{}, {0}, {}, {1, 2}}));
  const auto b = queues.launch("b", 1, {pe}, ns(100));
  const auto waits_of = [](const sim::WaitNode& node) {
    std::vector<sim::WaitEdge> edges;
    node.waits_for(edges);
    std::string text;
    for (const auto& edge : edges) {
      text += std::string(edge.target->wait_name()) + " (" + std::string(edge.reason) + ") ";
    }
    return text;
  };
  EXPECT_EQ(waits_of(*nodes[0]), "launch a (its turn in the SIP's queue) ");
  EXPECT_EQ(waits_of(*nodes[1]), "launch g0 (its turn in the graph) ");
  EXPECT_EQ(waits_of(*nodes[3]), "launch g1 (its turn in the graph) launch g2 (its turn in the graph) ");
  EXPECT_EQ(waits_of(*b),
            "launch g0 (its turn in the SIP's queue) launch g1 (its turn in the SIP's queue) launch g2 (its turn in "
            "the SIP's queue) launch g3 (its turn in the SIP's queue) ");
  queues.run();
}

TEST(LaunchGraph, TheWayOutOfEachLaunchTilesItsTimeFromItsTurnOn) {
  Queues queues(tiny());
  GraphRequest graph = graph_on(queues, at(0, 0, 1), ns(100), chain(2));
  int told = 0;
  for (LaunchRequest& launch : graph.launches) {
    launch.completed = [&](const LaunchTimes& times) {
      ++told;
      Time until = times.requested;
      for (const WayStep& part : times.way_out()) {
        if (part.end <= times.requested) continue;
        EXPECT_LE(part.start, until);
        until = part.end;
      }
      EXPECT_EQ(until, times.first_program);
    };
  }
  queues.bench.machine.launch(std::move(graph));
  queues.run();
  EXPECT_EQ(told, 2);
}

TEST(LaunchGraph, ExactEventsGiveTheSameTimes) {
  const auto times = [](bool exact) {
    Queues queues(small_machine({2, 2}, {2, 2}), exact);
    GraphRequest graph;
    for (std::size_t i = 0; i < 6; ++i) {
      graph.launches.push_back(queues.request(step(i), 1, pes_of(queues.bench.topology), ns(100)));
    }
    graph.after = {{}, {0}, {0}, {0}, {1, 2}, {3, 4}};
    queues.bench.machine.launch(std::move(graph));
    queues.run();
    std::vector<Time> all;
    for (const auto& [name, each] : queues.times) {
      all.insert(all.end(), {each.requested, each.first_program, each.last_program, each.completed});
    }
    return all;
  };
  EXPECT_EQ(times(false), times(true));
}

}  // namespace
}  // namespace kernbench::hardware
