// The law of the inter-PE queues, to the picosecond; their installation; what they refuse and report.
#include "hardware/ipcq/ipcq.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ipcq_channels.h"
#include "kernbench/error.h"
#include "sim/errors.h"
#include "sim/fiber.h"
#include "support/sanitizers.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

QueueParameters parameters(BufferKind kind, std::int32_t slots, std::int64_t slot_size,
                           Backpressure backpressure = Backpressure::sleep) {
  QueueParameters p;
  p.buffer_kind = kind;
  p.n_slots = slots;
  p.slot_size = Bytes(slot_size);
  p.backpressure = backpressure;
  return p;
}

std::vector<ProgramRequest> one(ProgramRequest program) {
  std::vector<ProgramRequest> programs;
  programs.push_back(std::move(program));
  return programs;
}

/// Every credit is at home, and no slot holds anything.
void expect_quiet(Bench& bench, const Channel& channel) {
  const SendQueue* sends = bench.machine.ipcq(channel.sender).send_queue(channel);
  ASSERT_NE(sends, nullptr);
  EXPECT_EQ(sends->credits(), static_cast<std::size_t>(channel.parameters.n_slots));
  EXPECT_TRUE(bench.machine.ipcq(channel.receiver).receive_queue(channel)->unreceived().empty());
  EXPECT_TRUE(bench.machine.fabric().idle());
  EXPECT_EQ(bench.scheduler.ambiguous_orders(), 0u);
}

/// One message from the channel's sender to its receiver, whose programs begin at about the same time.
struct Exchange {
  CommandRef send, receive;
};
Exchange exchange(Bench& bench, const Channel& channel, std::int64_t bytes, Time sender_sleeps, Time receiver_sleeps) {
  Exchange made;
  bench.launch(one(bench.program(channel.sender, [&, bytes, sender_sleeps](ProgramScope& p) {
    if (sender_sleeps > Time::zero()) sim::this_fiber::sleep(sender_sleeps);
    made.send = p.send(channel, bytes);
    sim::this_fiber::sleep(Time::microseconds(60));  // the end of a program is a message, too
  })));
  bench.launch(one(bench.program(channel.receiver, [&, bytes, receiver_sleeps](ProgramScope& p) {
    if (receiver_sleeps > Time::zero()) sim::this_fiber::sleep(receiver_sleeps);
    made.receive = p.receive(channel, bytes);
  })));
  bench.scheduler.run();
  return made;
}

struct Way {
  const char* name;
  PeCoordinate from, to;
};
const std::vector<Way>& ways() {
  static const std::vector<Way> all{{"near", at(0, 0, 0), at(0, 0, 1)},
                                    {"back", at(0, 0, 1), at(0, 0, 0)},
                                    {"other cube", at(0, 0, 0), at(0, 3, 1)},
                                    {"other SIP", at(0, 1, 1), at(1, 2, 0)}};
  return all;
}

/// Where slots lie; of an SRAM with one port, or with one at every router.
struct SlotMemory {
  BufferKind kind;
  topology::SramPorts ports = topology::SramPorts::first_router;
};

class IpcqLaw : public testing::TestWithParam<SlotMemory> {
 protected:
  static topology::Topology machine() {
    topology::Topology machine = small_machine({2, 2}, {2, 1}, 2);
    machine.cube.sram.ports = GetParam().ports;
    return machine;
  }
};

TEST_P(IpcqLaw, SegmentsThroughOneSlotTakeTheirClosedForm) {
  for (const Way& way : ways()) {
    for (const Backpressure backpressure : {Backpressure::sleep, Backpressure::poll}) {
      for (std::int64_t k = 1; k <= 5; ++k) {
        Bench bench(machine());
        const Channel c = channel(bench.topology, way.from, way.to, parameters(GetParam().kind, 1, 768, backpressure));
        bench.install({c});
        const Exchange made = exchange(bench, c, k * 768, Time::microseconds(5), Time::zero());
        const auto law = one_slot_law(bench, c, k, made.send->times.started);
        EXPECT_EQ(made.send->times.finished, law.back().departed) << way.name << ", " << k << " segments";
        EXPECT_EQ(made.receive->times.finished, law.back().drained) << way.name << ", " << k << " segments";
        EXPECT_EQ(made.send->times.effect, made.send->times.finished);
        EXPECT_EQ(made.receive->times.effect, made.receive->times.finished);
        Time waited;
        for (std::size_t i = 1; i < law.size(); ++i) waited += law[i].started - law[i - 1].departed;
        EXPECT_EQ(made.send->times.waited, waited);
        expect_quiet(bench, c);
      }
    }
  }
}

