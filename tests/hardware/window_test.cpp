// The law of one-sided commands and of waits for signals, to the picosecond; what happens to programs taken back.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hardware/ipcq/ipcq.h"
#include "ipcq_channels.h"
#include "sim/fiber.h"

namespace kernbench::hardware {
namespace {

using topology::Endpoint;

struct WindowWay {
  const char* name;
  PeCoordinate from, to;
};
const std::vector<WindowWay>& window_ways() {
  static const std::vector<WindowWay> all{{"itself", at(0, 0, 1), at(0, 0, 1)},
                                          {"near", at(0, 0, 0), at(0, 0, 1)},
                                          {"other cube", at(0, 0, 0), at(0, 3, 1)},
                                          {"other SIP", at(0, 1, 1), at(1, 2, 0)}};
  return all;
}

topology::Topology window_machine() {
  topology::Topology machine = small_machine({2, 2}, {2, 1}, 2);
  machine.pe.ipcq.meta_latency = ps(4007);
  return machine;
}

constexpr std::uint64_t kOffset = 4096 + 512;  // not at the beginning of a granule
constexpr std::int32_t kWindowWords = 4;

/// The window of `owner`, installed there and on `user`; and its bytes as the slots of a channel, whose law is known.
struct TestWindow {
  Window window;
  Channel place;
};
TestWindow install_window(Bench& bench, PeCoordinate user, PeCoordinate owner, BufferKind kind) {
  QueueParameters parameters;
  parameters.buffer_kind = kind;
  parameters.slot_size = Bytes(65536);
  TestWindow made{{}, channel(bench.topology, user, owner, parameters, 0, 0, kOffset)};
  made.window = {owner,
                 made.place.slots,
                 Bytes(65536),
                 kind,
                 PhysAddr::encode({owner.sip, owner.cube, AddressSpace::registers, owner.pe, 64}),
                 kWindowWords,
                 1};
  Window other = made.window;
  other.owner = user;
  other.signals = PhysAddr::encode({user.sip, user.cube, AddressSpace::registers, user.pe, 64});
  std::vector<Window> windows{made.window};
  if (user != owner) windows.push_back(other);
  for (std::int32_t sip = 0; sip < bench.topology.system.sips; ++sip) {
    const bool member = std::ranges::any_of(windows, [sip](const Window& w) { return w.owner.sip.value == sip; });
    if (member) bench.machine.install({SipId{sip}, "test", {}, {}, windows});
  }
  bench.scheduler.run();
  return made;
}

/// What a command does to a window; with bytes, a signal, or both.
struct Access {
  std::int64_t bytes = 0;
  std::optional<std::int64_t> adds = std::nullopt;  // to word 1
  bool reads = false;
};
CommandRef issue(ProgramScope& scope, Log& log, const TestWindow& target, const Access& access, std::uint64_t number) {
  WindowWork work;
  work.bytes = Bytes(access.bytes);
  work.target = target.window.owner;
  work.buffer_kind = target.window.buffer_kind;
  work.memory = target.window.memory;
  work.chunk = target.place.parameters.vc_chunk_size;
  work.reads = access.reads;
  work.signals = access.adds.has_value();
  work.word = target.window.word(1);
  work.epoch = target.window.epoch;
  work.update = SignalUpdate::add;
  work.value = access.adds.value_or(0);
  const CommandRef made = make_command(work, "put", scope.agent(), number, &log);
  scope.machine().pe(scope.pe()).submit(made);
  return made;
}

/// One command of an otherwise idle machine.
CommandRef run_one(Bench& bench, const TestWindow& target, PeCoordinate user, const Access& access) {
  CommandRef made;
  bench.run(user, [&](ProgramScope& scope) {
    sim::this_fiber::sleep(Time::microseconds(5));
    made = issue(scope, bench.log, target, access, 1000);
    made->done.wait();
  });
  return made;
}

class WindowLaw : public testing::TestWithParam<BufferKind> {};

Time message(const Bench& bench, Endpoint from, Endpoint to) {
  return from == to ? Time::zero() : bench.message_time(from, to);
}

bool is_one_port(const WindowWay& way, BufferKind kind) {
  return way.from == way.to && kind == BufferKind::tcm;
}

TEST_P(WindowLaw, APutTakesItsTransferAndAnAcknowledgement) {
  for (const WindowWay& way : window_ways()) {
    for (const std::int64_t bytes : {1, 700, 1024, 5000, 40000}) {
      Bench bench(window_machine());
      const TestWindow w = install_window(bench, way.from, way.to, GetParam());
      const CommandRef put = run_one(bench, w, way.from, {.bytes = bytes});
      auto route = fill_route(bench, w.place);
      if (is_one_port(way, GetParam())) route.pop_back();
      const auto payload = bench.transfer_times(std::move(route), {{address_of(bench, w.place, 0), 1, Bytes(bytes), 0}},
                                                put->times.started);
      EXPECT_EQ(put->times.effect, payload.delivered) << way.name << ", " << bytes << " B";
      EXPECT_EQ(put->times.finished,
                payload.delivered + message(bench, memory_of(bench, w.place), Endpoint::pe_port(way.from)))
          << way.name << ", " << bytes << " B";
      EXPECT_TRUE(bench.machine.fabric().idle());
    }
  }
}

TEST_P(WindowLaw, AGetTakesARequestAndItsTransfer) {
  for (const WindowWay& way : window_ways()) {
    for (const std::int64_t bytes : {1, 700, 1024, 5000, 40000}) {
      Bench bench(window_machine());
      const TestWindow w = install_window(bench, way.from, way.to, GetParam());
      const CommandRef get = run_one(bench, w, way.from, {.bytes = bytes, .reads = true});
      const Endpoint port = Endpoint::pe_port(way.from);
      std::vector<Stage> route;
      if (!is_one_port(way, GetParam())) route.push_back(stage_of(bench, w.place));
      for (const Stage& link : bench.links(memory_of(bench, w.place), port)) route.push_back(link);
      route.push_back(bench.tcm_port(way.from));
      const auto payload = bench.transfer_times(std::move(route), {{address_of(bench, w.place, 0), 1, Bytes(bytes), 0}},
                                                get->times.started + message(bench, port, memory_of(bench, w.place)));
      EXPECT_EQ(get->times.effect, payload.departed) << way.name << ", " << bytes << " B";
      EXPECT_EQ(get->times.finished, payload.delivered) << way.name << ", " << bytes << " B";
    }
  }
}

TEST_P(WindowLaw, TheSignalOfAPutComesBehindItsBytes) {
  for (const WindowWay& way : window_ways()) {
    if (way.from == way.to) continue;
    for (const std::int64_t bytes : {8, 700, 1024}) {
      Bench bench(window_machine());
      const TestWindow w = install_window(bench, way.from, way.to, GetParam());
      if (GetParam() == BufferKind::hbm && bytes > 512) continue;  // two bursts there
      const CommandRef put = run_one(bench, w, way.from, {.bytes = bytes, .adds = 3});
      const auto payload = bench.transfer_times(
          fill_route(bench, w.place), {{address_of(bench, w.place, 0), 1, Bytes(bytes), 0}}, put->times.started);
      const Time header = announced(bench, w.place, Bytes(bytes), put->times.started, payload.departed);
      const Time updated = std::max(payload.delivered, header) + ps(4007);
      EXPECT_EQ(put->times.effect, payload.delivered) << way.name;
      EXPECT_EQ(put->times.finished,
                updated + bench.message_time(Endpoint::pe_port(way.to), Endpoint::pe_port(way.from)))
          << way.name << ", " << bytes << " B";
      EXPECT_EQ(bench.machine.ipcq(way.to).signals().value(w.window.word(1)), 3);
      EXPECT_EQ(bench.machine.ipcq(way.to).signals().value(w.window.word(2)), 0);
    }
  }
}

/// A payload, and a header that starts when its last byte has left: nothing but these two in the fabric of a fresh
/// machine.
class PayloadAndHeader {
 public:
  PayloadAndHeader(const topology::Topology& topology, const Channel& place, Bytes bytes, Time start)
      : bench_(topology), place_(place), bytes_(bytes) {
    bench_.scheduler.schedule(start, sim::Phase::deliver, kAgent, 0, sim::call<&PayloadAndHeader::send_payload>(this));
    bench_.scheduler.run();
  }
  Time landed, announced;

