#include "hardware/dma/dma.h"

#include <utility>
#include <vector>

namespace kernbench::hardware {

using topology::Endpoint;

DmaQueue::DmaQueue(event::Scheduler& scheduler, Transport& transport, const topology::DmaSpec& spec, PeCoordinate pe,
                   const std::string& pe_name, std::int32_t index)
    : CommandQueue(scheduler, spec.depth),
      transport_(transport),
      spec_(spec),
      pe_(pe),
      pe_name_(pe_name),
      index_(index) {}

Sender DmaQueue::sender(std::uint64_t leg) {
  return {current().agent, leg_key(current().number, leg)};
}

void DmaQueue::begin(Operation& operation) {
  accesses_ = open_legs_ = operation.legs.size();
  if (spec_.setup == Time::zero()) return start_legs(0);
  scheduler().schedule(scheduler().now() + spec_.setup, event::Phase::deliver, operation.agent,
                       engine_key(operation.number), event::call<&DmaQueue::start_legs>(this));
}

void DmaQueue::start_legs(std::uint64_t) {
  const std::vector<DmaLeg>& legs = current().legs;
  for (std::uint64_t leg = 0; leg < legs.size(); ++leg) {
    if (current().write) {
      start_write(leg);
    } else {
      transport_.message(sender(leg), Endpoint::pe_port(pe_), Endpoint::hbm_slice(legs[leg].slice),
                         VirtualNetwork::request, event::call<&DmaQueue::start_read>(this, leg));
    }
  }
}

void DmaQueue::start_read(std::uint64_t leg) {
  const DmaLeg& part = current().legs[leg];
  std::vector<Stage> route{transport_.channels(part.slice, VirtualNetwork::response)};
  transport_.append_links(route, Endpoint::hbm_slice(part.slice), Endpoint::pe_port(pe_), VirtualNetwork::response);
  route.push_back(transport_.tcm_port(pe_, VirtualNetwork::response));
  transport_.transfer(sender(leg), std::move(route), part.ranges, event::call<&DmaQueue::left_memory>(this, leg),
                      event::call<&DmaQueue::leg_done>(this, leg));
}

void DmaQueue::start_write(std::uint64_t leg) {
  const DmaLeg& part = current().legs[leg];
  std::vector<Stage> route{transport_.tcm_port(pe_, VirtualNetwork::request)};
  transport_.append_links(route, Endpoint::pe_port(pe_), Endpoint::hbm_slice(part.slice), VirtualNetwork::request);
  route.push_back(transport_.channels(part.slice, VirtualNetwork::request));
  transport_.transfer(sender(leg), std::move(route), part.ranges, {}, event::call<&DmaQueue::landed>(this, leg));
}

void DmaQueue::left_memory(std::uint64_t) {
  memory_accessed();
}

void DmaQueue::landed(std::uint64_t leg) {
  memory_accessed();
  transport_.message(sender(leg), Endpoint::hbm_slice(current().legs[leg].slice), Endpoint::pe_port(pe_),
                     VirtualNetwork::response, event::call<&DmaQueue::leg_done>(this, leg));
}

void DmaQueue::memory_accessed() {
  if (--accesses_ == 0) effect();
}

void DmaQueue::leg_done(std::uint64_t) {
  if (--open_legs_ == 0) finish();
}

}  // namespace kernbench::hardware
