#include "hardware/copy/host_read.h"

#include <utility>
#include <vector>

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

std::vector<LegSides> sides(const CopyRequest& request) {
  std::vector<LegSides> all;
  all.reserve(request.legs.size());
  for (const DmaLeg& leg : request.legs) all.push_back({leg.ranges, {}});
  return all;
}

}  // namespace

CopyEngine::HostRead::HostRead(CopyEngine& engine, CopyRequest request, std::uint64_t number)
    : engine_(engine),
      request_(std::move(request)),
      number_(number),
      window_(engine.window_to_host()),
      parts_(sides(request_), engine.transport_.burst(), engine.transport_.granule()),
      lone_(engine.scheduler_, engine.transport_, window_, *this) {}

void CopyEngine::HostRead::send_command(std::uint64_t /*unused*/) {
  engine_.send_command(number_, sim::call<&HostRead::start>(this));
}

void CopyEngine::HostRead::start(std::uint64_t /*unused*/) {
  window_.join(*this);
}

Bytes CopyEngine::HostRead::ask() {
  const Part& part = parts_.take();
  lone_.asked(part);
  ++unread_;
  ++under_way_;
  engine_.transport_.message(sender(part.slot), Endpoint::io_cpu(engine_.sip_), Endpoint::hbm_slice(slice(part.slot)),
                             VirtualNetwork::request, sim::call<&HostRead::read>(this, part.slot));
  return part.bytes;
}

std::span<const Stage> CopyEngine::HostRead::route(std::uint64_t leg) {
  Transport& transport = engine_.transport_;
  return transport.route_by_io(transport.slice(request_.legs[leg].slice), engine_.sip_,
                               Transport::end(Endpoint::host()), VirtualNetwork::response);
}

void CopyEngine::HostRead::append_state(std::vector<std::int64_t>& state) const {
  for (const std::size_t count : {unread_, under_way_}) state.push_back(static_cast<std::int64_t>(count));
}

void CopyEngine::HostRead::read(std::uint64_t slot) {
  parts_.begin(slot);
  engine_.transport_.transfer(sender(slot), route(parts_.at(slot).leg), parts_.from(slot),
                              sim::call<&HostRead::left_memory>(this, slot), sim::call<&HostRead::arrived>(this, slot));
}

void CopyEngine::HostRead::left_memory(std::uint64_t /*unused*/) {
  if (--unread_ == 0 && !has_more() && request_.effect) request_.effect();
}

void CopyEngine::HostRead::arrived(std::uint64_t slot) {
  const Bytes bytes = parts_.at(slot).bytes;
  parts_.give_back(slot);
  --under_way_;
  window_.arrived(bytes);
  lone_.arrived();
  if (under_way_ > 0 || has_more()) return;
  const auto self = engine_.reads_under_way_.extract(number_);
  if (request_.completed) request_.completed();
}

}  // namespace kernbench::hardware