 private:
  static constexpr sim::AgentId kAgent{2};

  TransferRequest request(std::vector<Stage> route, std::uint64_t address, Bytes bytes) {
    TransferRequest made;
    made.agent = kAgent;
    made.operation = transfers_++;
    made.route = routes_.emplace_back(std::move(route));
    made.ranges = Ranges(StridedRange{address, 1, bytes, 0});
    made.burst = bench_.topology.cube.noc.burst;
    made.granule = bench_.topology.cube.hbm.interleave;
    return made;
  }
  void send_payload(std::uint64_t) {
    TransferRequest payload = request(fill_route(bench_, place_), address_of(bench_, place_, 0), bytes_);
    payload.burst = place_.parameters.vc_chunk_size;
    payload.departed = sim::call<&PayloadAndHeader::send_header>(this);
    payload.delivered = sim::call<&PayloadAndHeader::note>(this, 0);
    bench_.machine.fabric().start(payload);
  }
  void send_header(std::uint64_t) {
    auto route = bench_.links(Endpoint::pe_port(place_.sender), Endpoint::pe_port(place_.receiver));
    TransferRequest header = request(std::move(route), 0, bench_.topology.cube.noc.header);
    header.delivered = sim::call<&PayloadAndHeader::note>(this, 1);
    bench_.machine.fabric().start(header);
  }
  void note(std::uint64_t which) { (which == 0 ? landed : announced) = bench_.scheduler.now(); }

