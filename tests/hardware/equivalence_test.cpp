// Random programs on random PEs: coalesced and exact runs agree in every time, and so do runs in which the parts of the
// machine and the host workers come into being in another order.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench.h"
#include "open_page.h"
#include "sim/fiber.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::hardware {
namespace {

/// Everything that a run lets one see.
struct Trace {
  std::vector<std::string> operations;  // in the order of issue
  std::vector<Told> told;
  std::vector<std::string> commands;  // times of launches and copies
  std::vector<std::string> usage;
  Time end;
  bool operator==(const Trace&) const = default;
};

struct RandomOperation {
  EngineKind engine = EngineKind::dma;
  bool write = false, atomic = false;
  std::vector<DmaLeg> legs;
  GemmWork gemm;
  VectorWork vector;
  std::vector<std::size_t> dependencies;
  Time pause;
  Bytes reserve;
};

struct RandomCommand {
  SipId sip;
  Time pause;
  bool is_copy = false, to_device = false;
  std::vector<DmaLeg> legs;
  std::vector<PeerLeg> peer_legs;  // instead of legs: a copy to another SIP
  std::vector<std::pair<PeCoordinate, std::vector<RandomOperation>>> programs;
};

/// Commands of each host worker.
using Scenario = std::vector<std::vector<RandomCommand>>;

class Generator {
 public:
  Generator(const topology::Topology& topology, std::uint64_t seed) : topology_(topology), random_(seed) {}

