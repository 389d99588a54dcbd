#include "hardware/launch/launch_path.h"

#include <utility>

#include "hardware/agents.h"

namespace kernbench::hardware {

LaunchPath::LaunchPath(event::Scheduler& scheduler, const topology::Topology& topology, const Layout& layout,
                       Transport& transport, ControlOf control_of, ActivityObserver* observer)
    : scheduler_(scheduler),
      layout_(layout),
      transport_(transport),
      control_of_(std::move(control_of)),
      m_cpu_latency_(topology.cube.m_cpu.latency),
      observer_(observer),
      m_cpus_(static_cast<std::size_t>(layout.cube_count())),
      control_sent_(static_cast<std::size_t>(layout.pe_count())) {
  for (std::int32_t sip = 0; sip < topology.system.sips; ++sip) {
    io_cpus_.emplace_back(scheduler, layout.io_cpu_agent(SipId{sip}), topology.sip.io.cpu_latency, observer);
  }
}

std::shared_ptr<const event::WaitNode> LaunchPath::start(LaunchRequest request, std::uint64_t number, Time leaves) {
  auto launch = std::make_shared<Launch>(*this, std::move(request), scheduler_.now(), number);
  under_way_.emplace(std::pair(launch->sip(), number), launch);
  scheduler_.schedule(leaves, event::Phase::deliver, layout_.host_port_agent(launch->sip()), step_key(number),
                      event::call<&Launch::send>(launch.get()));
  return launch;
}

void LaunchPath::cancel(std::uint64_t owner) {
  for (const auto& [number, launch] : under_way_) {
    if (launch->owner() == owner) launch->cancel();
  }
}

MessageProcessor& LaunchPath::m_cpu(CubeCoordinate cube) {
  auto& m_cpu = m_cpus_[static_cast<std::size_t>(layout_.cube_index(cube))];
  if (!m_cpu)
    m_cpu = std::make_unique<MessageProcessor>(scheduler_, layout_.m_cpu_agent(cube), m_cpu_latency_, observer_);
  return *m_cpu;
}

Sender LaunchPath::control_sender(PeCoordinate pe) {
  return {layout_.control_agent(pe), message_key(control_sent_[static_cast<std::size_t>(layout_.pe_index(pe))]++)};
}

Time LaunchPath::m_cpu_busy(std::int64_t cube_index) const {
  const auto& m_cpu = m_cpus_[static_cast<std::size_t>(cube_index)];
  return m_cpu ? m_cpu->busy() : Time::zero();
}

std::shared_ptr<Launch> LaunchPath::complete(const Launch& launch) {
  auto node = under_way_.extract({launch.sip(), launch.number()});
  return std::move(node.mapped());
}

}  // namespace kernbench::hardware
