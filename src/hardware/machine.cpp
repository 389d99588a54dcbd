#include "hardware/machine.h"

#include <cassert>
#include <deque>
#include <optional>
#include <utility>

#include "base/text.h"
#include "hardware/alike/followers.h"
#include "hardware/alike/mates.h"
#include "hardware/alike/not_alike.h"
#include "hardware/copy/split.h"
#include "hardware/hbm/hbm.h"
#include "hardware/ipcq/ipcq.h"
#include "hardware/launch/launch_path.h"
#include "hardware/layout.h"
#include "hardware/models.h"
#include "hardware/pe/pe.h"
#include "hardware/sram/sram.h"
#include "hardware/tcm/tcm.h"
#include "hardware/transport.h"
#include "kernbench/error.h"
#include "topology/alike_sips.h"
#include "topology/buffers.h"
#include "topology/network.h"
#include "topology/pe_specs.h"

namespace kernbench::hardware {
namespace {

const topology::Topology& checked(const topology::Topology& topology) {
  if (topology.pe.control.issue < Time::picoseconds(1)) {
    throw ConfigurationError(
        "pe.control.issue is 0 ps, but a command reaches its engine strictly after it was issued: "
        "make it at least 1 ps");
  }
  return topology;  // NOLINT(bugprone-return-const-ref-from-parameter): the caller's, not a temporary
}

std::optional<topology::AlikeSips> alike_sips(const topology::Topology& topology, bool alike) {
  if (!alike) return std::nullopt;
  if (const std::string why = topology::why_not_alike(topology); !why.empty())
    throw ConfigurationError("devices are not alike: " + why + "; simulate all devices");
  return topology::AlikeSips(topology.system);
}

}  // namespace

struct Machine::Implementation {
  Implementation(sim::Scheduler& owner, const topology::Topology& description, const MachineOptions& options)
      : scheduler(owner),
        topology(checked(description)),
        registry(options.models),
        pe_specs(topology),
        models(topology, pe_specs, registry),
        alike(alike_sips(topology, options.alike_devices)),
        network(topology, alike),
        layout(topology, network.links().size(), options.alike_devices),
        addresses(topology),
        bounds(topology, pe_specs, network, layout),
        fabric(owner, {.exact_events = options.exact_events, .observer = options.observer}),
        transport(fabric, network, layout, topology.cube),
        ipcq_environment{owner,
                         topology,
                         layout,
                         transport,
                         MemoryPath(transport, topology),
                         SlotPath(ipcq_environment.memory),
                         [this](PeCoordinate at) -> Ipcq& { return pe(at).ipcq(); },
                         [this](PeCoordinate at, const Name& reason, std::vector<sim::WaitEdge>& edges) {
                           programs_of(at, reason, edges);
                         },
                         [this](PeCoordinate at, sim::AgentId program, const std::exception_ptr& error) {
                           return pe(at).control().operation_failed(program, error);
                         }},
        pe_environment{owner, topology, pe_specs, layout, transport, models, ipcq_environment},
        pes(static_cast<std::size_t>(layout.pe_count())),
        launches(
            owner, topology, layout, transport,
            [this](PeCoordinate at) -> ControlProcessor& { return pe(at).control(); }, options.observer),
        commands(static_cast<std::size_t>(layout.sip_count())) {
    if (alike) followers.emplace(owner, commands.size());
    try_models();
    fabric.reserve(static_cast<std::size_t>(layout.server_count()));
    add_links();
    for (std::int64_t index = 0; index < layout.pe_count(); ++index) add_memory(layout.pe_at(index));
    for (std::int64_t index = 0; index < layout.cube_count(); ++index) {
      const CubeCoordinate at = layout.cube_at(index);
      fabric.add_server(sram_spec(topology.cube, at, Layout::server_agent(layout.sram(at))));
    }
    assert(fabric.server_count() == static_cast<std::size_t>(layout.server_count()));
    for (std::int32_t sip = 0; sip < layout.built_sips(); ++sip) {
      copy_engines.push_back(std::make_unique<CopyEngine>(scheduler, layout, transport, SipId{sip}));
    }
  }

