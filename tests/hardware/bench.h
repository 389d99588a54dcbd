// What the tests of the hardware layer share: machines, programs that issue operations, and a log of what happened.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "hardware/machine.h"
#include "sim/scheduler.h"
#include "topology/network.h"
#include "topology/spec.h"

namespace kernbench {

/// How GoogleTest prints quantities.
inline void PrintTo(Time time, std::ostream* out) {
  *out << time.count() << " ps";
}
inline void PrintTo(Bytes bytes, std::ostream* out) {
  *out << bytes.count() << " B";
}

}  // namespace kernbench

namespace kernbench::hardware {

/// A SIP of `cubes` cubes with `pes` PEs each. The numbers are primes or odd, so that roundings show.
topology::Topology small_machine(MeshExtent cubes, MeshExtent pes, std::int32_t sips = 1);
/// The same, with packets on all links, and an HBM and an array that lose time.
topology::Topology lossy_machine(MeshExtent cubes, MeshExtent pes, std::int32_t sips = 1);

inline void expect_mentions(const std::string& text, const std::string& what) {
  EXPECT_NE(text.find(what), std::string::npos) << "missing: " << what << "\nin: " << text;
}

/// One cube of two PEs.
inline topology::Topology tiny() {
  return small_machine({1, 1}, {2, 1});
}
/// The figures of topologies/ahbm-1sip.yaml: 4 x 4 cubes of 4 x 2 PEs.
topology::Topology ahbm_1sip();

inline PeCoordinate at(std::int32_t sip, std::int32_t cube, std::int32_t pe) {
  return {SipId{sip}, CubeId{cube}, PeId{pe}};
}
inline Time ns(std::int64_t count) {
  return Time::nanoseconds(count);
}
inline Time ps(std::int64_t count) {
  return Time::picoseconds(count);
}

/// A contiguous range of a slice.
DmaLeg leg(PeCoordinate slice, std::uint64_t address, std::int64_t bytes);

/// What happened to operations, in the order in which observers were told.
struct Told {
  Time time;
  std::string what;
  sim::AgentId agent;
  std::uint64_t number;
  auto operator<=>(const Told&) const = default;
};

/// Its stages are watched where there is an observer.
CommandRef make_command(Work work, const char* kind, sim::AgentId agent, std::uint64_t number,
                        CommandObserver* observer = nullptr);

class Log final : public CommandObserver {
 public:
  void on_effect(Command& command) override { add("effect", command); }
  void on_finish(Command& command) override { add("finish", command); }
  std::vector<Told> told;

  /// All operations that programs made, in the order in which they were issued.
  std::vector<CommandRef> operations;
  sim::Scheduler* scheduler = nullptr;

 private:
  void add(const char* what, const Command& command) {
    told.push_back({scheduler->now(), what, command.agent, command.number});
  }
};

/// The view of a program body: issues operations on its PE and waits for them.
class ProgramScope {
 public:
  ProgramScope(Machine& machine, PeCoordinate pe, sim::AgentId agent, Log& log)
      : machine_(machine), pe_(pe), agent_(agent), log_(log) {}

  CommandRef load(std::vector<DmaLeg> legs, const std::vector<CommandRef>& dependencies = {},
                  std::vector<PageRange> pages = {});
  CommandRef store(std::vector<DmaLeg> legs, const std::vector<CommandRef>& dependencies = {});
  CommandRef atomic(std::vector<DmaLeg> legs, const std::vector<CommandRef>& dependencies = {});
  CommandRef multicast(const std::shared_ptr<Multicast>& of, std::size_t member, std::vector<DmaLeg> legs);
  CommandRef send(const Channel& channel, std::int64_t bytes, std::uint64_t tag = 0,
                  const std::vector<CommandRef>& dependencies = {});
  CommandRef receive(const Channel& channel, std::int64_t bytes, std::uint64_t tag = 0);
  CommandRef gemm(GemmWork work, const std::vector<CommandRef>& dependencies = {});
  /// Adds to the sums of `before`.
  CommandRef accumulate(GemmWork work, const CommandRef& before);
  CommandRef vector(VectorWork work, const std::vector<CommandRef>& dependencies = {});
  void wait_all();

  Machine& machine() { return machine_; }
  PeCoordinate pe() const { return pe_; }
  sim::AgentId agent() const { return agent_; }
  /// The operations that follow ask for so many DMA queues.
  void use_dma_queues(std::int32_t count) { dma_queues_ = count; }

 private:
  CommandRef submit(Work work, const char* kind, const std::vector<CommandRef>& dependencies = {},
                    const Command* adds_to = nullptr);

  Machine& machine_;
  PeCoordinate pe_;
  sim::AgentId agent_;
  Log& log_;
  std::uint64_t next_ = 0;
  std::int32_t dma_queues_ = 0;
  std::vector<CommandRef> mine_;
};

using ProgramBody = std::function<void(ProgramScope&)>;

/// A scheduler with a machine, and the log of its operations.
class Bench {
 public:
  explicit Bench(const topology::Topology& topology, bool exact = false, const ModelRegistry& models = {});

  /// A program for launch(): runs `body` and then waits for all operations.
  ProgramRequest program(PeCoordinate pe, ProgramBody body, const std::string& launch = "test#0");
  /// Launches one program and runs the simulation; returns the launch's times.
  LaunchTimes run(PeCoordinate pe, ProgramBody body);
  /// Launches programs (ordered by coordinate) on SIP `sip` now.
  void launch(std::vector<ProgramRequest> programs, std::function<void(const LaunchTimes&)> completed = {});

  /// Installs channels at all of their ends and runs the simulation.
  void install(const std::vector<Channel>& channels);

  /// The uncontended time of one message and of one transfer, after the fabric's law.
  Time message_time(topology::Endpoint from, topology::Endpoint to) const;
  Time message_time(topology::Endpoint from, topology::Endpoint to, Bytes bytes) const;
  TransferTimes transfer_times(std::vector<Stage> route, std::vector<StridedRange> ranges, Time start,
                               std::vector<StridedRange> landing = {}) const;
  std::vector<Stage> links(topology::Endpoint from, topology::Endpoint to) const;
  Stage channels(PeCoordinate slice) const;
  Stage tcm_port(PeCoordinate pe) const;

  sim::Scheduler scheduler;
  topology::Topology topology;
  topology::Network network;
  Machine machine;
  Log log;

 private:
  std::uint32_t first_channel(PeCoordinate slice) const;
};

}  // namespace kernbench::hardware
