// The counters of kernbench/traffic.h.
#include <vector>

#include "hardware/server_kind.h"
#include "kernbench/traffic.h"
#include "runtime/context.h"
#include "runtime/simulation.h"

namespace kernbench::torch::ahbm {

namespace {

using hardware::ServerId;
using hardware::ServerKind;

std::vector<hardware::ServerCounters> counters_of(const hardware::Fabric& fabric) {
  std::vector<hardware::ServerCounters> counters;
  counters.reserve(fabric.server_count());
  for (ServerId server; server.value < fabric.server_count(); ++server.value) {
    counters.push_back(fabric.counters(server));
  }
  return counters;
}

/// The figure that a server of this kind adds to; null: none.
std::int64_t* figure(Traffic& traffic, ServerKind kind) {
  switch (kind) {
    case ServerKind::noc_link:
      return &traffic.noc_bytes;
    case ServerKind::cube_link:
      return &traffic.cube_bytes;
    case ServerKind::sip_link:
      return &traffic.sip_bytes;
    case ServerKind::host_link:
      return &traffic.host_bytes;
    case ServerKind::hbm_channel:
      return &traffic.hbm_bytes;
    case ServerKind::io_link:
    case ServerKind::port:
    case ServerKind::tcm_port:
    case ServerKind::sram:
      break;
  }
  return nullptr;
}

}  // namespace

struct TrafficMeter::State {
  std::vector<hardware::ServerCounters> before;
  Time since;
};

TrafficMeter::TrafficMeter() {
  auto& simulation = runtime::current_context("TrafficMeter").simulation;
  state_ =
      std::make_shared<const State>(State{counters_of(simulation.machine().fabric()), simulation.scheduler().now()});
}

Traffic TrafficMeter::read() const {
  auto& simulation = runtime::current_context("TrafficMeter::read").simulation;
  const hardware::Fabric& fabric = simulation.machine().fabric();
  const auto after = counters_of(fabric);
  Traffic traffic;
  Time longest;
  for (ServerId server; server.value < after.size(); ++server.value) {
    const auto& now = after[server.value];
    const auto& before = state_->before.at(server.value);
    const ServerKind kind = simulation.machine().server_kind(server);
    if (std::int64_t* bytes = figure(traffic, kind)) {
      *bytes += (now.bytes - before.bytes).count();
    }
    const Time busy = now.busy - before.busy;
    if (busy <= longest) continue;
    longest = busy;
    traffic.busiest = fabric.spec(server).name;
    traffic.busiest_kind = name(kind);
  }
  const Time elapsed = simulation.scheduler().now() - state_->since;
  if (elapsed > Time::zero()) traffic.utilisation = longest.in_seconds() / elapsed.in_seconds();
  return traffic;
}

}  // namespace kernbench::torch::ahbm
