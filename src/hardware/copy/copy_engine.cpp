#include "hardware/copy/copy_engine.h"

#include <cassert>
#include <utility>

#include "base/text.h"
#include "hardware/copy/peer_copy.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

using topology::Endpoint;

/// One copy under way. All legs travel together once the command has reached the IO chiplet.
class CopyEngine::Copy {
 public:
  Copy(CopyEngine& engine, CopyRequest request, std::uint64_t number)
      : engine_(engine),
        request_(std::move(request)),
        number_(number),
        accesses_(request_.legs.size()),
        open_legs_(request_.legs.size()) {}

  std::uint64_t owner() const { return request_.owner; }
  void drop_payload() { request_.effect = nullptr; }

  void send_command(std::uint64_t) {
    transport().message({engine_.layout_.host_port_agent(engine_.sip_), message_key(number_)}, Endpoint::host(), io(),
                        VirtualNetwork::control, sim::call<&Copy::start_legs>(this));
  }

 private:
  void start_legs(std::uint64_t) {
    for (std::uint64_t leg = 0; leg < request_.legs.size(); ++leg) {
      if (request_.to_device) {
        write(leg);
      } else {
        transport().message(sender(leg), io(), slice(leg), VirtualNetwork::request, sim::call<&Copy::read>(this, leg));
      }
    }
  }

  void write(std::uint64_t leg) {
    const auto route =
        transport().route_by_io(Transport::end(Endpoint::host()), engine_.sip_, memory(leg), VirtualNetwork::request);
    transport().transfer(sender(leg), route, request_.legs[leg].ranges, {}, sim::call<&Copy::landed>(this, leg));
  }

  void read(std::uint64_t leg) {
    const auto route =
        transport().route_by_io(memory(leg), engine_.sip_, Transport::end(Endpoint::host()), VirtualNetwork::response);
    transport().transfer(sender(leg), route, request_.legs[leg].ranges, sim::call<&Copy::left_memory>(this, leg),
                         sim::call<&Copy::leg_done>(this, leg));
  }

  void left_memory(std::uint64_t) { memory_accessed(); }

  void landed(std::uint64_t leg) {
    memory_accessed();
    transport().message(sender(leg), slice(leg), io(), VirtualNetwork::response,
                        sim::call<&Copy::acknowledged>(this, leg));
  }

  void acknowledged(std::uint64_t leg) {
    transport().message(sender(leg), io(), Endpoint::host(), VirtualNetwork::response,
                        sim::call<&Copy::leg_done>(this, leg));
  }

  void memory_accessed() {
    if (--accesses_ == 0 && request_.effect) request_.effect();
  }

  void leg_done(std::uint64_t) {
    if (--open_legs_ > 0) return;
    const auto self = engine_.under_way_.extract(number_);
    if (request_.completed) request_.completed();
  }

  Transport& transport() { return engine_.transport_; }
  Endpoint io() const { return Endpoint::io_cpu(engine_.sip_); }
  TransferEnd memory(std::uint64_t leg) const { return engine_.transport_.slice(request_.legs[leg].slice); }
  Endpoint slice(std::uint64_t leg) const { return Endpoint::hbm_slice(request_.legs[leg].slice); }
  Sender sender(std::uint64_t leg) const { return {engine_.layout_.copy_agent(engine_.sip_), leg_key(number_, leg)}; }

  CopyEngine& engine_;
  CopyRequest request_;
  std::uint64_t number_;
  std::size_t accesses_;
  std::size_t open_legs_;
};

CopyEngine::CopyEngine(sim::Scheduler& scheduler, const Layout& layout, Transport& transport, SipId sip)
    : scheduler_(scheduler), layout_(layout), transport_(transport), sip_(sip) {}

CopyEngine::~CopyEngine() = default;

void CopyEngine::cancel(std::uint64_t owner) {
  for (const auto& [number, copy] : under_way_) {
    if (copy->owner() == owner) copy->drop_payload();
  }
  for (const auto& [number, copy] : peers_under_way_) {
    if (copy->owner() == owner) copy->drop_payload();
  }
}

void CopyEngine::start(CopyRequest request, std::uint64_t number, Time leaves) {
  begin<Copy>(std::move(request), number, leaves, under_way_);
}

void CopyEngine::start(PeerCopyRequest request, std::uint64_t number, Time leaves) {
  begin<PeerCopy>(std::move(request), number, leaves, peers_under_way_);
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

}  // namespace kernbench::hardware