  Bench bench_;
  Channel place_;
  Bytes bytes_;
  std::uint64_t transfers_ = 0;
  std::deque<std::vector<Stage>> routes_;  // of its transfers
};

// On links that it shares with its payload the header takes its turn among the last chunks, which come later by no more
// than its own time on the slowest of them.
TEST_P(WindowLaw, ThePayloadOfSeveralChunksAndItsHeaderShareTheirLinks) {
  for (const WindowWay& way : window_ways()) {
    if (way.from == way.to) continue;
    const Endpoint from = Endpoint::pe_port(way.from), to = Endpoint::pe_port(way.to);
    for (const std::int64_t bytes : {1, 1024, 1025, 2048, 2049, 5000, 12345, 40000}) {
      Bench bench(window_machine());
      const TestWindow w = install_window(bench, way.from, way.to, GetParam());
      const CommandRef put = run_one(bench, w, way.from, {.bytes = bytes, .adds = 3});
      const PayloadAndHeader law(bench.topology, w.place, Bytes(bytes), put->times.started);
      EXPECT_EQ(put->times.effect, law.landed) << way.name << ", " << bytes << " B";
      EXPECT_EQ(put->times.finished, std::max(law.landed, law.announced) + ps(4007) + bench.message_time(to, from))
          << way.name << ", " << bytes << " B";
      const auto alone = bench.transfer_times(
          fill_route(bench, w.place), {{address_of(bench, w.place, 0), 1, Bytes(bytes), 0}}, put->times.started);
      Time longest;
      for (const topology::RouteHop& hop : bench.network.route(from, to)) {
        const Bandwidth bandwidth = bench.network.link(hop.link).spec.bandwidth;
        longest = std::max(longest, transfer_time(bench.topology.cube.noc.header, bandwidth));
      }
      EXPECT_GE(put->times.effect, alone.delivered) << way.name << ", " << bytes << " B";
      EXPECT_LE(put->times.effect, alone.delivered + longest) << way.name << ", " << bytes << " B";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WindowLaw, testing::Values(BufferKind::tcm, BufferKind::hbm, BufferKind::sram));

TEST(WindowLaw, ASignalIsOneMessageAndTheUpdateOfARegister) {
  for (const WindowWay& way : window_ways()) {
    Bench bench(window_machine());
    const TestWindow w = install_window(bench, way.from, way.to, BufferKind::tcm);
    const CommandRef signal = run_one(bench, w, way.from, {.adds = -5});
    const Endpoint from = Endpoint::pe_port(way.from), to = Endpoint::pe_port(way.to);
    const Time updated = signal->times.started + message(bench, from, to) + ps(4007);
    EXPECT_EQ(signal->times.effect, updated) << way.name;
    EXPECT_EQ(signal->times.finished, updated + message(bench, to, from)) << way.name;
    EXPECT_EQ(bench.machine.ipcq(way.to).signals().value(w.window.word(1)), -5);
  }
}

// Commands leave one after the other, and several are under way.
TEST(WindowLaw, ACommandStartsWhenThePayloadBeforeItHasLeft) {
  Bench bench(window_machine());
  const TestWindow w = install_window(bench, at(0, 0, 0), at(1, 3, 1), BufferKind::hbm);
  std::vector<CommandRef> puts;
  bench.run(at(0, 0, 0), [&](ProgramScope& scope) {
    for (std::uint64_t i = 0; i < 4; ++i) puts.push_back(issue(scope, bench.log, w, {.bytes = 30000}, 1000 + i));
    for (const CommandRef& put : puts) put->done.wait();
  });
  const std::vector<Stage> route = fill_route(bench, w.place);
  for (std::size_t i = 0; i + 1 < puts.size(); ++i) {
    const auto alone = bench.transfer_times({route.front()}, {{kOffset, 1, Bytes(30000), 0}}, puts[i]->times.started);
    EXPECT_GE(puts[i + 1]->times.started, alone.departed);
    EXPECT_LT(puts[i + 1]->times.started, puts[i]->times.finished);
  }
}

// The word changes at `update`; the program begins to look at `since`.
TEST(WindowLaw, AWaitEndsAWakeAfterItsSignalOrAtTheNextLook) {
  for (const Backpressure backpressure : {Backpressure::sleep, Backpressure::poll}) {
    for (const std::int64_t late : {-1000, 1, 4321, 9999, 10000, 10001, 54321}) {
      Bench bench(window_machine());
      const TestWindow w = install_window(bench, at(0, 0, 1), at(0, 0, 0), BufferKind::tcm);
      SignalUnit& unit = bench.machine.ipcq(at(0, 0, 0)).signals();
      Time asked, ended;
      std::int64_t value = 0;
      bench.run(at(0, 0, 0), [&](ProgramScope&) {
        asked = bench.scheduler.now();
        const Time update = asked + bench.topology.pe.control.scalar_read + ps(late);
        struct Update {
          SignalUnit& unit;
          PhysAddr word;
          void run(std::uint64_t) { unit.update(word, 1, SignalUpdate::add, 6); }
        };
        Update later{unit, w.window.word(1)};
        bench.scheduler.schedule(update, sim::Phase::deliver, {1}, 0, sim::call<&Update::run>(&later));
        SignalWait wait(unit, w.window.word(1), [](std::int64_t now) { return now > 5; });
        value = wait.wait(backpressure);
        ended = bench.scheduler.now();
        sim::this_fiber::sleep(Time::microseconds(1));
      });
      const Time since = asked + bench.topology.pe.control.scalar_read;
      const topology::IpcqSpec& spec = bench.topology.pe.ipcq;
      Time expected = since;
      if (late > 0 && backpressure == Backpressure::sleep) expected = since + ps(late) + spec.wake;
      while (backpressure == Backpressure::poll && expected < since + ps(late)) expected += spec.poll_interval;
      EXPECT_EQ(ended, expected) << late;
      EXPECT_EQ(value, 6);
    }
  }
}

// A look sees what is there then; a wait that sleeps is woken by what was there once.
TEST(WindowLaw, AValueThatPassesIsSeenByASleeperOnly) {
  for (const Backpressure backpressure : {Backpressure::sleep, Backpressure::poll}) {
    Bench bench(window_machine());
    const TestWindow w = install_window(bench, at(0, 0, 1), at(0, 0, 0), BufferKind::tcm);
    SignalUnit& unit = bench.machine.ipcq(at(0, 0, 0)).signals();
    Time since, ended;
    bench.run(at(0, 0, 0), [&](ProgramScope&) {
      since = bench.scheduler.now() + bench.topology.pe.control.scalar_read;
      struct Update {
        SignalUnit& unit;
        PhysAddr word;
        void run(std::uint64_t value) { unit.update(word, 1, SignalUpdate::set, static_cast<std::int64_t>(value)); }
      };
      Update later{unit, w.window.word(1)};
      std::uint64_t n = 0;
      for (const auto& [when, value] : {std::pair{ps(101), 7}, {ps(202), 8}, {ps(35'000), 7}}) {
        bench.scheduler.schedule(since + when, sim::Phase::deliver, {1}, n++,
                                 sim::call<&Update::run>(&later, static_cast<std::uint64_t>(value)));
      }
      SignalWait wait(unit, w.window.word(1), [](std::int64_t now) { return now == 7; });
      EXPECT_EQ(wait.wait(backpressure), 7);
      ended = bench.scheduler.now();
      sim::this_fiber::sleep(Time::microseconds(1));
    });
    const topology::IpcqSpec& spec = bench.topology.pe.ipcq;
    Time look = since;
    while (look < since + ps(35'000)) look += spec.poll_interval;
    EXPECT_EQ(ended, backpressure == Backpressure::sleep ? since + ps(101) + spec.wake : look);
  }
}

TEST(Windows, AnInstallationCarriesARowForEachWindow) {
  const auto installed = [](std::size_t windows) {
    Bench bench(tiny());
    InstallRequest request{SipId{0}, "test", {}, {}, {}};
    for (std::size_t i = 0; i < windows; ++i) {
      const PeCoordinate owner = at(0, 0, static_cast<std::int32_t>(i));
      request.windows.push_back({owner, {}, {}, {}, PhysAddr(4096 * (i + 1)), 1, 1});
    }
    Time completed;
    request.completed = [&] { completed = bench.scheduler.now(); };
    bench.machine.install(std::move(request));
    bench.scheduler.run();
    return completed;
  };
  Bench bench(tiny());
  const Endpoint host = Endpoint::host(), io = Endpoint::io_cpu(SipId{0}),
                 m_cpu = Endpoint::m_cpu({SipId{0}, CubeId{0}}), pe = Endpoint::pe_port(at(0, 0, 0));
  const Bytes row = Bytes(32) + kTableRow;
  const Time out = kDoorbell + bench.message_time(host, io, row) + ns(211) + bench.message_time(io, m_cpu, row) +
                   ns(101) + bench.message_time(m_cpu, pe, row);
  const Time back = bench.message_time(pe, m_cpu) + ps(1999) + ns(101) + bench.message_time(m_cpu, io) + ps(3001) +
                    ns(211) + bench.message_time(io, host);
  EXPECT_EQ(installed(1), out + back);
  EXPECT_GT(installed(2), installed(1));
}

// A window that comes where another one was has words of its own; what was meant for the old one is lost.
TEST(Windows, UpdatesOfAnOlderWindowChangeNothing) {
  Bench bench(tiny());
  SignalUnit& unit = bench.machine.ipcq(at(0, 0, 0)).signals();
  const Window old{at(0, 0, 0), {}, {}, {}, PhysAddr(1024), 8, 1};
  unit.install(old);
  unit.update(old.word(7), 1, SignalUpdate::set, 5);
  EXPECT_EQ(unit.value(old.word(7)), 5);
  Window next = old;
  next.signals = old.word(6);
  next.epoch = 2;
  unit.install(next);
  EXPECT_EQ(unit.value(next.word(1)), 0);
  unit.update(old.word(7), 1, SignalUpdate::set, 9);
  unit.update(old.word(2), 1, SignalUpdate::set, 9);
  EXPECT_EQ(unit.value(next.word(1)), 0);
  unit.update(next.word(1), 2, SignalUpdate::add, INT64_MAX);
  unit.update(next.word(1), 2, SignalUpdate::add, 1);
  EXPECT_EQ(unit.value(next.word(1)), INT64_MIN);
}

// Whatever the instant: nothing stays under way, and the next program finds the window in order.
TEST(Windows, ProgramsAreTakenBackAtAnyInstant) {
  for (const BufferKind kind : {BufferKind::tcm, BufferKind::hbm, BufferKind::sram}) {
    for (std::int64_t step = 0; step < 40; ++step) {
      Bench bench(tiny());
      const PeCoordinate user = at(0, 0, 0), owner = at(0, 0, 1);
      const TestWindow w = install_window(bench, user, owner, kind);
      const Backpressure backpressure = step % 2 == 0 ? Backpressure::sleep : Backpressure::poll;
      bool cut = false;
      LaunchRequest request{SipId{0}, "test#0", {}, {}};
      request.owner = 7;
      request.programs.push_back(bench.program(user, [&](ProgramScope& scope) {
        std::vector<CommandRef> mine;
        for (std::uint64_t i = 0; i < 6; ++i) {
          mine.push_back(issue(scope, bench.log, w, {.bytes = 3000, .adds = 1, .reads = i == 3}, 1000 + i));
        }
        for (const CommandRef& each : mine) each->done.wait();
      }));
      request.programs.push_back(bench.program(owner, [&](ProgramScope& scope) {
        SignalWait wait(scope.machine().ipcq(owner).signals(), w.window.word(1),
                        [](std::int64_t now) { return now > 9; });
        wait.wait(backpressure);  // never comes
      }));
      request.completed = [&](const LaunchTimes& times) { cut = times.cut; };
      bench.machine.launch(std::move(request));
      sim::FiberOptions options;
      options.agent = bench.machine.host_agent(0);
      options.name = "rank 0";
      bench.scheduler.spawn(std::move(options), [&] {
        sim::this_fiber::sleep(Time::nanoseconds(2500) + ps(step * 23'456));
        bench.machine.cancel(7);
      });
      bench.scheduler.run();
      EXPECT_TRUE(cut) << step;
      EXPECT_TRUE(bench.machine.fabric().idle());
      EXPECT_TRUE(run_one(bench, w, user, {.bytes = 5000, .adds = 1})->done.is_set());
    }
  }
}

}  // namespace
}  // namespace kernbench::hardware
