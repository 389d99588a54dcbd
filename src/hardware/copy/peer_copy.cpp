#include "hardware/copy/peer_copy.h"

#include <utility>

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

std::vector<LegSides> sides(const PeerCopyRequest& request) {
  std::vector<LegSides> all;
  all.reserve(request.legs.size());
  for (const PeerLeg& leg : request.legs) all.push_back({leg.from, leg.to});
  return all;
}

}  // namespace

CopyEngine::PeerCopy::PeerCopy(CopyEngine& engine, PeerCopyRequest request, std::uint64_t number)
    : engine_(engine),
      request_(std::move(request)),
      number_(number),
      window_(engine.window_to(request_.legs.front().destination.sip)),
      parts_(sides(request_), engine.transport_.burst(), engine.transport_.granule()),
      lone_(engine.scheduler_, engine.transport_, window_, *this),
      unanswered_(request_.legs.size(), 1),
      open_legs_(request_.legs.size()) {}

void CopyEngine::PeerCopy::send_command(std::uint64_t /*unused*/) {
  engine_.send_command(number_, sim::call<&PeerCopy::start>(this));
}

void CopyEngine::PeerCopy::start(std::uint64_t /*unused*/) {
  window_.join(*this);
}

Bytes CopyEngine::PeerCopy::ask() {
  parts_.settle(engine_.scheduler_.now());
  const Part& part = parts_.take();
  lone_.asked(part);
  ++unread_;
  ++unwritten_;
  if (!part.ends_leg) ++unanswered_[part.leg];
  engine_.transport_.message(sender(part.slot), io(), Endpoint::hbm_slice(leg(part.slot).source),
                             VirtualNetwork::request, sim::call<&PeerCopy::move>(this, part.slot));
  return part.bytes;
}

std::span<const Stage> CopyEngine::PeerCopy::route(std::uint64_t leg) {
  Transport& transport = engine_.transport_;
  const PeerLeg& of = request_.legs[leg];
  return transport.route(transport.slice(of.source), transport.slice(of.destination), VirtualNetwork::request);
}

void CopyEngine::PeerCopy::append_state(std::vector<std::int64_t>& state) const {
  for (const std::size_t count : {unread_, unwritten_, open_legs_}) state.push_back(static_cast<std::int64_t>(count));
  state.insert(state.end(), unanswered_.begin(), unanswered_.end());
}

// A write as far as the fabric goes: requests, which the channels at their end always take.
void CopyEngine::PeerCopy::move(std::uint64_t slot) {
  parts_.begin(slot);
  engine_.transport_.transfer(sender(slot), route(parts_.at(slot).leg), parts_.from(slot), parts_.to(slot),
                              sim::call<&PeerCopy::left_memory>(this, slot), sim::call<&PeerCopy::landed>(this, slot));
}

void CopyEngine::PeerCopy::left_memory(std::uint64_t /*unused*/) {
  if (--unread_ == 0 && !has_more() && request_.read) request_.read();
}

void CopyEngine::PeerCopy::landed(std::uint64_t slot) {
  if (--unwritten_ == 0 && !has_more() && request_.written) request_.written();
  engine_.transport_.message(sender(slot), Endpoint::hbm_slice(leg(slot).destination), io(), VirtualNetwork::response,
                             sim::call<&PeerCopy::acknowledged>(this, slot));
  window_.arrived(parts_.at(slot).bytes);
  lone_.arrived();
}

void CopyEngine::PeerCopy::acknowledged(std::uint64_t slot) {
  if (--unanswered_[parts_.at(slot).leg] > 0) return give_back(slot);
  engine_.transport_.message(sender(slot), io(), Endpoint::host(), VirtualNetwork::response,
                             sim::call<&PeerCopy::leg_done>(this, slot));
}

void CopyEngine::PeerCopy::leg_done(std::uint64_t slot) {
  give_back(slot);
  if (--open_legs_ > 0) return;
  const auto self = engine_.peers_under_way_.extract(number_);
  if (request_.completed) request_.completed();
}

// The last slot may have been what the next part waited for.
void CopyEngine::PeerCopy::give_back(std::uint64_t slot) {
  parts_.give_back(slot, engine_.scheduler_.now());
  window_.ask();
}

}  // namespace kernbench::hardware
