#include "runtime/launches.h"

#include <algorithm>
#include <set>
#include <utility>

#include "event/fiber.h"
#include "kernel/launch.h"
#include "runtime/context.h"
#include "runtime/launch_result.h"

namespace kernbench::runtime {

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
      simulation.launches.push_back(launch_result(plan.device, simulation.topology(), times, record));
      done();
    };
    return kernel::start(simulation.environment(), std::move(launch));
  };
  auto completion = current_stream("launch", device).enqueue("launch " + name, std::move(begin));
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
