#include "hardware/copy/host_write.h"

#include <utility>

namespace kernbench::hardware {

using topology::Endpoint;

CopyEngine::HostWrite::HostWrite(CopyEngine& engine, CopyRequest request, std::uint64_t number)
    : engine_(engine),
      request_(std::move(request)),
      number_(number),
      unwritten_(request_.legs.size()),
      open_legs_(request_.legs.size()) {}

void CopyEngine::HostWrite::send_command(std::uint64_t /*unused*/) {
  engine_.send_command(number_, sim::call<&HostWrite::start>(this));
}

void CopyEngine::HostWrite::start(std::uint64_t /*unused*/) {
  for (std::uint64_t leg = 0; leg < request_.legs.size(); ++leg) write(leg);
}

void CopyEngine::HostWrite::write(std::uint64_t leg) {
  Transport& transport = engine_.transport_;
  const auto route = transport.route_by_io(Transport::end(Endpoint::host()), engine_.sip_, transport.slice(slice(leg)),
                                           VirtualNetwork::request);
  transport.transfer(sender(leg), route, request_.legs[leg].ranges, {}, sim::call<&HostWrite::landed>(this, leg));
}

void CopyEngine::HostWrite::landed(std::uint64_t leg) {
  if (--unwritten_ == 0 && request_.effect) request_.effect();
  engine_.transport_.message(sender(leg), Endpoint::hbm_slice(slice(leg)), io(), VirtualNetwork::response,
                             sim::call<&HostWrite::acknowledged>(this, leg));
}

void CopyEngine::HostWrite::acknowledged(std::uint64_t leg) {
  engine_.transport_.message(sender(leg), io(), Endpoint::host(), VirtualNetwork::response,
                             sim::call<&HostWrite::leg_done>(this, leg));
}

void CopyEngine::HostWrite::leg_done(std::uint64_t /*unused*/) {
  if (--open_legs_ > 0) return;
  const auto self = engine_.writes_under_way_.extract(number_);
  if (request_.completed) request_.completed();
}

}  // namespace kernbench::hardware