TEST_P(IpcqLaw, SegmentsOfManyChunksThroughManySlotsFollowTheLaw) {
  for (const Way& way : ways()) {
    for (std::int32_t slots = 1; slots <= 4; ++slots) {
      if (kSanitized && slots != 3) continue;
      for (std::int64_t k = 1; k <= 5; ++k) {
        for (const Backpressure backpressure : {Backpressure::sleep, Backpressure::poll}) {
          Bench bench(machine());
          QueueParameters p = parameters(GetParam().kind, slots, 3000, backpressure);
          p.vc_chunk_size = Bytes(k % 2 == 0 ? 512 : 2048);
          const Channel c = channel(bench.topology, way.from, way.to, p, 1, 2, 4096);
          bench.install({c});
          const std::int64_t bytes = k * 3000 - 17;
          const Time late = k == 3 ? Time::microseconds(20) : Time::zero();
          const Exchange made = exchange(bench, c, bytes, Time::microseconds(2), late);
          const SendReceiveTimes law =
              message_law(bench.topology, c, Bytes(bytes), made.send->times.started, made.receive->times.started);
          EXPECT_EQ(made.send->times.finished, law.sent) << way.name << ", " << slots << " slots, " << k << " segments";
          EXPECT_EQ(made.receive->times.finished, law.received) << way.name << ", " << slots << " slots, " << k;
          expect_quiet(bench, c);
        }
      }
    }
  }
}

// The slice is faster than the port: a short last segment comes out of the memory behind most of the one before it, and
// through the port before its end.
TEST_P(IpcqLaw, AReceiveEndsWithTheLastByteThoughAShortSegmentOvertakes) {
  topology::Topology slow = machine();
  slow.pe.tcm.bandwidth = Bandwidth::gigabytes_per_second(19);
  for (const Way& way : ways()) {
    for (const std::int64_t rest : {1, 100, 2000, 4096}) {
      Bench bench(slow);
      const Channel c = channel(bench.topology, way.from, way.to, parameters(GetParam().kind, 4, 16384));
      bench.install({c});
      const std::int64_t bytes = 16384 + rest;
      const Exchange made = exchange(bench, c, bytes, Time::microseconds(2), Time::zero());
      const SendReceiveTimes law =
          message_law(bench.topology, c, Bytes(bytes), made.send->times.started, made.receive->times.started);
      const Timeline& times = made.receive->times;
      EXPECT_EQ(times.finished, law.received) << way.name << ", " << rest << " B more";
      EXPECT_EQ(times.effect, times.finished);
      EXPECT_GE(times.finished - times.started - times.waited, transfer_time(Bytes(bytes), slow.pe.tcm.bandwidth))
          << way.name << ", " << rest << " B more: what passes the port is no wait";
      expect_quiet(bench, c);
    }
  }
}

// Each segment comes while the one before it passes the port, or all are there before the receive begins.
TEST_P(IpcqLaw, AReceiveWaitsWhileItCopiesNothing) {
  topology::Topology slow = machine();
  slow.pe.tcm.bandwidth = Bandwidth::gigabytes_per_second(19);
  for (const Time late : {Time::zero(), Time::microseconds(30)}) {
    Bench bench(slow);
    const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(GetParam().kind, 4, 8192));
    bench.install({c});
    const Exchange made = exchange(bench, c, 4 * 8192, Time::microseconds(2), late);
    const Timeline& times = made.receive->times;
    EXPECT_GE(times.finished - times.started - times.waited,
              transfer_time(Bytes(4 * 8192), bench.topology.pe.tcm.bandwidth));
    EXPECT_EQ(times.waited == Time::zero(), late > Time::zero());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, IpcqLaw,
                         testing::Values(SlotMemory{BufferKind::tcm}, SlotMemory{BufferKind::hbm},
                                         SlotMemory{BufferKind::sram},
                                         SlotMemory{BufferKind::sram, topology::SramPorts::every_router}));

