// The processors that launches pass on their way, and the launches under way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hardware/control/control_processor.h"
#include "hardware/launch/launch.h"
#include "hardware/launch/launch_graph.h"
#include "hardware/launch/message_processor.h"
#include "hardware/layout.h"
#include "hardware/transport.h"
#include "sim/scheduler.h"
#include "topology/spec.h"

namespace kernbench::hardware {

class LaunchPath {
 public:
  using ControlOf = std::function<ControlProcessor&(PeCoordinate)>;
  /// The references must outlive the path. `control_of` finds (or makes) the control processor of a PE.
  LaunchPath(sim::Scheduler& scheduler, const topology::Topology& topology, const Layout& layout, Transport& transport,
             ControlOf control_of, ActivityObserver* observer = nullptr);

  /// Takes the request now; the command leaves the host as its `number`-th at `leaves`.
  std::shared_ptr<const sim::WaitNode> start(LaunchRequest request, std::uint64_t number, Time leaves);
  /// Likewise a graph, as one command; its launches have the numbers from `number` on.
  std::vector<std::shared_ptr<const sim::WaitNode>> start(GraphRequest request, std::uint64_t number, Time leaves);

  /// Cancels the launches of an owner that are under way; called in the deliver phase.
  void cancel(std::uint64_t owner);

  sim::Scheduler& scheduler() { return scheduler_; }
  const Layout& layout() const { return layout_; }
  Transport& transport() { return transport_; }
  MessageProcessor& io_cpu(SipId sip) { return io_cpus_[static_cast<std::size_t>(sip.value)]; }
  MessageProcessor& m_cpu(CubeCoordinate cube) { return management(cube).cpu; }
  /// The completion counters of the IO chiplet, and those of a cube.
  MessageProcessor& io_counter(SipId sip) { return io_counters_[static_cast<std::size_t>(sip.value)]; }
  MessageProcessor& cube_counter(CubeCoordinate cube) { return management(cube).counter; }
  ControlProcessor& control(PeCoordinate pe) { return control_of_(pe); }
  /// The key of the next message that the control processor of `pe` sends.
  Sender control_sender(PeCoordinate pe);
  /// From the launch message, or a free context, to the first instruction.
  Time start_latency() const { return start_latency_; }
  /// Busy time of an M_CPU, which may never have been used.
  Time m_cpu_busy(std::int64_t cube_index) const;
  Time io_cpu_busy(SipId sip) const { return io_cpus_[static_cast<std::size_t>(sip.value)].busy(); }

  /// The IO_CPU has handled the completion of a launch: it is the turn of the next one of its queue.
  void over(const Launch& launch);
  /// What a launch that has no turn waits for.
  void append_before(const Launch& launch, std::vector<sim::WaitEdge>& edges) const;

  /// Ends the life of a launch, unless the caller keeps it.
  std::shared_ptr<Launch> complete(const Launch& launch);

 private:
  /// The management logic of a cube.
  struct Management {
    MessageProcessor cpu, counter;
  };
  Management& management(CubeCoordinate cube);
  /// What takes one turn in a queue: a launch, or all launches of a graph.
  struct Turn {
    Launch* launch;  // of a graph, its first one
    LaunchGraph* graph;
    /// It has come. True: what it is for is over.
    bool came() { return graph != nullptr ? graph->turn_came() : launch->turn_came(); }
  };
  std::shared_ptr<Launch> add(LaunchRequest request, std::uint64_t number, std::shared_ptr<LaunchGraph> graph);
  void send(Launch& launch, Time leaves);
  void enter_queue(Turn turn);

  sim::Scheduler& scheduler_;
  const Layout& layout_;
  Transport& transport_;
  ControlOf control_of_;
  topology::ManagementCpuSpec m_cpu_;
  Time start_latency_;
  ActivityObserver* observer_;
  std::vector<MessageProcessor> io_cpus_, io_counters_;  // by SIP
  std::vector<std::unique_ptr<Management>> management_;  // by cube index, made when first used
  std::vector<std::uint32_t> control_sent_;              // by PE index: messages so far
  std::map<std::pair<SipId, std::uint64_t>, std::shared_ptr<Launch>> under_way_;
  /// Of each SIP's queues, what is not over for the IO_CPU, in the order in which it was given.
  std::map<std::pair<SipId, std::uint64_t>, std::deque<Turn>> queues_;
};

}  // namespace kernbench::hardware