  Scenario scenario() {
    Scenario hosts(static_cast<std::size_t>(pick(1, 3)));
    for (auto& commands : hosts) {
      for (std::int64_t n = pick(1, 3); n > 0; --n) commands.push_back(command());
    }
    return hosts;
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  PeCoordinate any_pe(std::int32_t sip) {
    return at(sip, static_cast<std::int32_t>(pick(0, topology_.sip.cubes.count() - 1)),
              static_cast<std::int32_t>(pick(0, topology_.cube.pes.count() - 1)));
  }
  std::int32_t any_sip() { return static_cast<std::int32_t>(pick(0, topology_.system.sips - 1)); }

  DmaLeg any_leg(std::int32_t sip) {
    DmaLeg part{any_pe(sip), {}};
    if (chance(15)) part.memory = AddressSpace::sram;
    for (std::int64_t n = pick(1, 2); n > 0; --n) {
      const std::int64_t rows = chance(50) ? 1 : pick(1, 12);
      const std::int64_t row = rows == 1 ? pick(1, 9000) : pick(1, 1500);
      part.ranges.push_back({static_cast<std::uint64_t>(pick(0, 1 << 16)), rows, Bytes(row), row + pick(0, 500)});
    }
    return part;
  }
  std::vector<DmaLeg> any_legs(std::int32_t sip) {
    std::vector<DmaLeg> legs;
    for (std::int64_t n = chance(60) ? 1 : pick(2, 4); n > 0; --n)
      legs.push_back(any_leg(chance(90) ? sip : any_sip()));
    return legs;
  }

  std::vector<PeerLeg> any_peer_legs(std::int32_t sip) {
    std::vector<PeerLeg> legs;
    std::int32_t other = any_sip();
    if (other == sip) other = (sip + 1) % topology_.system.sips;
    for (std::int64_t n = pick(1, 4); n > 0; --n) {
      PeerLeg& part = legs.emplace_back(PeerLeg{any_pe(sip), any_pe(other), any_leg(sip).ranges, {}});
      Bytes total(0);
      for (const StridedRange& range : part.from) total += range.total();
      part.to = {{static_cast<std::uint64_t>(pick(0, 1 << 16)), 1, total, 0}};
    }
    return legs;
  }

  std::vector<RandomOperation> program(PeCoordinate pe) {
    std::vector<RandomOperation> operations(static_cast<std::size_t>(pick(1, 14)));
    for (std::size_t i = 0; i < operations.size(); ++i) {
      RandomOperation& operation = operations[i];
      const std::int64_t kind = pick(0, 9);
      operation.engine = kind < 6 ? EngineKind::dma : kind < 8 ? EngineKind::gemm : EngineKind::vector;
      operation.write = chance(40);
      operation.atomic = operation.write && chance(30);
      if (operation.engine == EngineKind::dma) operation.legs = any_legs(pe.sip.value);
      operation.gemm = {pick(1, 2), pick(1, 40), pick(1, 40), pick(1, 100),
                        static_cast<topology::GemmOperand>(pick(0, topology::kGemmOperandCount - 1))};
      operation.vector = {pick(1, 3000),
                          static_cast<topology::VectorOperation>(pick(0, topology::kVectorOperationCount - 1)),
                          std::int64_t{1} << pick(0, 3), pick(1, 40), Bytes(pick(1, 20'000))};
      for (std::int64_t n = i == 0 ? 0 : pick(0, 2); n > 0; --n) {
        operation.dependencies.push_back(static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i) - 1)));
      }
      if (chance(20)) operation.pause = ps(pick(1, 300'000));
      if (chance(30)) operation.reserve = Bytes(pick(1, 30'000));
    }
    return operations;
  }

  RandomCommand command() {
    RandomCommand command;
    command.sip = SipId{any_sip()};
    if (chance(60)) command.pause = ps(pick(0, 2'000'000));
    command.is_copy = chance(30);
    command.to_device = chance(50);
    if (command.is_copy) {
      if (topology_.system.sips > 1 && chance(50))
        command.peer_legs = any_peer_legs(command.sip.value);
      else
        command.legs = any_legs(command.sip.value);
      return command;
    }
    std::vector<PeCoordinate> pes;
    for (std::int64_t n = pick(1, 6); n > 0; --n) pes.push_back(any_pe(command.sip.value));
    std::ranges::sort(pes);
    pes.erase(std::unique(pes.begin(), pes.end()), pes.end());
    for (const PeCoordinate pe : pes) command.programs.emplace_back(pe, program(pe));
    return command;
  }

  const topology::Topology& topology_;
  std::mt19937_64 random_;
};

void run_program(ProgramScope& p, const std::vector<RandomOperation>& operations) {
  TcmAllocator& tcm = p.machine().pe(p.pe()).tcm();
  std::vector<CommandRef> made;
  for (const RandomOperation& operation : operations) {
    if (operation.pause > Time::zero()) sim::this_fiber::sleep(operation.pause);
    if (operation.reserve > Bytes(0)) {
      tcm.reserve(operation.reserve);
      if (!made.empty()) made.back()->done.wait();
      tcm.release(operation.reserve);
    }
    std::vector<CommandRef> after;
    for (const std::size_t index : operation.dependencies) after.push_back(made[index]);
    switch (operation.engine) {
      case EngineKind::dma:
        made.push_back(operation.atomic  ? p.atomic(operation.legs, after)
                       : operation.write ? p.store(operation.legs, after)
                                         : p.load(operation.legs, after));
        break;
      case EngineKind::gemm:
        made.push_back(p.gemm(operation.gemm, after));
        break;
      case EngineKind::vector:
        made.push_back(p.vector(operation.vector, after));
        break;
      case EngineKind::ipcq:  // ipcq_test.cpp
        break;
    }
  }
}

void run_command(Bench& bench, const RandomCommand& command, const std::string& name, Trace& trace) {
  if (command.pause > Time::zero()) sim::this_fiber::sleep(command.pause);
  const auto now = [&bench] { return " " + std::to_string(bench.scheduler.now().count()); };
  if (!command.peer_legs.empty()) {
    PeerCopyRequest request{command.sip, command.peer_legs, {}, {}, {}};
    request.read = [=, &trace] { trace.commands.push_back(name + " read" + now()); };
    request.written = [=, &trace] { trace.commands.push_back(name + " written" + now()); };
    request.completed = [=, &trace] { trace.commands.push_back(name + " completed" + now()); };
    return bench.machine.copy(std::move(request));
  }
  if (command.is_copy) {
    CopyRequest request{command.sip, command.to_device, command.legs, {}, {}};
    request.effect = [=, &trace] { trace.commands.push_back(name + " effect" + now()); };
    request.completed = [=, &trace] { trace.commands.push_back(name + " completed" + now()); };
    return bench.machine.copy(std::move(request));
  }
  std::vector<ProgramRequest> programs;
  for (const auto& [pe, operations] : command.programs) {
    programs.push_back(bench.program(pe, [&operations](ProgramScope& p) { run_program(p, operations); }));
  }
  bench.launch(std::move(programs), [=, &trace](const LaunchTimes& t) {
    trace.commands.push_back(name + " " + std::to_string(t.requested.count()) + " " +
                             std::to_string(t.first_program.count()) + " " + std::to_string(t.last_program.count()) +
                             " " + std::to_string(t.completed.count()));
  });
}

Trace run(const topology::Topology& topology, const Scenario& scenario, bool exact, std::uint64_t shuffle,
          const ModelRegistry& models = {}) {
  Bench bench(topology, exact, models);
  Trace trace;
  std::vector<std::size_t> hosts(scenario.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i] = i;
  if (shuffle != 0) {
    std::mt19937_64 random(shuffle);
    std::ranges::shuffle(hosts, random);
    for (int i = 0; i < 3; ++i) {
      const auto cubes = static_cast<std::uint64_t>(topology.sip.cubes.count());
      const auto pes = static_cast<std::uint64_t>(topology.cube.pes.count());
      bench.machine.pe(at(0, static_cast<std::int32_t>(random() % cubes), static_cast<std::int32_t>(random() % pes)));
    }
  }
  for (const std::size_t host : hosts) {
    sim::FiberOptions options;
    options.agent = bench.machine.host_agent(static_cast<std::int32_t>(host));
    options.name = "rank " + std::to_string(host);
    bench.scheduler.spawn(std::move(options), [&, host] {
      for (std::size_t i = 0; i < scenario[host].size(); ++i) {
        run_command(bench, scenario[host][i], std::to_string(host) + "." + std::to_string(i), trace);
      }
    });
  }
  bench.scheduler.run();
  EXPECT_EQ(bench.scheduler.ambiguous_orders(), 0u);  // every tie is broken by a key
  EXPECT_TRUE(bench.machine.fabric().idle());
  for (const CommandRef& o : bench.log.operations) {
    trace.operations.push_back(
        std::to_string(o->agent.value) + " " + o->wait_name() + " " + std::to_string(o->times.issued.count()) + " " +
        std::to_string(o->times.ready.count()) + " " + std::to_string(o->times.started.count()) + " " +
        std::to_string(o->times.effect.count()) + " " + std::to_string(o->times.finished.count()));
    EXPECT_TRUE(o->done.is_set());
  }
  trace.told = bench.log.told;
  for (const ResourceUsage& one : bench.machine.usage()) {
    trace.usage.push_back(one.name + " " + std::to_string(one.busy.count()) + " " + std::to_string(one.bytes.count()));
  }
  trace.end = bench.scheduler.now();
  return trace;
}

void expect_equal(const Trace& expected, const Trace& actual, const std::string& what) {
  EXPECT_EQ(expected.operations, actual.operations) << what;
  EXPECT_TRUE(expected.told == actual.told) << what;
  EXPECT_EQ(expected.commands, actual.commands) << what;
  EXPECT_EQ(expected.usage, actual.usage) << what;
  EXPECT_EQ(expected.end, actual.end) << what;
}

void expect_equivalence(const topology::Topology& topology, std::uint64_t seeds, const ModelRegistry& models = {}) {
  const int all = static_cast<int>(seeds);
  seeds = static_cast<std::uint64_t>(number_of_cases(all, all / 2, all / 20));
  for (std::uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
    const Scenario scenario = Generator(topology, seed).scenario();
    const Trace exact = run(topology, scenario, true, 0, models);
    expect_equal(exact, run(topology, scenario, false, 0, models), "coalesced, seed " + std::to_string(seed));
    expect_equal(exact, run(topology, scenario, false, seed, models), "other order, seed " + std::to_string(seed));
    expect_equal(exact, run(topology, scenario, true, seed + 1, models),
                 "exact, other order, seed " + std::to_string(seed));
  }
}

TEST(Equivalence, ExactAndCoalescedAndPermutedRunsAgreeOnTiny) {
  expect_equivalence(tiny(), 400);
}

TEST(Equivalence, ExactAndCoalescedAndPermutedRunsAgreeOnFourCubes) {
  expect_equivalence(small_machine({2, 2}, {2, 2}), 400);
}

TEST(Equivalence, ExactAndCoalescedAndPermutedRunsAgreeOnTwoSips) {
  expect_equivalence(small_machine({2, 1}, {2, 1}, 2), 200);
}

TEST(Equivalence, ExactAndCoalescedAndPermutedRunsAgreeWithManyDescriptorsUnderWay) {
  auto machine = small_machine({2, 2}, {2, 1});
  machine.pe.dma.queues = 2;
  machine.pe.dma.depth = machine.pe.dma.outstanding = 16;
  machine.pe.dma.setup = Time::zero();
  machine.cube.hbm.atomic = Time::zero();
  expect_equivalence(machine, 200);
}

TEST(Equivalence, ExactAndCoalescedAndPermutedRunsAgreeWithAModelThatKeepsState) {
  auto machine = small_machine({2, 2}, {2, 1});
  machine.cube.hbm.model = "open_page";
  const ModelRegistry models =
      ModelRegistry().add_hbm("open_page", [](const HbmChannelFigures& figures, const ModelParameters& parameters) {
        return std::make_unique<OpenPage>(figures, parameters);
      });
  expect_equivalence(machine, 150, models);
}

TEST(Equivalence, TheSameRunTwiceIsTheSame) {
  const auto topology = small_machine({2, 2}, {2, 2});
  const Scenario scenario = Generator(topology, 42).scenario();
  EXPECT_TRUE(run(topology, scenario, false, 0) == run(topology, scenario, false, 0));
}

}  // namespace
}  // namespace kernbench::hardware
