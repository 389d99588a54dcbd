#include "runtime/launches.h"

#include <algorithm>
#include <set>
#include <utility>

#include "event/fiber.h"
#include "kernel/launch.h"

namespace kernbench::runtime {

namespace {

LaunchResult result_of(const std::string& name, int device, const hardware::LaunchTimes& times,
                       const kernel::LaunchRecord& record) {
  LaunchResult result;
  result.name = name;
  result.device = device;
  result.start = times.requested;
  result.end = times.completed;
  result.programs = record.programs;
  result.flops = record.flops;
  result.hbm_bytes = record.hbm_bytes;
  const auto& inside = record.last_breakdown;
  result.breakdown = {{"dispatch", record.last_start - times.requested},
                      {"gemm", inside.gemm},
                      {"vector", inside.vector},
                      {"dma", inside.dma},
                      {"control", inside.control},
                      {"completion", times.completed - record.last_end}};
  return result;
}

}  // namespace

CompletionRef enqueue_launch(Simulation& simulation, LaunchPlan plan) {
  event::this_fiber::sleep(simulation.topology().host.launch_overhead);
  const std::string name = simulation.unique_name(plan.name);
  const auto written = plan.written;
  const int device = plan.device;
  auto begin = [&simulation, name, plan = std::move(plan)](Stream::Done done) mutable {
    kernel::KernelLaunch launch;
    launch.sip = SipId{plan.device};
    launch.name = name;
    launch.pes = plan.pes;
    launch.body = std::move(plan.body);
    launch.completed = [&simulation, name, plan = std::move(plan), done = std::move(done)](
                           const hardware::LaunchTimes& times, const kernel::LaunchRecord& record) {
      simulation.log().add_time(times.requested);
      simulation.log().add_time(times.completed);
      simulation.launches.push_back(result_of(name, plan.device, times, record));
      done();
    };
    return kernel::start(simulation.environment(), std::move(launch));
  };
  auto completion = simulation.stream(device).enqueue("launch " + name, std::move(begin));
  for (const auto& storage : written) storage->add_producer(completion);
  return completion;
}

std::vector<PeCoordinate> shard_owners(const std::vector<SimulatedStorageRef>& storages) {
  std::set<PeCoordinate> owners;
  for (const auto& storage : storages) {
    for (const auto& shard : storage->descriptor()->shards) owners.insert(shard.owner);
  }
  return {owners.begin(), owners.end()};
}

}  // namespace kernbench::runtime
