// Random messages over random channels: exact and coalesced runs agree, and so do those in other orders of creation;
// messages, bytes and credits are conserved.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hardware/ipcq/ipcq.h"
#include "ipcq_channels.h"
#include "sim/fiber.h"
#include "support/sanitizers.h"

namespace kernbench::hardware {
namespace {

struct RandomMessage {
  std::size_t channel;
  std::int64_t bytes;
  std::uint64_t tag;
  Time pause;
};
struct Traffic {
  std::vector<Channel> channels;
  std::map<PeCoordinate, std::vector<std::pair<bool, RandomMessage>>> programs;  // true: a send
};

/// Each program sends and receives in one global order of messages, so none waits for ever.
Traffic scenario(const topology::Topology& topology, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Traffic made;
  std::map<PeCoordinate, std::int32_t> sends, receives;
  const auto any_pe = [&] {
    return at(static_cast<std::int32_t>(pick(0, topology.system.sips - 1)),
              static_cast<std::int32_t>(pick(0, topology.sip.cubes.count() - 1)),
              static_cast<std::int32_t>(pick(0, topology.cube.pes.count() - 1)));
  };
  for (int i = 0; i < 12; ++i) {
    const PeCoordinate from = any_pe(), to = any_pe();
    if (from == to || sends[from] == topology.pe.ipcq.queues || receives[to] == topology.pe.ipcq.queues) continue;
    QueueParameters p;
    p.buffer_kind = static_cast<BufferKind>(pick(0, 2));
    p.backpressure = static_cast<Backpressure>(pick(0, 1));
    p.n_slots = static_cast<std::int32_t>(pick(1, 4));
    p.slot_size = Bytes(pick(1, 3000));
    p.vc_chunk_size = Bytes(std::int64_t{128} << pick(0, 4));
    made.channels.push_back(channel(topology, from, to, p, sends[from]++, receives[to]++,
                                    static_cast<std::uint64_t>(made.channels.size()) << 14));
  }
  for (std::int64_t n = made.channels.empty() ? 0 : pick(1, 30); n > 0; --n) {
    const RandomMessage message{static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(made.channels.size()) - 1)),
                                pick(1, 6000), static_cast<std::uint64_t>(pick(0, 2)),
                                pick(0, 3) == 0 ? ps(pick(1, 900'000)) : Time::zero()};
    made.programs[made.channels[message.channel].sender].emplace_back(true, message);
    made.programs[made.channels[message.channel].receiver].emplace_back(false, message);
  }
  return made;
}

struct TrafficTrace {
  std::vector<std::string> operations;
  std::vector<std::string> usage;
  Time end;
};

void run_program(ProgramScope& p, const Traffic& scenario,
                 const std::vector<std::pair<bool, RandomMessage>>& messages) {
  for (const auto& [sends, message] : messages) {
    if (message.pause > Time::zero()) sim::this_fiber::sleep(message.pause);
    const Channel& c = scenario.channels[message.channel];
    if (sends)
      p.send(c, message.bytes, message.tag)->done.wait();
    else
      p.receive(c, message.bytes, message.tag)->done.wait();
  }
}

TrafficTrace run_traffic(const topology::Topology& topology, const Traffic& scenario, bool exact,
                         std::uint64_t shuffle) {
  Bench bench(topology, exact);
  auto channels = scenario.channels;
  std::mt19937_64 random(shuffle);
  if (shuffle != 0) std::ranges::shuffle(channels, random);
  if (!channels.empty()) bench.install(channels);
  for (const auto& [pe, messages] : scenario.programs) {
    std::vector<ProgramRequest> programs;
    programs.push_back(bench.program(pe, [&](ProgramScope& p) { run_program(p, scenario, messages); }));
    bench.launch(std::move(programs));
  }
  bench.scheduler.run();
  EXPECT_EQ(bench.scheduler.ambiguous_orders(), 0u);
  EXPECT_TRUE(bench.machine.fabric().idle());
  for (const Channel& c : scenario.channels) {
    EXPECT_EQ(bench.machine.ipcq(c.sender).send_queue(c)->credits(), static_cast<std::size_t>(c.parameters.n_slots));
    EXPECT_TRUE(bench.machine.ipcq(c.receiver).receive_queue(c)->unreceived().empty());
  }
  TrafficTrace trace;
  for (const CommandRef& o : bench.log.operations) {
    EXPECT_TRUE(o->done.is_set());
    trace.operations.push_back(
        std::to_string(o->agent.value) + " " + o->wait_name() + " " + std::to_string(o->times.started.count()) + " " +
        std::to_string(o->times.finished.count()) + " " + std::to_string(o->times.waited.count()));
  }
  std::ranges::sort(trace.operations);
  for (const ResourceUsage& one : bench.machine.usage()) {
    trace.usage.push_back(one.name + " " + std::to_string(one.busy.count()) + " " + std::to_string(one.bytes.count()));
  }
  trace.end = bench.scheduler.now();
  return trace;
}

std::int64_t bytes_of(const TrafficTrace& trace, const std::string& server) {
  for (const std::string& line : trace.usage) {
    if (line.starts_with(server + " ")) return std::stoll(line.substr(line.rfind(' ') + 1));
  }
  return -1;
}

/// What has passed each TCM port: every byte sent from there, received there, and landed there in slots of kind tcm.
void expect_conserved(const Traffic& scenario, const TrafficTrace& trace) {
  std::map<PeCoordinate, std::int64_t> expected;
  for (const auto& [pe, messages] : scenario.programs) {
    for (const auto& [sends, message] : messages) {
      const bool lands = !sends && scenario.channels[message.channel].parameters.buffer_kind == BufferKind::tcm;
      expected[pe] += lands ? 2 * message.bytes : message.bytes;
    }
  }
  for (const auto& [pe, bytes] : expected) EXPECT_EQ(bytes_of(trace, to_text(pe) + ".tcm.dma"), bytes);
}

void expect_same_traffic(const topology::Topology& topology, std::uint64_t seeds) {
  if (kSanitized) seeds /= 8;
  for (std::uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
    const Traffic messages = scenario(topology, seed);
    const TrafficTrace exact = run_traffic(topology, messages, true, 0);
    expect_conserved(messages, exact);
    for (const auto& [is_exact, shuffle] : {std::pair{false, std::uint64_t{0}}, {false, seed}, {true, seed + 1}}) {
      const TrafficTrace other = run_traffic(topology, messages, is_exact, shuffle);
      EXPECT_EQ(exact.operations, other.operations) << "seed " << seed;
      EXPECT_EQ(exact.usage, other.usage) << "seed " << seed;
      EXPECT_EQ(exact.end, other.end) << "seed " << seed;
    }
  }
}

TEST(IpcqRandom, RunsAgreeAndConserveOnOneCube) {
  expect_same_traffic(small_machine({1, 1}, {2, 2}), 150);
}

// Segments wait for the port on their way out of the slots, and short ones overtake.
TEST(IpcqRandom, RunsAgreeAndConserveBehindSlowPorts) {
  topology::Topology slow = small_machine({1, 1}, {2, 2});
  slow.pe.tcm.bandwidth = Bandwidth::gigabytes_per_second(19);
  expect_same_traffic(slow, 40);
}

TEST(IpcqRandom, RunsAgreeAndConserveOnTwoSips) {
  expect_same_traffic(small_machine({2, 1}, {2, 1}, 2), 100);
}

}  // namespace
}  // namespace kernbench::hardware