  // PEs are made late, but what is wrong with their models' parameters is to be said before anything runs.
  void try_models() const {
    const PeCoordinate first = layout.pe_at(0);
    (void)models.gemm(first);
    (void)models.vector(first);
    (void)models.dma(first, 0);
    for (const auto& [at, spec] : pe_specs.own()) {
      (void)models.gemm(at);
      (void)models.vector(at);
    }
  }

  void add_links() {
    for (const topology::Link& link : network.links()) {
      ServerSpec spec;
      spec.name = link.name;
      spec.part = link.part;
      spec.bandwidth = link.spec.bandwidth;
      spec.packets = link.spec.packets();
      spec.latency = link.spec.latency;
      spec.buffer = topology::buffer_of(link.spec, topology.cube);
      spec.lane = link.part.kind == PartKind::io_row_from_mesh;
      spec.agent = Layout::server_agent({static_cast<std::uint32_t>(fabric.server_count())});
      fabric.add_server(std::move(spec));
    }
  }

  void add_memory(PeCoordinate at) {
    for (std::int32_t channel = 0; channel < layout.channels(); ++channel) {
      ServerSpec spec = hbm_channel_spec(topology.cube, at, channel, Layout::server_agent(layout.channel(at, channel)));
      const HbmChannelFigures figures = hbm_channel_figures(topology.cube.hbm, at, channel, layout.channels());
      if (auto model = models.hbm(figures))
        spec.law = hbm_channel_law(figures, std::move(model), topology.cube.hbm.model);
      fabric.add_server(std::move(spec));
    }
    fabric.add_server(tcm_port_spec(topology, at, Layout::server_agent(layout.tcm_port(at))));
  }

  Pe& pe(PeCoordinate at) {
    assert(layout.contains(at));
    auto& made = pes[static_cast<std::size_t>(layout.pe_index(at))];
    if (!made) made = std::make_unique<Pe>(pe_environment, at);
    return *made;
  }

  // Those that are over are forgotten when there may be as many of them as others.
  void keep(const std::shared_ptr<Installation>& installation) {
    if (installations.size() > 2 * installations_at_sweep + 16) {
      std::erase_if(installations, [](const auto& each) { return each->completed(); });
      installations_at_sweep = installations.size();
    }
    installations.push_back(installation);
  }

  void close_channels(std::uint64_t) {
    for (const Channel& channel : closing.front()) {
      ReceiveQueue* receives = pe(channel.receiver).ipcq().receive_queue(channel);
      if (receives != nullptr) receives->close();
    }
    closing.pop_front();
  }

  void programs_of(PeCoordinate at, const Name& reason, std::vector<sim::WaitEdge>& edges) {
    const auto running = pe(at).control().running();
    for (const sim::Fiber* fiber : running) edges.push_back({fiber, reason});
    if (running.empty()) edges.push_back({nullptr, reason});
  }

  /// Whether the commands of a SIP are simulated: those of SIP 0, where devices are alike.
  bool simulates(SipId sip) const { return !followers || sip == SipId{0}; }

  void join(InstallRequest& request) const {
    if (!alike) return;
    if (!request.windows.empty())
      throw not_alike(request.name.text() + " has a window, and who writes to it is not known");
    join_mates(request, *alike);
  }

  void check(const InstallRequest& request) const {
    for (const Channel& channel : request.channels) {
      check_parameters(channel.parameters, topology);
      check_entry(channel.sender, channel.send_entry, topology);
      check_entry(channel.receiver, channel.receive_entry, topology);
    }
  }

  std::uint64_t next_command(SipId sip) { return commands[static_cast<std::size_t>(sip.value)]++; }
  template <typename Request>
  void start_copy(SipId sip, Request request) {
    if (!simulates(sip)) return followers->follow(std::move(request));
    if (followers) request = followers->lead(std::move(request));
    for (Request& part : split(std::move(request), kMaximumLegs)) {
      const std::uint64_t number = next_command(sip);
      copy_engines[static_cast<std::size_t>(sip.value)]->start(std::move(part), number, command_leaves());
    }
  }
  Time command_leaves() const { return scheduler.now() + kDoorbell; }

  void cancel(std::uint64_t owner) {
    launches.cancel(owner);
    for (const auto& engine : copy_engines) engine->cancel(owner);
    if (followers) followers->cancel(owner);
  }

  Resources resources() const { return {topology, network.links().size(), layout, fabric, pes, launches}; }

