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
  const Link& link = this->link(id);
  if (link.kind != LinkKind::sip) return std::nullopt;
  const auto node = [&](const LinkEnd& end) {
    return end.kind == LinkEnd::Kind::sip_switch ? topology_.system.sips : end.at.sip.value;
  };
  return SipHop{node(link.from), node(link.to), 0};
}

std::pair<Endpoint, Endpoint> Network::users_of(LinkId id) const {
  assert(!between_sips(id));
  const Link& link = this->link(id);
  return {user_at(link.from, link.to), user_at(link.to, link.from)};
}

/// An endpoint whose packets go over a link from or to `end`: behind a router stands its PE, or, for what hangs off the
/// router, the rest of the machine.
Endpoint Network::user_at(const LinkEnd& end, const LinkEnd& other) {
  const CubeCoordinate cube{end.at.sip, end.at.cube};
  switch (end.kind) {
    case LinkEnd::Kind::router:
      return other.kind == LinkEnd::Kind::router || other.kind == LinkEnd::Kind::io ? Endpoint::pe_port(end.at)
                                                                                    : Endpoint::io_cpu(end.at.sip);
    case LinkEnd::Kind::io:
      return Endpoint::io_cpu(end.at.sip);
    case LinkEnd::Kind::m_cpu:
      return Endpoint::m_cpu(cube);
    case LinkEnd::Kind::pe:
      return Endpoint::pe_port(end.at);
    case LinkEnd::Kind::hbm_slice:
      return Endpoint::hbm_slice(end.at);
    case LinkEnd::Kind::sram:
      return Endpoint::sram(end.at);
    case LinkEnd::Kind::host:
    case LinkEnd::Kind::sip_switch:
      break;
  }
  return Endpoint::host();
}

}  // namespace kernbench::topology
