#include <algorithm>

#include "kernbench/laws.h"
#include "runtime/context.h"
#include "runtime/devices/simulated_devices.h"
#include "runtime/simulation.h"
#include "topology/network.h"

namespace kernbench::torch::ahbm {
namespace {

using topology::Endpoint;

/// M(a, b) of the launch path: one packet, and links cut through.
Time message_time(const topology::Network& network, Endpoint from, Endpoint to) {
  const Bytes header = network.topology().cube.noc.header;
  Time latencies, slowest;
  for (const topology::RouteHop& hop : network.route(from, to)) {
    const topology::LinkSpec& link = network.link(hop.link).spec;
    latencies += link.latency;
    slowest = std::max(slowest, transfer_time(link.packets().on_wire(header), link.bandwidth));
  }
  return latencies + slowest;
}

/// From the end of a program on `pe` to the handling of it by the IO_CPU, and from there to the next one's beginning.
Time launch_turn(hardware::Machine& machine, PeCoordinate pe) {
  const topology::Network& network = machine.network();
  const topology::Topology& topology = machine.topology();
  const auto& control = machine.pe_spec(pe).control;
  const Endpoint io = Endpoint::io_cpu(pe.sip), m_cpu = Endpoint::m_cpu({pe.sip, pe.cube}),
                 port = Endpoint::pe_port(pe);
  const Time back = control.issue + message_time(network, port, m_cpu) + topology.cube.m_cpu.counter_write +
                    topology.cube.m_cpu.latency + message_time(network, m_cpu, io) + topology.sip.io.counter_write +
                    topology.sip.io.cpu_latency;
  const Time out = message_time(network, io, m_cpu) + topology.cube.m_cpu.latency + message_time(network, m_cpu, port) +
                   control.start_latency;
  return back + out;
}

/// The device that a call is about.
SipId device_of(const runtime::HostContext& context, const DeviceIndex& device) {
  const int index = device.value() < 0 ? context.device : device.value();
  runtime::check_device(context.simulation, index);
  return SipId{index};
}

}  // namespace

Time launch_turn(const DeviceIndex& device) {
  auto& context = runtime::current_context("launch_turn");
  hardware::Machine& machine = context.simulation.machine();
  const SipId sip = device_of(context, device);
  const topology::Topology& topology = machine.topology();
  Time longest;
  for (CubeId cube; cube.value < topology.sip.cubes.count(); ++cube.value) {
    for (PeId pe; pe.value < topology.cube.pes.count(); ++pe.value)
      longest = std::max(longest, launch_turn(machine, {sip, cube, pe}));
  }
  return longest;
}

Bandwidth hbm_bandwidth(const DeviceIndex& device) {
  const auto& context = runtime::current_context("hbm_bandwidth");
  (void)device_of(context, device);
  const topology::Topology& topology = context.simulation.topology();
  return Bandwidth::bytes_per_second(topology.cube.slice_bandwidth().count() * topology.pes_per_sip());
}

std::int64_t launches_given() {
  return runtime::current_context("launches_given").launches;
}

}  // namespace kernbench::torch::ahbm