TEST(Ipcq, OneChunkToTheNeighbourIsItsPartsAddedUp) {
  Bench bench(tiny());
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(BufferKind::tcm, 2, 1024));
  bench.install({c});
  const Exchange made = exchange(bench, c, 1000, Time::microseconds(5), Time::zero());
  const Time port = transfer_time(Bytes(1000), bench.topology.pe.tcm.bandwidth);
  const Time link = transfer_time(Bytes(1000), bench.topology.cube.noc.link.bandwidth);
  const Time header = transfer_time(Bytes(32), bench.topology.cube.noc.link.bandwidth);
  EXPECT_EQ(made.send->times.finished, made.send->times.started + port + ps(1));
  // The header comes right behind the payload: inject, one router, eject; then the pointers, then the copy.
  const Time arrived = made.send->times.started + ps(1) + 3 * ns(2) + link + header + ps(4007);
  EXPECT_EQ(made.receive->times.finished, arrived + port + ps(1));
  EXPECT_EQ(made.receive->times.waited, arrived - made.receive->times.started);
}

TEST(Ipcq, ASendWaitsForItsOperandsAndThoseBehindItWaitToo) {
  Bench bench(tiny());
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(BufferKind::tcm, 4, 1024));
  bench.install({c});
  CommandRef load, first, second;
  bench.launch(one(bench.program(at(0, 0, 0), [&](ProgramScope& p) {
    load = p.load({leg(p.pe(), 0, 4096)});
    first = p.send(c, 512, 0, {load});
    second = p.send(c, 512);
  })));
  bench.launch(one(bench.program(at(0, 0, 1), [&](ProgramScope& p) {
    p.receive(c, 512);
    p.receive(c, 512);
  })));
  bench.scheduler.run();
  EXPECT_EQ(first->times.started, load->times.finished);
  EXPECT_EQ(second->times.started, first->times.finished);
  expect_quiet(bench, c);
}

TEST(Ipcq, ReceivesTakeTheFirstMessageWithTheirTag) {
  Bench bench(tiny());
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(BufferKind::tcm, 8, 256));
  bench.install({c});
  std::vector<CommandRef> sends, receives;
  struct Matches final : CommandObserver {
    void on_effect(Command&) override {}
    void on_finish(Command&) override {}
    void on_match(Command& receive, Command& send) override { seen.emplace_back(receive.number, send.number); }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  } matches;
  bench.launch(one(bench.program(at(0, 0, 0), [&](ProgramScope& p) {
    for (const std::uint64_t tag : {7, 3, 7, 3}) p.send(c, 500, tag);
  })));
  bench.launch(one(bench.program(at(0, 0, 1), [&](ProgramScope& p) {
    for (const std::uint64_t tag : {3, 7, 3, 7}) {
      sim::this_fiber::sleep(ns(10));
      const MessageWork work{false, c.receive_entry, c.slots, c.epoch, tag, Bytes(500)};
      const CommandRef receive = make_command(work, "recv", p.agent(), receives.size(), &matches);
      receives.push_back(receive);
      p.machine().pe(p.pe()).submit(receive);
    }
    for (const CommandRef& receive : receives) receive->done.wait();
  })));
  bench.scheduler.run();
  using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(matches.seen, (Pairs{{0, 1}, {1, 0}, {2, 3}, {3, 2}}));
  expect_quiet(bench, c);
}

// Both neighbours of each are the same PE; only addresses tell the four ends apart.
TEST(Ipcq, ARingOfTwoWithOneSlotTurns) {
  for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
    Bench bench(tiny());
    const PeCoordinate a = at(0, 0, 0), b = at(0, 0, 1);
    const auto p = parameters(kind, 1, 512);
    const std::vector<Channel> ring{
        channel(bench.topology, a, b, p, 0, 0, 0), channel(bench.topology, b, a, p, 0, 0, 8192),
        channel(bench.topology, a, b, p, 1, 1, 16384), channel(bench.topology, b, a, p, 1, 1, 24576)};
    bench.install(ring);
    for (const PeCoordinate pe : {a, b}) {
      bench.launch(one(bench.program(pe, [&, pe](ProgramScope& scope) {
        for (int round = 0; round < 5; ++round) {
          for (const Channel& c : ring) {
            if (c.sender == pe) scope.send(c, 1300, 1);
          }
          for (const Channel& c : ring) {
            if (c.receiver == pe) scope.receive(c, 1300, 1);
          }
        }
      })));
    }
    bench.scheduler.run();
    EXPECT_EQ(bench.log.operations.size(), 40u);
    for (const Channel& c : ring) expect_quiet(bench, c);
  }
}

