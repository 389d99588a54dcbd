#include "hardware/transport.h"

#include <cassert>

namespace kernbench::hardware {

Transport::Transport(Fabric& fabric, const topology::Network& network, const Layout& layout,
                     const topology::CubeSpec& cube)
    : fabric_(fabric),
      network_(network),
      layout_(layout),
      burst_(cube.noc.burst),
      granule_(cube.hbm.interleave),
      header_(cube.noc.header) {}

TransferEnd Transport::slice(PeCoordinate owner) const {
  return {topology::Endpoint::hbm_slice(owner), layout_.channel(owner, 0),
          static_cast<std::uint16_t>(layout_.channels())};
}

TransferEnd Transport::tcm(PeCoordinate pe) const {
  return {topology::Endpoint::pe_port(pe), layout_.tcm_port(pe), 1};
}

TransferEnd Transport::sram(PeCoordinate by) const {
  return {topology::sram_port(network_.topology(), by), layout_.sram({by.sip, by.cube}), 1};
}

std::uint64_t Transport::key_of(const Way& way) const {
  const auto number = [&](const TransferEnd& end) {
    const auto place = static_cast<std::uint64_t>(layout_.place({end.at.sip, end.at.cube, end.at.pe}));
    return (place << 4) | (static_cast<std::uint64_t>(end.at.kind) << 1) | (end.group > 0 ? 1 : 0);
  };
  constexpr int kBits = 31;
  assert(number(way.from) >> kBits == 0 && number(way.to) >> kBits == 0);
  return (number(way.from) << (kBits + 2)) | (number(way.to) << 2) | static_cast<std::uint64_t>(way.network);
}

void Transport::append_links(std::vector<Stage>& route, topology::Endpoint from, topology::Endpoint to,
                             VirtualNetwork network) const {
  for (const topology::RouteHop& hop : network_.route(from, to)) {
    route.push_back({ServerId{hop.link.value}, 1, TrafficClass{network, hop.channel}});
  }
}

std::span<const Stage> Transport::new_route(const Way& way) {
  std::vector<Stage>& stages = stages_.emplace_back();
  const TrafficClass first_channel{way.network, 0};
  if (way.from.group > 0) stages.push_back({way.from.server, way.from.group, first_channel});
  if (way.by_io) {
    append_links(stages, way.from.at, topology::Endpoint::io_cpu(way.io), way.network);
    append_links(stages, topology::Endpoint::io_cpu(way.io), way.to.at, way.network);
  } else {
    append_links(stages, way.from.at, way.to.at, way.network);
  }
  if (way.to.group > 0) stages.push_back({way.to.server, way.to.group, first_channel});
  stages.shrink_to_fit();
  return stages;
}

std::span<const Stage> Transport::route(const Way& way) {
  if (way.by_io) {
    const auto [found, is_new] = routes_by_io_.try_emplace({way.io.value, key_of(way)});
    return is_new ? found->second = new_route(way) : found->second;
  }
  const auto [stages, is_new] = routes_.find_or_add(key_of(way));
  return is_new ? stages = new_route(way) : stages;
}

std::span<const Stage> Transport::route(const TransferEnd& from, const TransferEnd& to, VirtualNetwork network) {
  return route(Way{from, to, {}, false, network});
}

std::span<const Stage> Transport::route_by_io(const TransferEnd& from, SipId io, const TransferEnd& to,
                                              VirtualNetwork network) {
  return route(Way{from, to, io, true, network});
}

const Tree& Transport::tree(const TransferEnd& from, std::span<const PeCoordinate> to, VirtualNetwork network) {
  const auto [found, is_new] = trees_.try_emplace({from.at, network, std::vector<PeCoordinate>(to.begin(), to.end())});
  if (!is_new) return found->second;
  std::vector<std::span<const Stage>> paths;
  paths.reserve(to.size());
  for (const PeCoordinate pe : to) paths.push_back(route(from, tcm(pe), network));
  found->second = tree_of(paths);
  return found->second;
}

TransferRequest Transport::request(const Sender& sender, std::span<const Stage> route, const Ranges& ranges,
                                   sim::Callback departed, sim::Callback delivered, TransferLog* log) const {
  TransferRequest request;
  request.agent = sender.agent;
  request.operation = sender.operation;
  request.route = route;
  request.ranges = ranges;
  request.burst = burst_;
  request.granule = granule_;
  request.departed = departed;
  request.delivered = delivered;
  request.log = log;
  return request;
}

TransferRequest Transport::request_of(std::span<const Stage> route, const Ranges& from, const Ranges& to) const {
  TransferRequest copy = request({}, route, from, {}, {}, nullptr);
  copy.landing = to;
  return copy;
}

void Transport::transfer(const Sender& sender, std::span<const Stage> route, const Ranges& ranges,
                         sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  fabric_.start(request(sender, route, ranges, departed, delivered, log));
}

void Transport::transfer(const Sender& sender, std::span<const Stage> route, const Ranges& from, const Ranges& to,
                         sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  TransferRequest copy = request(sender, route, from, departed, delivered, log);
  copy.landing = to;
  fabric_.start(copy);
}

void Transport::transfer_in_bursts(const Sender& sender, std::span<const Stage> route, const Ranges& ranges,
                                   Bytes burst, sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  TransferRequest sized = request(sender, route, ranges, departed, delivered, log);
  sized.burst = burst;
  fabric_.start(sized);
}

void Transport::multicast(const Sender& sender, const Tree& tree, std::span<const Receiver> receivers,
                          const Ranges& ranges, sim::Callback departed, TransferLog* log) {
  TransferRequest all = request(sender, tree.stages, ranges, departed, {}, log);
  all.tree = tree.places;
  all.receivers = receivers;
  fabric_.start(all);
}

void Transport::message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
                        sim::Callback delivered, TransferLog* log) {
  message(sender, from, to, network, header_, delivered, log);
}

void Transport::message(const Sender& sender, topology::Endpoint from, topology::Endpoint to, VirtualNetwork network,
                        Bytes bytes, sim::Callback delivered, TransferLog* log) {
  const std::span<const Stage> links = route(end(from), end(to), network);
  if (links.empty()) return invoke(delivered);
  TransferRequest packet = request(sender, links, Ranges(StridedRange{0, 1, bytes, 0}), {}, delivered, log);
  packet.burst = packet.granule = bytes;
  fabric_.start(packet);
}

}  // namespace kernbench::hardware
