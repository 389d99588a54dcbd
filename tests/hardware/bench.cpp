#include "bench.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "hardware/dma/multicast.h"

namespace kernbench::hardware {

using topology::Endpoint;

topology::Topology small_machine(MeshExtent cubes, MeshExtent pes, std::int32_t sips) {
  topology::Topology t;
  t.name = "small";
  t.host.link = {Bandwidth::gigabytes_per_second(61), ns(601), Bytes(128 << 10), {}, {}};
  t.host.launch_overhead = ns(2000);
  t.system.sips = sips;
  t.system.link = {Bandwidth::gigabytes_per_second(199), ns(503), Bytes(256 << 10), {}, {}};
  t.sip.cubes = cubes;
  t.sip.link = {Bandwidth::gigabytes_per_second(251), ns(7), Bytes(16 << 10), {}, {}};
  t.sip.io.cpu_latency = ns(211);
  t.sip.io.counter_write = ps(3001);
  t.cube.pes = pes;
  t.cube.noc.link = {Bandwidth::gigabytes_per_second(127), ns(2), Bytes(16 << 10), {}, {}};
  t.cube.noc.header = Bytes(32);
  t.cube.hbm.capacity = Bytes(std::int64_t{pes.count()} << 20);
  t.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(std::int64_t{149} * pes.count());
  t.cube.hbm.channels = 4 * pes.count();
  t.cube.hbm.latency = ns(89);
  t.cube.hbm.atomic = ps(4999);
  t.cube.sram = {Bytes(1 << 20), Bandwidth::gigabytes_per_second(487), ps(5003)};
  t.pe.ipcq = {4, 3, ps(4007), ps(20'011), ps(9973), Bytes(1 << 18)};
  t.cube.m_cpu = {ns(101), ps(1999)};
  t.pe.clock = Frequency::megahertz(1499);
  t.pe.control = {ps(4001), ps(50'003), ns(10)};
  t.pe.tcm.capacity = Bytes(1 << 16);
  t.pe.tcm.bandwidth = Bandwidth::gigabytes_per_second(509);
  t.pe.gemm.array = {16, 8};
  t.pe.vector.lanes = 32;
  t.pe.dma.queues = 3;
  t.pe.dma.depth = 4;
  t.pe.dma.setup = ps(30'011);
  return t;
}

topology::Topology lossy_machine(MeshExtent cubes, MeshExtent pes, std::int32_t sips) {
  topology::Topology t = small_machine(cubes, pes, sips);
  const auto packets = [](topology::LinkSpec& link, std::int64_t payload, std::int64_t overhead) {
    link.packet = Bytes(payload);
    link.packet_overhead = Bytes(overhead);
  };
  packets(t.host.link, 200, 23);
  packets(t.system.link, 256, 17);
  packets(t.sip.link, 60, 4);
  packets(t.cube.noc.link, 128, 1);
  t.cube.hbm.efficiency = topology::Efficiency::millionths(931'001);
  t.pe.gemm.efficiency = topology::Efficiency::millionths(937'000);
  return t;
}

topology::Topology ahbm_1sip() {
  topology::Topology t;
  t.name = "ahbm-1sip";
  t.host.link = {Bandwidth::gigabytes_per_second(64), ns(600), {}, {}, {}};
  t.host.launch_overhead = ns(2000);
  t.system.link = {Bandwidth::gigabytes_per_second(200), ns(500), {}, {}, {}};
  t.sip.cubes = {4, 4};
  t.sip.link = {Bandwidth::gigabytes_per_second(256), ns(8), {}, {}, {}};
  t.sip.io.attachment = topology::IoAttachment::west_edge;
  t.sip.io.cpu_latency = ns(200);
  t.cube.pes = {4, 2};
  t.cube.noc.link = {Bandwidth::gigabytes_per_second(128), ns(2), {}, {}, {}};
  t.cube.hbm.capacity = Bytes(std::int64_t{36} << 30);
  t.cube.hbm.bandwidth = Bandwidth::gigabytes_per_second(1200);
  t.cube.hbm.channels = 32;
  t.cube.hbm.latency = ns(90);
  t.cube.sram = {Bytes(32 << 20), Bandwidth::gigabytes_per_second(512), ns(5)};
  t.cube.m_cpu.latency = ns(100);
  t.pe.clock = Frequency::gigahertz(1);
  t.pe.control = {ns(4), ns(50), ns(10)};
  t.pe.tcm.capacity = Bytes(4 << 20);
  t.pe.tcm.bandwidth = Bandwidth::gigabytes_per_second(512);
  t.pe.gemm.array = {64, 64};
  t.pe.dma.setup = ns(30);
  return t;
}

DmaLeg leg(PeCoordinate slice, std::uint64_t address, std::int64_t bytes) {
  return {slice, {StridedRange{address, 1, Bytes(bytes), 0}}};
}

CommandRef make_command(Work work, const char* kind, sim::AgentId agent, std::uint64_t number,
                        CommandObserver* observer) {
  CommandRef command(new Command(std::move(work), kind, agent, number));
  command->observer = observer;
  command->watched = observer != nullptr;
  return command;
}

CommandRef ProgramScope::submit(Work work, const char* kind, const std::vector<CommandRef>& dependencies,
                                const Command* adds_to) {
  const CommandRef command = make_command(std::move(work), kind, agent_, next_++, &log_);
  command->dependencies.assign(dependencies);
  command->adds_to = adds_to;
  command->dma_queues = dma_queues_;
  mine_.push_back(command);
  log_.operations.push_back(command);
  machine_.pe(pe_).submit(command);
  return command;
}

CommandRef ProgramScope::load(std::vector<DmaLeg> legs, const std::vector<CommandRef>& dependencies,
                              std::vector<PageRange> pages) {
  return submit(DmaWork{DmaKind::read, std::move(legs), std::move(pages)}, "load", dependencies);
}

CommandRef ProgramScope::store(std::vector<DmaLeg> legs, const std::vector<CommandRef>& dependencies) {
  return submit(DmaWork{DmaKind::write, std::move(legs)}, "store", dependencies);
}

CommandRef ProgramScope::atomic(std::vector<DmaLeg> legs, const std::vector<CommandRef>& dependencies) {
  return submit(DmaWork{DmaKind::atomic, std::move(legs)}, "atomic_add", dependencies);
}

CommandRef ProgramScope::multicast(const std::shared_ptr<Multicast>& of, std::size_t member, std::vector<DmaLeg> legs) {
  const CommandRef command = submit(DmaWork{DmaKind::multicast, std::move(legs), {}, of, member}, "multicast_load");
  of->give(member, command.get());
  return command;
}

CommandRef ProgramScope::send(const Channel& channel, std::int64_t bytes, std::uint64_t tag,
                              const std::vector<CommandRef>& dependencies) {
  return submit(MessageWork{true, channel.send_entry, channel.slots, channel.epoch, tag, Bytes(bytes)}, "send",
                dependencies);
}

CommandRef ProgramScope::receive(const Channel& channel, std::int64_t bytes, std::uint64_t tag) {
  return submit(MessageWork{false, channel.receive_entry, channel.slots, channel.epoch, tag, Bytes(bytes)}, "recv");
}

CommandRef ProgramScope::gemm(GemmWork work, const std::vector<CommandRef>& dependencies) {
  return submit(work, "dot", dependencies);
}

CommandRef ProgramScope::accumulate(GemmWork work, const CommandRef& before) {
  return submit(work, "dot", {before}, before.get());
}

CommandRef ProgramScope::vector(VectorWork work, const std::vector<CommandRef>& dependencies) {
  return submit(work, "add", dependencies);
}

void ProgramScope::wait_all() {
  for (const CommandRef& operation : mine_) operation->done.wait();
}

Bench::Bench(const topology::Topology& description, bool exact, const ModelRegistry& models)
    : topology(description),
      network(topology),
      machine(scheduler, topology, {.exact_events = exact, .models = models}) {
  log.scheduler = &scheduler;
}

ProgramRequest Bench::program(PeCoordinate pe, ProgramBody body, const std::string& launch) {
  return {pe, Name::program(pe, launch), [this, pe, body = std::move(body)](sim::AgentId agent) {
            ProgramScope scope(machine, pe, agent, log);
            body(scope);
            scope.wait_all();
          }};
}

void Bench::launch(std::vector<ProgramRequest> programs, std::function<void(const LaunchTimes&)> completed) {
  LaunchRequest request;
  request.sip = programs.front().pe.sip;
  request.name = "test#0";
  request.programs = std::move(programs);
  request.completed = std::move(completed);
  machine.launch(std::move(request));
}

void Bench::install(const std::vector<Channel>& channels) {
  for (std::int32_t sip = 0; sip < topology.system.sips; ++sip) {
    InstallRequest request{SipId{sip}, "test", {}, {}};
    for (const Channel& channel : channels) {
      if (channel.sender.sip.value == sip || channel.receiver.sip.value == sip) request.channels.push_back(channel);
    }
    if (!request.channels.empty()) machine.install(std::move(request));
  }
  scheduler.run();
}

LaunchTimes Bench::run(PeCoordinate pe, ProgramBody body) {
  LaunchTimes times;
  std::vector<ProgramRequest> programs;
  programs.push_back(program(pe, std::move(body)));
  launch(std::move(programs), [&](const LaunchTimes& t) { times = t; });
  scheduler.run();
  return times;
}

std::vector<Stage> Bench::links(Endpoint from, Endpoint to) const {
  std::vector<Stage> route;
  for (const topology::RouteHop& hop : network.route(from, to)) route.push_back({ServerId{hop.link.value}, 1, {}});
  return route;
}

// Servers: all links, then for each PE its channels and its TCM port.
std::uint32_t Bench::first_channel(PeCoordinate slice) const {
  const std::int32_t per_cube = topology.cube.pes.count();
  const std::int32_t index =
      (slice.sip.value * topology.sip.cubes.count() + slice.cube.value) * per_cube + slice.pe.value;
  const std::int32_t servers = topology.cube.hbm.channels / per_cube + 1;
  return static_cast<std::uint32_t>(network.links().size()) + static_cast<std::uint32_t>(index * servers);
}

Stage Bench::channels(PeCoordinate slice) const {
  const std::int32_t count = topology.cube.hbm.channels / topology.cube.pes.count();
  return {ServerId{first_channel(slice)}, static_cast<std::uint16_t>(count), {}};
}

Stage Bench::tcm_port(PeCoordinate pe) const {
  const Stage group = channels(pe);
  return {ServerId{group.server.value + group.group}, 1, {}};
}

TransferTimes Bench::transfer_times(std::vector<Stage> route, std::vector<StridedRange> ranges, Time start,
                                    std::vector<StridedRange> landing) const {
  std::vector<ServerSpec> servers;
  auto& fabric = const_cast<Machine&>(machine).fabric();
  for (std::uint32_t id = 0; id < fabric.server_count(); ++id) servers.push_back(fabric.spec(ServerId{id}));
  TransferRequest request;
  request.route = route;
  request.ranges = ranges;
  request.landing = landing;
  request.burst = topology.cube.noc.burst;
  request.granule = topology.cube.hbm.interleave;
  return uncontended(servers, request, start);
}

// A message is one packet, and links cut through: their latencies, and the service time of the slowest.
Time Bench::message_time(Endpoint from, Endpoint to) const {
  return message_time(from, to, topology.cube.noc.header);
}

Time Bench::message_time(Endpoint from, Endpoint to, Bytes bytes) const {
  Time latencies, slowest;
  for (const topology::RouteHop& hop : network.route(from, to)) {
    const topology::LinkSpec& link = network.links()[hop.link.value].spec;
    latencies += link.latency;
    slowest = std::max(slowest, transfer_time(link.packets().on_wire(bytes), link.bandwidth));
  }
  return latencies + slowest;
}

}  // namespace kernbench::hardware