TEST(Ipcq, ABlockedChannelBlocksNoOther) {
  Bench bench(tiny());
  const auto p = parameters(BufferKind::tcm, 1, 512);
  const Channel blocked = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), p, 0, 0, 0);
  const Channel open = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), p, 1, 1, 4096);
  bench.install({blocked, open});
  CommandRef slow, fast;
  bench.launch(one(bench.program(at(0, 0, 0), [&](ProgramScope& scope) {
    slow = scope.send(blocked, 1024);
    fast = scope.send(open, 1024);
  })));
  bench.launch(one(bench.program(at(0, 0, 1), [&](ProgramScope& scope) {
    scope.receive(open, 1024)->done.wait();
    sim::this_fiber::sleep(Time::microseconds(50));
    scope.receive(blocked, 1024);
  })));
  bench.scheduler.run();
  EXPECT_GT(slow->times.finished, fast->times.finished + Time::microseconds(49));
}

// Two channels into one PE, one of them already there: rows travel in one message for each part on the way.
TEST(Ipcq, AnInstallationTakesTheWayOfALaunchWithItsRows) {
  Bench bench(tiny());
  const auto p = parameters(BufferKind::tcm, 1, 512);
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), p);
  Time completed;
  InstallRequest request{SipId{0}, "test", {c}, [&] { completed = bench.scheduler.now(); }};
  bench.machine.install(std::move(request));
  bench.scheduler.run();
  const Endpoint host = Endpoint::host(), io = Endpoint::io_cpu(SipId{0}),
                 m_cpu = Endpoint::m_cpu({SipId{0}, CubeId{0}});
  const Endpoint far = Endpoint::pe_port(at(0, 0, 1));
  const auto rows = [](std::int64_t count) { return Bytes(32) + kTableRow * count; };
  // The messages to the two PEs leave together; the second one waits for the first one on the link they share.
  const Time both = ns(2) + 2 * transfer_time(rows(1), bench.topology.cube.noc.link.bandwidth) + 2 * ns(2);
  const Time out = kDoorbell + bench.message_time(host, io, rows(2)) + ns(211) +
                   bench.message_time(io, m_cpu, rows(2)) + ns(101) + both;
  const Time back = bench.message_time(far, m_cpu) + ps(1999) + ns(101) + bench.message_time(m_cpu, io) + ps(3001) +
                    ns(211) + bench.message_time(io, host);
  EXPECT_GE(completed, out + back);
  EXPECT_LE(completed, out + back + ps(1999));  // the counter may still count the answer of the near PE
}

TEST(Ipcq, AnInstallationWaitsForTheCreditsOfTheOneBefore) {
  Bench bench(small_machine({1, 1}, {2, 1}, 2));
  const auto p = parameters(BufferKind::tcm, 2, 512);
  Channel c = channel(bench.topology, at(0, 0, 0), at(1, 0, 1), p);
  bench.install({c});
  Time received, replaced;
  bench.launch(one(bench.program(c.sender, [&](ProgramScope& scope) { scope.send(c, 512); })));
  bench.launch(one(bench.program(c.receiver, [&](ProgramScope& scope) {
    sim::this_fiber::sleep(Time::microseconds(30));
    scope.receive(c, 512)->done.wait();
    received = bench.scheduler.now();
  })));
  Channel next = c;
  next.epoch = 2;
  bench.machine.install({SipId{0}, "again", {next}, [&] { replaced = bench.scheduler.now(); }});
  bench.scheduler.run();
  EXPECT_GT(replaced, received);
  EXPECT_EQ(bench.machine.ipcq(c.sender).send_queue(next)->channel()->epoch, 2u);
}

// What a program leaves behind does not stand in the way of the next channel.
TEST(Ipcq, AnInstallationDropsMessagesThatNobodyReceives) {
  Bench bench(tiny());
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(BufferKind::tcm, 3, 512));
  bench.install({c});
  bench.launch(one(bench.program(c.sender, [&](ProgramScope& scope) { scope.send(c, 1200); })));
  Channel next = c;
  next.epoch = 2;
  bool replaced = false;
  bench.scheduler.run();
  EXPECT_EQ(bench.machine.ipcq(c.receiver).receive_queue(c)->unreceived().size(), 1u);
  bench.machine.install({SipId{0}, "again", {next}, [&] { replaced = true; }});
  bench.scheduler.run();
  EXPECT_TRUE(replaced);
  expect_quiet(bench, next);
  const Exchange made = exchange(bench, next, 700, Time::zero(), Time::zero());
  EXPECT_TRUE(made.receive->done.is_set());
}

