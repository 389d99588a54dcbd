// Launches in the queues of a machine's first SIP, for tests of their times.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "sim/fiber.h"

namespace kernbench::hardware {

/// Gives launches to queues of a machine's first SIP, and keeps their times by name.
class Queues {
 public:
  explicit Queues(const topology::Topology& machine, bool exact = false) : bench(machine, exact) {}

  std::shared_ptr<const sim::WaitNode> launch(const std::string& name, std::uint64_t queue,
                                              const std::vector<PeCoordinate>& pes, Time time,
                                              std::uint64_t owner = 0) {
    return bench.machine.launch(request(name, queue, pes, time, owner));
  }
  /// One program that takes `time` on each of `pes`.
  LaunchRequest request(const std::string& name, std::uint64_t queue, const std::vector<PeCoordinate>& pes, Time time,
                        std::uint64_t owner = 0) {
    LaunchRequest request;
    request.sip = pes.front().sip;
    request.name = name;
    request.queue = queue;
    request.owner = owner;
    request.make_programs = [this, name, pes, time] {
      std::vector<ProgramRequest> programs;
      for (const PeCoordinate pe : pes) {
        programs.push_back(bench.program(
            pe,
            [this, name, time](ProgramScope&) {
              ran.push_back(name);
              if (time > Time::zero()) sim::this_fiber::sleep(time);
            },
            name));
      }
      return programs;
    };
    request.completed = [this, name](const LaunchTimes& t) {
      times[name] = t;
      order.push_back(name);
    };
    return request;
  }
  /// Calls `give` on a host's fiber at `time`.
  void at_time(Time time, std::function<void()> give) {
    sim::FiberOptions options;
    options.agent = bench.machine.host_agent(hosts_++);
    options.name = "host";
    bench.scheduler.spawn(std::move(options), [time, give = std::move(give)] {
      sim::this_fiber::sleep_until(time);
      give();
    });
  }
  void run() {
    bench.scheduler.run();
    EXPECT_TRUE(bench.machine.fabric().idle());
  }

  Bench bench;
  std::map<std::string, LaunchTimes> times;
  std::vector<std::string> order, ran;  // as the host heard of their ends; programs as they started

 private:
  std::int32_t hosts_ = 0;
};

inline std::vector<PeCoordinate> pes_of(const topology::Topology& machine) {
  std::vector<PeCoordinate> pes;
  for (int cube = 0; cube < machine.sip.cubes.count(); ++cube) {
    for (int pe = 0; pe < machine.cube.pes.count(); ++pe) pes.push_back(at(0, cube, pe));
  }
  return pes;
}

/// From the handling of the launch by the IO_CPU to the first instruction on `pe`.
inline Time way_out(const Bench& bench, PeCoordinate pe) {
  const auto io = topology::Endpoint::io_cpu(pe.sip), m = topology::Endpoint::m_cpu({pe.sip, pe.cube});
  return bench.message_time(io, m) + bench.topology.cube.m_cpu.latency +
         bench.message_time(m, topology::Endpoint::pe_port(pe)) + bench.topology.pe.control.start_latency;
}
/// From the end of the only program, on `pe`, to the end of its handling by the IO_CPU.
inline Time way_back(const Bench& bench, PeCoordinate pe) {
  const auto io = topology::Endpoint::io_cpu(pe.sip), m = topology::Endpoint::m_cpu({pe.sip, pe.cube});
  return bench.topology.pe.control.issue + bench.message_time(topology::Endpoint::pe_port(pe), m) +
         bench.topology.cube.m_cpu.counter_write + bench.topology.cube.m_cpu.latency + bench.message_time(m, io) +
         bench.topology.sip.io.counter_write + bench.topology.sip.io.cpu_latency;
}
/// From the command to the end of its handling by the IO_CPU.
inline Time to_io_cpu(const Bench& bench) {
  return kDoorbell + bench.message_time(topology::Endpoint::host(), topology::Endpoint::io_cpu(SipId{0})) +
         bench.topology.sip.io.cpu_latency;
}
inline Time to_host(const Bench& bench) {
  return bench.message_time(topology::Endpoint::io_cpu(SipId{0}), topology::Endpoint::host());
}

}  // namespace kernbench::hardware
