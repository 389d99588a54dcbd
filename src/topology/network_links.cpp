// What the links of a network connect, and what overrides make of them.
#include <algorithm>
#include <cassert>

#include "kernbench/error.h"
#include "topology/index.h"
#include "topology/network.h"
#include "topology/overrides.h"

namespace kernbench::topology {
void Network::override_links() {
  std::string message;
  for (const Finding& finding : check_overrides(topology_.overrides, *this)) {
    message += (message.empty() ? "" : "\n") + finding.path + ": " + finding.message;
  }
  if (!message.empty()) throw ConfigurationError(message);
  apply_overrides(topology_.overrides, links_);
  Detours::Links down;
  for (std::uint32_t id = 0; id < mesh_first_; ++id) {
    const auto hop = between_sips(LinkId{id});
    if (hop && links_[id].failed) down.emplace_back(hop->from, hop->to);
  }
  if (!down.empty()) system_.fail(down);
}

std::optional<SipHop> Network::between_sips(LinkId id) const {
  if (id.value < system_first_.front() || id.value >= mesh_first_) return std::nullopt;
  // The last node that begins here or before: nodes without links begin where the next one does.
  const auto after = std::ranges::upper_bound(system_first_, id.value);
  const auto from = static_cast<std::int32_t>(after - system_first_.begin()) - 1;
  return SipHop{from, system_.neighbours(from)[id.value - system_first_[index(from)]], 0};
}

std::pair<Endpoint, Endpoint> Network::users_of(LinkId id) const {
  assert(!between_sips(id));
  if (id.value < mesh_first_) return {Endpoint::host(), Endpoint::io_cpu(SipId{static_cast<std::int32_t>(id.value)})};
  const std::uint32_t in_sips = id.value - mesh_first_;
  return users_of_mesh(SipId{static_cast<std::int32_t>(in_sips / sip_links_)}, in_sips % sip_links_);
}

std::pair<Endpoint, Endpoint> Network::users_of_mesh(SipId sip, std::uint32_t offset) const {
  const Endpoint io = Endpoint::io_cpu(sip);
  if (offset == kIoToHost) return {io, Endpoint::host()};
  if (offset < cubes_.front()) {  // to and from the mesh, row by row
    const auto number = static_cast<std::int32_t>(offset - kIoToHost - 1);
    const Endpoint first = Endpoint::pe_port(pe_at(sip, {0, number / 2}));
    return number % 2 == 0 ? std::pair{io, first} : std::pair{first, io};
  }

  const auto cube = std::ranges::upper_bound(cubes_, offset) - cubes_.begin() - 1;
  const CubeCoordinate at{sip, CubeId{static_cast<std::int32_t>(cube)}};
  const Endpoint m_cpu = Endpoint::m_cpu(at), sram = Endpoint::sram(at);
  const std::pair<Endpoint, Endpoint> shared[]{{m_cpu, io}, {io, m_cpu}, {sram, io}, {io, sram}};
  const std::uint32_t place = offset - cubes_[static_cast<std::size_t>(cube)];
  if (place < std::size(shared)) return shared[place];

  const auto after = std::ranges::upper_bound(nodes_, offset, {}, &Node::first);
  const auto node = static_cast<std::int32_t>(after - nodes_.begin()) - 1;
  const std::int32_t pes = topology_.cube.pes.count();
  const PeCoordinate here{sip, CubeId{node / pes}, PeId{node % pes}};
  const Endpoint port = Endpoint::pe_port(here), slice = Endpoint::hbm_slice(here);
  const std::pair<Endpoint, Endpoint> attached[]{{port, io}, {io, port}, {slice, io}, {io, slice}};
  const std::uint32_t number = offset - nodes_[index(node)].first;
  if (number < std::size(attached)) return attached[number];

  GridPosition next = position(here.cube, here.pe);
  const auto direction = std::ranges::find(nodes_[index(node)].router, offset) - nodes_[index(node)].router.begin();
  constexpr GridPosition kSteps[]{{1, 0}, {-1, 0}, {0, -1}, {0, 1}};  // by Direction
  next.x += kSteps[direction].x;
  next.y += kSteps[direction].y;
  return {port, Endpoint::pe_port(pe_at(sip, next))};
}

}  // namespace kernbench::topology