  sim::Scheduler& scheduler;
  topology::Topology topology;
  ModelRegistry registry;
  topology::PeSpecs pe_specs;
  Models models;
  std::optional<topology::AlikeSips> alike;
  topology::Network network;
  mutable std::unique_ptr<topology::Network> whole_network;  // where devices are alike, made when asked for
  Layout layout;
  PhysicalMap addresses;
  Bounds bounds;
  Fabric fabric;
  Transport transport;
  IpcqEnvironment ipcq_environment;
  PeEnvironment pe_environment;
  std::vector<std::unique_ptr<Pe>> pes;  // by PE index, made when first used
  LaunchPath launches;
  std::deque<std::vector<Channel>> closing;                  // in the order of the calls
  std::vector<std::shared_ptr<Installation>> installations;  // all that are under way, and some that were
  std::size_t installations_at_sweep = 0;
  std::vector<std::unique_ptr<CopyEngine>> copy_engines;  // by SIP
  std::vector<std::uint64_t> commands;                    // by SIP: launches and copies so far
  std::optional<Followers> followers;                     // where devices are alike
};

Machine::Machine(sim::Scheduler& scheduler, const topology::Topology& topology, MachineOptions options)
    : implementation_(std::make_unique<Implementation>(scheduler, topology, options)) {}

Machine::~Machine() = default;

const topology::Topology& Machine::topology() const {
  return implementation_->topology;
}
const topology::Network& Machine::network() const {
  const Implementation& machine = *implementation_;
  if (!machine.alike) return machine.network;
  if (!machine.whole_network) machine.whole_network = std::make_unique<topology::Network>(machine.topology);
  return *machine.whole_network;
}
const topology::PeSpec& Machine::pe_spec(PeCoordinate at) const {
  return implementation_->pe_specs.of(at);
}
const PhysicalMap& Machine::addresses() const {
  return implementation_->addresses;
}
sim::Scheduler& Machine::scheduler() {
  return implementation_->scheduler;
}
Fabric& Machine::fabric() {
  return implementation_->fabric;
}
ProcessingElement& Machine::pe(PeCoordinate at) {
  return implementation_->pe(at);
}

std::shared_ptr<const sim::WaitNode> Machine::launch(LaunchRequest request) {
  Implementation& machine = *implementation_;
  if (!machine.simulates(request.sip)) return machine.followers->follow(std::move(request));
  if (machine.followers) request = machine.followers->lead(std::move(request));
  const std::uint64_t number = machine.next_command(request.sip);
  auto node = machine.launches.start(std::move(request), number, machine.command_leaves());
  if (machine.followers) machine.followers->leads(node);
  return node;
}

std::vector<std::shared_ptr<const sim::WaitNode>> Machine::launch(GraphRequest request) {
  Implementation& machine = *implementation_;
  const SipId sip = request.launches.front().sip;
  if (!machine.simulates(sip)) return machine.followers->follow(std::move(request));
  if (machine.followers) request = machine.followers->lead(std::move(request));
  const std::uint64_t number = machine.next_command(sip);
  for (std::size_t more = 1; more < request.launches.size(); ++more) machine.next_command(sip);
  auto nodes = machine.launches.start(std::move(request), number, machine.command_leaves());
  if (machine.followers) machine.followers->leads(nodes.front());
  return nodes;
}

void Machine::copy(CopyRequest request) {
  const SipId sip = request.sip;
  implementation_->start_copy(sip, std::move(request));
}

void Machine::copy(PeerCopyRequest request) {
  const SipId sip = request.source;
  implementation_->start_copy(sip, std::move(request));
}

void Machine::cancel(std::uint64_t owner) {
  Implementation& machine = *implementation_;
  const SipId first{0};
  machine.scheduler.schedule(machine.command_leaves(), sim::Phase::deliver, machine.layout.host_port_agent(first),
                             step_key(machine.next_command(first)),
                             sim::call<&Implementation::cancel>(&machine, owner));
}

std::shared_ptr<const sim::WaitNode> Machine::install(InstallRequest request) {
  Implementation& machine = *implementation_;
  machine.check(request);
  if (!machine.simulates(request.sip)) return machine.followers->follow(std::move(request));
  machine.join(request);
  if (machine.followers) request = machine.followers->lead(std::move(request));
  const SipId sip = request.sip;
  const std::uint64_t number = machine.next_command(sip);
  auto installation =
      std::make_shared<Installation>(machine.launches, machine.ipcq_environment.ipcq_of, std::move(request), number);
  machine.scheduler.schedule(machine.command_leaves(), sim::Phase::deliver, machine.layout.host_port_agent(sip),
                             step_key(number), sim::call<&Installation::send>(installation.get()));
  machine.keep(installation);
  if (machine.followers) machine.followers->leads(installation);
  return installation;
}

void Machine::close(std::vector<Channel> channels) {
  Implementation& machine = *implementation_;
  std::erase_if(channels, [&](const Channel& channel) { return !machine.simulates(channel.receiver.sip); });
  const SipId first{0};
  machine.closing.push_back(std::move(channels));
  machine.scheduler.schedule(machine.command_leaves(), sim::Phase::deliver, machine.layout.host_port_agent(first),
                             step_key(machine.next_command(first)),
                             sim::call<&Implementation::close_channels>(&machine));
}

void Machine::check_all_received() const {
  if (!implementation_->alike) return;
  for (const auto& pe : implementation_->pes) {
    if (pe == nullptr || pe->ipcq().unreceived() == 0) continue;
    throw not_alike(std::to_string(pe->ipcq().unreceived()) + " messages that programs like those of SIP 0 send to " +
                    to_text(pe->coordinate()) + " have not been received");
  }
}

Ipcq& Machine::ipcq(PeCoordinate at) {
  return implementation_->pe(at).ipcq();
}

sim::AgentId Machine::program_agent(PeCoordinate pe, std::int32_t context) const {
  return implementation_->layout.program_agent(pe, context);
}

sim::AgentId Machine::host_agent(std::int32_t rank) const {
  return implementation_->layout.host_agent(rank);
}

CommandBound Machine::least(PeCoordinate pe, const Command& command) {
  return implementation_->bounds.of(pe, command);
}

std::vector<ServerId> Machine::servers_of(PeCoordinate pe, const DmaWork& work, std::size_t leg) {
  using topology::Endpoint;
  Implementation& machine = *implementation_;
  const TransferEnd end = machine.transport.memory(work.legs[leg].memory, work.legs[leg].slice);
  const Endpoint port = Endpoint::pe_port(pe), memory = end.at;
  const auto links = machine.transport.route(Transport::end(work.writes() ? port : memory),
                                             Transport::end(work.writes() ? memory : port), VirtualNetwork::request);
  std::vector<ServerId> servers;
  servers.reserve(end.group + links.size() + 1);
  for (std::uint32_t each = 0; each < end.group; ++each) servers.push_back({end.server.value + each});
  for (const Stage& link : links) servers.push_back(link.server);
  servers.push_back(machine.layout.tcm_port(pe));
  return servers;
}

ServerKind Machine::server_kind(ServerId server) const {
  const auto& links = implementation_->network.links();
  return server.value < links.size() ? hardware::server_kind(links[server.value].kind)
                                     : hardware::server_kind(implementation_->fabric.spec(server).part.kind);
}

std::vector<ResourceUsage> Machine::usage() const {
  return implementation_->resources().usage();
}

std::vector<ResourceCounters> Machine::counters_now() const {
  return implementation_->resources().counters_now();
}

SentPayload Machine::sent(PeCoordinate at) const {
  const auto& pe = implementation_->pes[static_cast<std::size_t>(implementation_->layout.pe_index(at))];
  return pe == nullptr ? SentPayload() : pe->ipcq().payload();
}

SentPayload Machine::sent(SipId sip) const {
  SentPayload sent;
  for (const auto& pe : implementation_->pes) {
    if (pe != nullptr && pe->coordinate().sip == implementation_->layout.built(sip)) sent += pe->ipcq().payload();
  }
  return sent;
}

std::vector<TlbUsage> Machine::tlb_usage() const {
  std::vector<TlbUsage> usage;
  for (const auto& pe : implementation_->pes) {
    if (pe != nullptr && pe->tlb().counters() != TlbCounters())
      usage.push_back({pe->coordinate(), pe->tlb().counters()});
  }
  return usage;
}

}  // namespace kernbench::hardware
