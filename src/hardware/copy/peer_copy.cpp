#include "hardware/copy/peer_copy.h"

#include <utility>

namespace kernbench::hardware {

using topology::Endpoint;

CopyEngine::PeerCopy::PeerCopy(CopyEngine& engine, PeerCopyRequest request, std::uint64_t number)
    : engine_(engine),
      request_(std::move(request)),
      number_(number),
      unread_(request_.legs.size()),
      unwritten_(request_.legs.size()),
      open_legs_(request_.legs.size()) {}

void CopyEngine::PeerCopy::send_command(std::uint64_t /*unused*/) {
  engine_.transport_.message({engine_.layout_.host_port_agent(engine_.sip_), message_key(number_)}, Endpoint::host(),
                             io(), VirtualNetwork::control, sim::call<&PeerCopy::start_legs>(this));
}

void CopyEngine::PeerCopy::start_legs(std::uint64_t /*unused*/) {
  for (std::uint64_t leg = 0; leg < request_.legs.size(); ++leg) {
    engine_.transport_.message(sender(leg), io(), source(leg), VirtualNetwork::request,
                               sim::call<&PeerCopy::move>(this, leg));
  }
}

// A write as far as the fabric goes: requests, which the channels at their end always take.
void CopyEngine::PeerCopy::move(std::uint64_t leg) {
  Transport& transport = engine_.transport_;
  const PeerLeg& part = request_.legs[leg];
  const auto route =
      transport.route(transport.slice(part.source), transport.slice(part.destination), VirtualNetwork::request);
  transport.transfer(sender(leg), route, part.from, part.to, sim::call<&PeerCopy::left_memory>(this, leg),
                     sim::call<&PeerCopy::landed>(this, leg));
}

void CopyEngine::PeerCopy::left_memory(std::uint64_t /*unused*/) {
  if (--unread_ == 0 && request_.read) request_.read();
}

void CopyEngine::PeerCopy::landed(std::uint64_t leg) {
  if (--unwritten_ == 0 && request_.written) request_.written();
  engine_.transport_.message(sender(leg), destination(leg), io(), VirtualNetwork::response,
                             sim::call<&PeerCopy::acknowledged>(this, leg));
}

void CopyEngine::PeerCopy::acknowledged(std::uint64_t leg) {
  engine_.transport_.message(sender(leg), io(), Endpoint::host(), VirtualNetwork::response,
                             sim::call<&PeerCopy::leg_done>(this, leg));
}

void CopyEngine::PeerCopy::leg_done(std::uint64_t /*unused*/) {
  if (--open_legs_ > 0) return;
  const auto self = engine_.peers_under_way_.extract(number_);
  if (request_.completed) request_.completed();
}

Sender CopyEngine::PeerCopy::sender(std::uint64_t leg) const {
  return {engine_.layout_.copy_agent(engine_.sip_), leg_key(number_, leg)};
}
Endpoint CopyEngine::PeerCopy::source(std::uint64_t leg) const {
  return Endpoint::hbm_slice(request_.legs[leg].source);
}
Endpoint CopyEngine::PeerCopy::destination(std::uint64_t leg) const {
  return Endpoint::hbm_slice(request_.legs[leg].destination);
}

}  // namespace kernbench::hardware
