#include "hardware/copy/copy_engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "hardware/copy/host_read.h"
#include "hardware/copy/host_write.h"
#include "hardware/copy/peer_copy.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

/// What a link takes in `time`, and the rest of the part that it has begun.
Bytes parts_in(Time time, Bandwidth rate, Bytes part) {
  const uint128 bytes = static_cast<uint128>(time.count()) * static_cast<uint128>(rate.count()) / 1'000'000'000'000u;
  return part * (static_cast<std::int64_t>(bytes) / part.count() + 1);
}

Time latency(const Fabric& fabric, std::span<const Stage> route) {
  Time sum;
  for (const Stage& stage : route) sum += fabric.spec(stage.server).latency;
  return sum;
}

/// Of one header.
Time message_time(const Fabric& fabric, std::span<const Stage> links, Bytes header) {
  Time slowest;
  for (const Stage& stage : links) {
    const ServerSpec& link = fabric.spec(stage.server);
    slowest = std::max(slowest, transfer_time(link.packets.on_wire(header), link.bandwidth));
  }
  return latency(fabric, links) + slowest;
}

/// The least of the rates of full packets.
Bandwidth narrowest(const Fabric& fabric, std::span<const Stage> links) {
  const auto rate = [&](const Stage& stage) {
    const ServerSpec& link = fabric.spec(stage.server);
    return link.packets.payload_rate(link.bandwidth);
  };
  Bandwidth least = rate(links.front());
  for (const Stage& stage : links) least = std::min(least, rate(stage));
  return least;
}

}  // namespace

CopyEngine::CopyEngine(sim::Scheduler& scheduler, const Layout& layout, Transport& transport, SipId sip)
    : scheduler_(scheduler), layout_(layout), transport_(transport), sip_(sip) {}

CopyEngine::~CopyEngine() = default;

void CopyEngine::cancel(std::uint64_t owner) {
  const auto cancel_in = [owner](const auto& under_way) {
    for (const auto& [number, copy] : under_way) {
      if (copy->owner() == owner) copy->drop_payload();
    }
  };
  cancel_in(writes_under_way_);
  cancel_in(reads_under_way_);
  cancel_in(peers_under_way_);
}

void CopyEngine::start(CopyRequest request, std::uint64_t number, Time leaves) {
  if (request.to_device) return begin<HostWrite>(std::move(request), number, leaves, writes_under_way_);
  begin<HostRead>(std::move(request), number, leaves, reads_under_way_);
}

void CopyEngine::start(PeerCopyRequest request, std::uint64_t number, Time leaves) {
  begin<PeerCopy>(std::move(request), number, leaves, peers_under_way_);
}

PeCoordinate CopyEngine::farthest() const {
  const std::int64_t pes = layout_.pe_count() / layout_.built_sips();
  return layout_.pe_at((sip_.value + 1) * pes - 1);
}

// One part more than what is on its way: while that arrives, the link takes its bytes, and its room is not home.
Bytes CopyEngine::window_size(std::span<const Stage> way, std::span<const Stage> behind_io) const {
  const Fabric& fabric = transport_.fabric();
  const auto asking = transport_.route(Transport::end(Endpoint::io_cpu(sip_)),
                                       Transport::end(Endpoint::hbm_slice(farthest())), VirtualNetwork::request);
  const ServerSpec& channel = fabric.spec(way.front().server);
  const Bytes access = std::min(transport_.granule(), transport_.burst());
  const Time time = message_time(fabric, asking, transport_.header()) + transfer_time(access, channel.bandwidth) +
                    latency(fabric, way);
  const Bytes part = transport_.burst();
  return parts_in(time, narrowest(fabric, behind_io), part) + part;
}

ReadWindow& CopyEngine::window_to_host() {
  if (!host_window_) {
    const TransferEnd host = Transport::end(Endpoint::host());
    const auto way = transport_.route_by_io(transport_.slice(farthest()), sip_, host, VirtualNetwork::response);
    const auto behind = transport_.route(Transport::end(Endpoint::io_cpu(sip_)), host, VirtualNetwork::response);
    host_window_.emplace(scheduler_, window_size(way, behind));
  }
  return *host_window_;
}

ReadWindow& CopyEngine::window_to(SipId destination) {
  const PeCoordinate from = farthest();
  const auto way = transport_.route(transport_.slice(from), transport_.slice({destination, from.cube, from.pe}),
                                    VirtualNetwork::request);
  const auto behind = transport_.route(Transport::end(Endpoint::io_cpu(sip_)),
                                       Transport::end(Endpoint::io_cpu(destination)), VirtualNetwork::request);
  const Bytes size = window_size(way, behind);
  return peer_windows_.try_emplace({behind.front().server, size}, scheduler_, size).first->second;
}

template <typename AnyCopy, typename Request>
void CopyEngine::begin(Request request, std::uint64_t number, Time leaves,
                       std::map<std::uint64_t, std::unique_ptr<AnyCopy>>& under_way) {
  if (request.legs.empty()) throw ValueError("a copy of " + to_text(sip_) + " touches no HBM slice");
  assert(request.legs.size() <= kMaximumLegs);
  auto copy = std::make_unique<AnyCopy>(*this, std::move(request), number);
  scheduler_.schedule(leaves, sim::Phase::deliver, layout_.host_port_agent(sip_), step_key(number),
                      sim::call<&AnyCopy::send_command>(copy.get()));
  under_way.emplace(number, std::move(copy));
}

void CopyEngine::send_command(std::uint64_t number, sim::Callback arrived) {
  transport_.message({layout_.host_port_agent(sip_), message_key(number)}, Endpoint::host(), Endpoint::io_cpu(sip_),
                     VirtualNetwork::control, arrived);
}

Sender CopyEngine::sender(std::uint64_t number, std::uint64_t part) const {
  return {layout_.copy_agent(sip_), leg_key(number, part)};
}

}  // namespace kernbench::hardware