/// The programs are taken back `late` after the first ones may have begun.
void take_back(const topology::Topology& topology, BufferKind kind, Backpressure backpressure, Time late, bool close) {
  Bench bench(topology);
  Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(kind, 2, 1500, backpressure));
  bench.install({c});
  bool cut = false;
  LaunchRequest request{SipId{0}, "test#0", {}, {}};
  request.owner = 7;
  request.programs.push_back(bench.program(c.sender, [&](ProgramScope& scope) {
    for (int i = 0; i < 6; ++i) scope.send(c, 4000, 1);
  }));
  request.programs.push_back(bench.program(c.receiver, [&](ProgramScope& scope) {
    for (int i = 0; i < 2; ++i) scope.receive(c, 4000, 1);
    scope.receive(c, 4000, 2);  // never comes
  }));
  request.completed = [&](const LaunchTimes& times) { cut = times.cut; };
  bench.machine.launch(std::move(request));
  sim::FiberOptions options;
  options.agent = bench.machine.host_agent(0);
  options.name = "rank 0";
  bench.scheduler.spawn(std::move(options), [&] {
    sim::this_fiber::sleep(Time::nanoseconds(2500) + late);
    bench.machine.cancel(7);
  });
  bench.scheduler.run();
  EXPECT_TRUE(cut);
  EXPECT_TRUE(bench.machine.fabric().idle());
  Channel next = c;
  next.epoch = 2;
  if (close) bench.machine.close({c});
  if (close) bench.scheduler.run();
  bench.install({next});
  expect_quiet(bench, next);
  EXPECT_TRUE(exchange(bench, next, 5000, Time::zero(), Time::zero()).receive->done.is_set());
}

