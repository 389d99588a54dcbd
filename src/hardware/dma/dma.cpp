#include "hardware/dma/dma.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hardware/agents.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

using topology::Endpoint;

DmaQueue::DmaQueue(sim::Scheduler& scheduler, Transport& transport, const topology::Topology& topology, PeCoordinate pe,
                   std::int32_t index, Tlb& tlb, std::unique_ptr<DmaModel> model)
    : CommandQueue(scheduler, {PartKind::dma_queue, pe, index}, topology.pe.dma.depth),
      transport_(transport),
      spec_(topology.pe.dma),
      atomic_(topology.cube.hbm.atomic),
      pe_(pe),
      tlb_(tlb),
      model_(std::move(model)),
      flights_(static_cast<std::size_t>(std::min(spec_.outstanding, spec_.depth))) {
  static_assert(kMaximumLegs <= std::size_t{1} << kPartBits);
}

Sender DmaQueue::sender(std::uint64_t part) {
  const Operation& operation = *flight_of(part).operation;
  return {operation.agent, leg_key(operation.number, leg_index(part))};
}

Time DmaQueue::setup_of(const Operation& operation) {
  if (model_ == nullptr) return spec_.setup;
  const Time setup = model_->setup(dma_descriptor(operation, scheduler().now()));
  if (setup >= Time::zero()) return setup;
  throw ProgramError("ModelError", "the model of " + wait_name() + " gave a set-up of " + to_text(setup) + " for " +
                                       operation.wait_name() + "; it must not be negative");
}

void DmaQueue::begin(Operation& operation) {
  const auto place = std::ranges::find(flights_, nullptr, &Flight::operation);
  place->operation = &operation;
  place->accesses = place->open_legs = operation.legs.size();
  if (place->logs.size() < operation.legs.size()) place->logs.resize(operation.legs.size());
  const auto flight = static_cast<std::uint64_t>(place - flights_.begin());
  setting_up_ = true;
  operation.translation = tlb_.translate(operation.pages);
  const Time setup = setup_of(operation) + operation.translation;
  if (setup == Time::zero()) return start_legs(flight);
  scheduler().schedule(scheduler().now() + setup, sim::Phase::deliver, operation.agent, engine_key(operation.number),
                       sim::call<&DmaQueue::start_legs>(this, flight));
}

void DmaQueue::start_legs(std::uint64_t flight) {
  setting_up_ = false;
  Flight& begun = flights_[flight];
  const OperationName name = begun.operation->operation_name();
  if (begun.operation->legs.empty()) {
    effect(*begun.operation);
    return end(begun);
  }
  for (std::uint64_t leg = 0; leg < begun.operation->legs.size(); ++leg) {
    if (begun.operation->write) {
      start_write(part(flight, leg));
    } else {
      transport_.message(sender(part(flight, leg)), Endpoint::pe_port(pe_),
                         Endpoint::hbm_slice(begun.operation->legs[leg].slice), VirtualNetwork::request,
                         sim::call<&DmaQueue::start_read>(this, part(flight, leg)));
    }
  }
  start_next(name);
}

void DmaQueue::start_read(std::uint64_t part) {
  const DmaLeg& leg = leg_of(part);
  const auto route = transport_.route(transport_.slice(leg.slice), transport_.tcm(pe_), VirtualNetwork::response);
  transport_.transfer(sender(part), route, leg.ranges, sim::call<&DmaQueue::left_memory>(this, part),
                      sim::call<&DmaQueue::leg_done>(this, part), &log_of(part));
}

void DmaQueue::start_write(std::uint64_t part) {
  const DmaLeg& leg = leg_of(part);
  const auto route = transport_.route(transport_.tcm(pe_), transport_.slice(leg.slice), VirtualNetwork::request);
  transport_.transfer(sender(part), route, leg.ranges, {}, sim::call<&DmaQueue::landed>(this, part), &log_of(part));
}

void DmaQueue::left_memory(std::uint64_t part) {
  memory_accessed(part);
}

void DmaQueue::landed(std::uint64_t part) {
  memory_accessed(part);
  const Operation& operation = *flight_of(part).operation;
  if (!operation.atomic) {
    return transport_.message(sender(part), Endpoint::hbm_slice(leg_of(part).slice), Endpoint::pe_port(pe_),
                              VirtualNetwork::response, sim::call<&DmaQueue::leg_done>(this, part));
  }
  if (atomic_ == Time::zero()) return respond(part);
  scheduler().schedule(scheduler().now() + atomic_, sim::Phase::deliver, operation.agent,
                       response_key(operation.number, leg_index(part)), sim::call<&DmaQueue::respond>(this, part));
}

// The old values, packed: one run of bytes.
void DmaQueue::respond(std::uint64_t part) {
  const DmaLeg& leg = leg_of(part);
  const auto route =
      transport_.route(Transport::end(Endpoint::hbm_slice(leg.slice)), transport_.tcm(pe_), VirtualNetwork::response);
  transport_.transfer(sender(part), route, Ranges(StridedRange{0, 1, leg.total(), 0}), {},
                      sim::call<&DmaQueue::leg_done>(this, part));
}

void DmaQueue::memory_accessed(std::uint64_t part) {
  Flight& flight = flight_of(part);
  if (--flight.accesses == 0) effect(*flight.operation);
}

void DmaQueue::leg_done(std::uint64_t part) {
  Flight& flight = flight_of(part);
  if (--flight.open_legs > 0) return;
  flight.operation->starved = most_starved(log_of(part));
  end(flight);
}

// The place must be free before the next descriptor looks for one.
void DmaQueue::end(Flight& flight) {
  Operation& operation = *std::exchange(flight.operation, nullptr);
  finish(operation);
}

}  // namespace kernbench::hardware
