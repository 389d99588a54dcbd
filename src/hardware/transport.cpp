#include "hardware/transport.h"

#include <utility>

namespace kernbench::hardware {

Transport::Transport(Fabric& fabric, const topology::Network& network, const Layout& layout,
                     const topology::CubeSpec& cube)
    : fabric_(fabric), network_(network), layout_(layout), chunk_(cube.noc.chunk), header_(cube.noc.header) {}

void Transport::append_links(std::vector<Stage>& route, topology::Endpoint from, topology::Endpoint to,
                             VirtualNetwork network) const {
  for (const topology::RouteHop& hop : network_.route(from, to)) {
    route.push_back({ServerId{hop.link.value}, 1, TrafficClass{network, hop.channel}});
  }
}

Stage Transport::channels(PeCoordinate slice, VirtualNetwork network) const {
  return {layout_.channel(slice, 0), static_cast<std::uint16_t>(layout_.channels()), TrafficClass{network, 0}};
}

Stage Transport::tcm_port(PeCoordinate pe, VirtualNetwork network) const {
  return {layout_.tcm_port(pe), 1, TrafficClass{network, 0}};
}

Stage Transport::sram(CubeCoordinate cube, VirtualNetwork network) const {
  return {layout_.sram(cube), 1, TrafficClass{network, 0}};
}

void Transport::transfer(const Sender& sender, std::vector<Stage> route, std::vector<StridedRange> ranges,
                         sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  transfer(sender, std::move(route), std::move(ranges), {}, departed, delivered, log);
}

void Transport::transfer(const Sender& sender, std::vector<Stage> route, std::vector<StridedRange> from,
                         std::vector<StridedRange> to, sim::Callback departed, sim::Callback delivered,
                         TransferLog* log) {
  TransferRequest request;
  request.agent = sender.agent;
  request.operation = sender.operation;
  request.route = std::move(route);
  request.ranges = std::move(from);
  request.landing = std::move(to);
  request.chunk = chunk_;
  request.departed = departed;
  request.delivered = delivered;
  request.log = log;
  fabric_.start(std::move(request));
}

void Transport::transfer_in_chunks(const Sender& sender, std::vector<Stage> route, std::vector<StridedRange> ranges,
                                   Bytes chunk, sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  TransferRequest request;
  request.agent = sender.agent;
  request.operation = sender.operation;
  request.route = std::move(route);
  request.ranges = std::move(ranges);
  request.chunk = chunk;
  request.granule = chunk_;
  request.departed = departed;
  request.delivered = delivered;
  request.log = log;
  fabric_.start(std::move(request));
}

void Transport::message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
                        sim::Callback delivered, TransferLog* log) {
  message(sender, from, to, network, header_, delivered, log);
}

void Transport::message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
                        Bytes bytes, sim::Callback delivered, TransferLog* log) {
  std::vector<Stage> route;
  append_links(route, from, to, network);
  if (route.empty()) return invoke(delivered);
  transfer(sender, std::move(route), {StridedRange{0, 1, bytes, 0}}, {}, delivered, log);
}

}  // namespace kernbench::hardware
