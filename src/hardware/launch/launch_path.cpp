#include "hardware/launch/launch_path.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "hardware/agents.h"

namespace kernbench::hardware {

LaunchPath::LaunchPath(sim::Scheduler& scheduler, const topology::Topology& topology, const Layout& layout,
                       Transport& transport, ControlOf control_of, ActivityObserver* observer)
    : scheduler_(scheduler),
      layout_(layout),
      transport_(transport),
      control_of_(std::move(control_of)),
      m_cpu_(topology.cube.m_cpu),
      start_latency_(topology.pe.control.start_latency),
      observer_(observer),
      management_(static_cast<std::size_t>(layout.cube_count())),
      control_sent_(static_cast<std::size_t>(layout.pe_count())) {
  for (std::int32_t sip = 0; sip < topology.system.sips; ++sip) {
    const sim::AgentId agent = layout.io_cpu_agent(SipId{sip});
    io_cpus_.emplace_back(scheduler, agent, topology.sip.io.cpu_latency, observer);
    io_counters_.emplace_back(scheduler, agent, topology.sip.io.counter_write, nullptr, count_key);
  }
}

std::shared_ptr<const sim::WaitNode> LaunchPath::start(LaunchRequest request, std::uint64_t number, Time leaves) {
  auto launch = add(std::move(request), number, nullptr);
  enter_queue({launch.get(), nullptr});
  send(*launch, leaves);
  return launch;
}

std::vector<std::shared_ptr<const sim::WaitNode>> LaunchPath::start(GraphRequest request, std::uint64_t number,
                                                                    Time leaves) {
  assert(!request.launches.empty() && request.launches.size() == request.after.size());
  const auto graph = std::make_shared<LaunchGraph>(std::move(request.after));
  std::vector<std::shared_ptr<const sim::WaitNode>> nodes;
  std::vector<Launch*> launches;
  for (LaunchRequest& each : request.launches) {
    auto launch = add(std::move(each), number++, graph);
    launches.push_back(launch.get());
    nodes.push_back(std::move(launch));
  }
  Launch& first = *launches.front();
  graph->hold(std::move(launches));
  enter_queue({&first, graph.get()});
  send(first, leaves);
  return nodes;
}

std::shared_ptr<Launch> LaunchPath::add(LaunchRequest request, std::uint64_t number,
                                        std::shared_ptr<LaunchGraph> graph) {
  auto launch = std::make_shared<Launch>(*this, std::move(request), scheduler_.now(), number, std::move(graph));
  under_way_.emplace(std::pair(launch->sip(), number), launch);
  return launch;
}

void LaunchPath::send(Launch& launch, Time leaves) {
  scheduler_.schedule(leaves, sim::Phase::deliver, layout_.host_port_agent(launch.sip()), step_key(launch.number()),
                      sim::call<&Launch::send>(&launch));
}

void LaunchPath::enter_queue(Turn turn) {
  if (turn.launch->queue() != 0) {
    auto& queue = queues_[{turn.launch->sip(), turn.launch->queue()}];
    queue.push_back(turn);
    if (queue.size() > 1) return;
  }
  turn.came();
}

void LaunchPath::over(const Launch& launch) {
  if (launch.graph() && !launch.graph()->over(launch)) return;
  if (launch.queue() == 0) return;
  const auto queue = queues_.find({launch.sip(), launch.queue()});
  assert(queue->second.front().launch == &launch || queue->second.front().graph == launch.graph().get());
  do {
    queue->second.pop_front();
  } while (!queue->second.empty() && queue->second.front().came());
  if (queue->second.empty()) queues_.erase(queue);
}

void LaunchPath::append_before(const Launch& launch, std::vector<sim::WaitEdge>& edges) const {
  const std::size_t earlier = edges.size();
  if (launch.graph()) launch.graph()->append_before(launch, edges);
  if (edges.size() > earlier) return;
  const auto& queue = queues_.at({launch.sip(), launch.queue()});
  const auto found = std::ranges::find_if(queue, [&](const Turn& turn) {
    return turn.launch == &launch || (turn.graph != nullptr && turn.graph == launch.graph().get());
  });
  assert(found != queue.begin() && found != queue.end());
  const Turn& before = *std::prev(found);
  constexpr const char* kTurn = "its turn in the SIP's queue";
  before.graph != nullptr ? before.graph->append_open(edges, kTurn) : edges.push_back({before.launch, kTurn});
}

void LaunchPath::cancel(std::uint64_t owner) {
  for (const auto& [number, launch] : under_way_) {
    if (launch->owner() == owner) launch->cancel();
  }
}

LaunchPath::Management& LaunchPath::management(CubeCoordinate cube) {
  auto& made = management_[static_cast<std::size_t>(layout_.cube_index(cube))];
  if (!made) {
    const sim::AgentId agent = layout_.m_cpu_agent(cube);
    made = std::make_unique<Management>(Management{{scheduler_, agent, m_cpu_.latency, observer_},
                                                   {scheduler_, agent, m_cpu_.counter_write, nullptr, count_key}});
  }
  return *made;
}

Sender LaunchPath::control_sender(PeCoordinate pe) {
  return {layout_.control_agent(pe), message_key(control_sent_[static_cast<std::size_t>(layout_.pe_index(pe))]++)};
}

Time LaunchPath::m_cpu_busy(std::int64_t cube_index) const {
  const auto& made = management_[static_cast<std::size_t>(cube_index)];
  return made ? made->cpu.busy() : Time::zero();
}

std::shared_ptr<Launch> LaunchPath::complete(const Launch& launch) {
  auto node = under_way_.extract({launch.sip(), launch.number()});
  return std::move(node.mapped());
}

}  // namespace kernbench::hardware