// Whatever the instant at which programs are taken back: what they waited for is given up, what is on its way ends, and
// the entries can be used again.
// Behind the slow port several segments of a receive are on their way out at one time.
TEST(Ipcq, ProgramsAreTakenBackAtAnyInstant) {
  topology::Topology slow = tiny();
  slow.pe.tcm.bandwidth = Bandwidth::gigabytes_per_second(19);
  for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
    for (std::int64_t step = 0; step < 40; ++step) {
      SCOPED_TRACE(step);
      const Backpressure backpressure = step % 2 == 0 ? Backpressure::sleep : Backpressure::poll;
      take_back(tiny(), kind, backpressure, ps(step * 23'456), step % 3 == 0);
      take_back(slow, kind, backpressure, ps(step * 23'456), step % 3 == 0);
    }
  }
}

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(Ipcq, TooManyEntriesNameThePeTheLimitAndTheFix) {
  Bench bench(tiny());
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(BufferKind::tcm, 1, 512), 4, 0);
  EXPECT_EQ(message_of([&] { bench.install({c}); }),
            "queues: sip0.cube0.pe0 needs entry 4 of its table of neighbours, but pe.ipcq.queues is 4: use fewer "
            "channels at this PE or raise pe.ipcq.queues");
}

TEST(Ipcq, ParametersThatNoMachineHasAreRefused) {
  const auto refused = [](QueueParameters p) { return message_of([&] { check_parameters(p, tiny()); }); };
  EXPECT_EQ(refused(parameters(BufferKind::tcm, 0, 512)), "queues: n_slots is 0, but a channel has at least 1 slot");
  EXPECT_EQ(refused(parameters(BufferKind::tcm, 1, 0)), "queues: slot_size is 0 B, but it must be at least 1 B");
  QueueParameters p = parameters(BufferKind::hbm, 1, 512);
  p.vc_chunk_size = Bytes(100);
  EXPECT_EQ(refused(p),
            "queues: vc_chunk_size is 100 B, but with buffers in HBM it must divide the granule of the channels, "
            "cube.hbm.interleave, 1 KiB");
  p.buffer_kind = BufferKind::sram;
  EXPECT_EQ(refused(p), "no error");
}

// ---- deadlocks

std::string report(Bench& bench) {
  return message_of([&] { bench.scheduler.run(); });
}

TEST(IpcqDeadlock, ReceivesBeforeSendsAroundARingAreACycle) {
  Bench bench(tiny());
  const PeCoordinate a = at(0, 0, 0), b = at(0, 0, 1);
  const auto p = parameters(BufferKind::tcm, 1, 512);
  const std::vector<Channel> ring{channel(bench.topology, a, b, p, 0, 0, 0),
                                  channel(bench.topology, b, a, p, 0, 0, 8192)};
  bench.install(ring);
  for (int i = 0; i < 2; ++i) {
    bench.launch(one(bench.program(i == 0 ? a : b, [&, i](ProgramScope& scope) {
      scope.receive(ring[1 - static_cast<std::size_t>(i)], 512, 5)->done.wait();
      scope.send(ring[static_cast<std::size_t>(i)], 512, 5);
    })));
  }
  const std::string text = report(bench);
  expect_mentions(text,
                  "cycle: sip0.cube0.pe0 test#0 -> recv#0 on sip0.cube0.pe0.ipcq.receive0 -> sip0.cube0.pe1 test#0 "
                  "(a message with tag 5 of sip0.cube0.pe1) -> recv#0 on sip0.cube0.pe1.ipcq.receive0 -> "
                  "sip0.cube0.pe0 test#0 (a message with tag 5 of sip0.cube0.pe0)\n");
  expect_mentions(text,
                  "2 programs of test#0 (sip0.cube0.pe{0, 1}) wait for recv#0 on "
                  "sip0.cube0.pe{0, 1}.ipcq.receive0 [cycle]");
  expect_mentions(text,
                  "each of 2 recv#0 on sip0.cube0.pe{0, 1}.ipcq.receive0 waits for 2 programs of test#0 "
                  "(sip0.cube0.pe{0, 1}) (a message with tag 5 of sip0.cube0.pe{0, 1}) [cycle]");
}

TEST(IpcqDeadlock, SendsWithoutCreditsAreACycle) {
  Bench bench(tiny());
  const PeCoordinate a = at(0, 0, 0), b = at(0, 0, 1);
  const auto p = parameters(BufferKind::tcm, 1, 512, Backpressure::poll);
  const std::vector<Channel> ring{channel(bench.topology, a, b, p, 0, 0, 0),
                                  channel(bench.topology, b, a, p, 0, 0, 8192)};
  bench.install(ring);
  for (int i = 0; i < 2; ++i) {
    bench.launch(one(bench.program(i == 0 ? a : b, [&, i](ProgramScope& scope) {
      scope.send(ring[static_cast<std::size_t>(i)], 1024)->done.wait();
      scope.receive(ring[1 - static_cast<std::size_t>(i)], 1024);
    })));
  }
  const std::string text = report(bench);
  expect_mentions(text,
                  "cycle: sip0.cube0.pe0 test#0 -> send#0 on sip0.cube0.pe0.ipcq.send0 -> sip0.cube0.pe1 test#0 "
                  "(a credit of sip0.cube0.pe1.ipcq.receive0) -> send#0 on sip0.cube0.pe1.ipcq.send0 -> "
                  "sip0.cube0.pe0 test#0 (a credit of sip0.cube0.pe0.ipcq.receive0)\n");
  expect_mentions(text,
                  "each of 2 send#0 on sip0.cube0.pe{0, 1}.ipcq.send0 waits for 2 programs of test#0 "
                  "(sip0.cube0.pe{0, 1}) (a credit of sip0.cube0.pe{0, 1}.ipcq.receive0) [cycle]");
}

TEST(IpcqDeadlock, AMessageThatNobodyCanSendIsMissing) {
  Bench bench(tiny());
  const Channel c = channel(bench.topology, at(0, 0, 0), at(0, 0, 1), parameters(BufferKind::tcm, 1, 512));
  bench.install({c});
  bench.launch(one(bench.program(c.receiver, [&](ProgramScope& scope) { scope.receive(c, 512); })));
  expect_mentions(report(bench),
                  "recv#0 on sip0.cube0.pe1.ipcq.receive0 needs a message with tag 0 of sip0.cube0.pe0: "
                  "nobody left that could provide it");
}

}  // namespace
}  // namespace kernbench::hardware
