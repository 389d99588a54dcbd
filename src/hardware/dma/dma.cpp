#include "hardware/dma/dma.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hardware/agents.h"
#include "hardware/dma/multicast.h"
#include "kernbench/error.h"
#include "sim/errors.h"

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
  const Command& command = *flight_of(part).command;
  return {command.agent, leg_key(command.number, leg_index(part))};
}

Time DmaQueue::setup_of(const Command& command) {
  if (model_ == nullptr) return spec_.setup;
  const Time now = scheduler().now();
  const Time setup =
      answer_of(spec_.model, id(), now, [&] { return model_->setup(dma_descriptor(command.dma(), now)); });
  if (setup > Time::limit()) {
    sim::raise_too_long(own_model_text(spec_.model, id()) + " gave a set-up of " + to_text(setup) + " for " +
                        command.wait_name() + " at " + to_text(now));
  }
  if (setup >= Time::zero()) return setup;
  throw ProgramError("ModelError", own_model_text(spec_.model, id()) + " gave a set-up of " + to_text(setup) + " for " +
                                       command.wait_name() + " at " + to_text(now) + "; it must not be negative");
}

void DmaQueue::begin(Command& command) {
  const auto place = std::ranges::find(flights_, nullptr, &Flight::command);
  place->command = &command;
  const std::size_t legs = command.dma().legs.size();
  place->accesses = place->open_legs = legs;
  place->reports = false;
  place->set_up = false;
  if (command.watched && place->logs.size() < legs) place->logs.resize(legs);
  const auto flight = static_cast<std::uint64_t>(place - flights_.begin());
  setting_up_ = true;
  command.times.translation = tlb_.translate(command.dma().pages);
  const Time setup = setup_of(command) + command.times.translation;
  if (setup == Time::zero()) return start_legs(flight);
  if (setup > Time::limit() - scheduler().now()) {
    sim::raise_too_long("the set-up of " + command.wait_name() + " takes " + to_text(setup) +
                        ", of which translation " + to_text(command.times.translation));
  }
  scheduler().schedule(scheduler().now() + setup, sim::Phase::deliver, command.agent, engine_key(command.number),
                       sim::call<&DmaQueue::start_legs>(this, flight));
}

void DmaQueue::start_legs(std::uint64_t flight) {
  setting_up_ = false;
  Flight& begun = flights_[flight];
  begun.set_up = true;
  const CommandRef command(begun.command);
  const DmaWork& work = command->dma();
  if (work.legs.empty()) {
    effect(*command);
    return end(begun);
  }
  if (work.kind == DmaKind::multicast) {
    if (command->cancelled) return end(begun);
    report(flight);
    return start_next(*command);
  }
  for (std::uint64_t leg = 0; leg < work.legs.size(); ++leg) {
    if (work.writes()) {
      start_write(part(flight, leg));
    } else {
      transport_.message(sender(part(flight, leg)), Endpoint::pe_port(pe_), memory_of(work.legs[leg]).at,
                         VirtualNetwork::request, sim::call<&DmaQueue::start_read>(this, part(flight, leg)));
    }
  }
  start_next(*command);
}

void DmaQueue::count(std::uint64_t part, std::span<const Stage> route) {
  flight_of(part).command->count_moved(route, leg_of(part).total());
}

void DmaQueue::start_read(std::uint64_t part) {
  const DmaLeg& leg = leg_of(part);
  const auto route = transport_.route(memory_of(leg), transport_.tcm(pe_), VirtualNetwork::response);
  count(part, route);
  transport_.transfer(sender(part), route, leg.ranges, sim::call<&DmaQueue::left_memory>(this, part),
                      sim::call<&DmaQueue::leg_done>(this, part), log_of(part));
}

// One of the slices asks the others for all members of a multicast, when they have told it that they are ready.
void DmaQueue::report(std::uint64_t flight) {
  Flight& of = flights_[flight];
  const DmaLeg* const home = of.command->dma().multicast->home();
  if (home == nullptr) return reported(flight);
  of.reports = true;
  transport_.message(sender(part(flight, 0)), Endpoint::pe_port(pe_), memory_of(*home).at, VirtualNetwork::request,
                     sim::call<&DmaQueue::reported>(this, flight));
}

void DmaQueue::reported(std::uint64_t flight) {
  Flight& of = flights_[flight];
  of.reports = false;
  const CommandRef command(of.command);
  if (command->cancelled) return end(of);
  const DmaWork& work = command->dma();
  work.multicast->reported(work.member, *this, flight);
}

// In the name of the first member.
void DmaQueue::ask_slices(std::uint64_t flight) {
  const DmaWork& work = flights_[flight].command->dma();
  const DmaLeg* const home = work.multicast->home();
  const Endpoint from = home != nullptr ? memory_of(*home).at : Endpoint::pe_port(pe_);
  for (std::uint64_t leg = 0; leg < work.legs.size(); ++leg) {
    transport_.message(sender(part(flight, leg)), from, memory_of(work.legs[leg]).at, VirtualNetwork::request,
                       sim::call<&DmaQueue::slice_asked>(this, part(flight, leg)));
  }
}

void DmaQueue::slice_asked(std::uint64_t part) {
  flight_of(part).command->dma().multicast->begin(transport_, leg_index(part));
}

// Who waits for the others' reports may wait for ever. A report and bytes on their way come first.
bool DmaQueue::abort(Command& command) {
  const DmaWork& work = command.dma();
  if (work.kind != DmaKind::multicast || work.legs.empty() || work.multicast->met()) return false;
  work.multicast->abandon();
  Flight& flight = *std::ranges::find(flights_, &command, &Flight::command);
  if (!flight.set_up || flight.reports) return false;
  end(flight);
  return true;
}

void DmaQueue::needs(const Command& command, std::vector<sim::WaitEdge>& edges) const {
  const DmaWork& work = command.dma();
  if (work.kind == DmaKind::multicast && !work.multicast->met()) work.multicast->needs(edges);
}

void DmaQueue::start_write(std::uint64_t part) {
  const DmaLeg& leg = leg_of(part);
  const auto route = transport_.route(transport_.tcm(pe_), memory_of(leg), VirtualNetwork::request);
  count(part, route);
  transport_.transfer(sender(part), route, leg.ranges, {}, sim::call<&DmaQueue::landed>(this, part), log_of(part));
}

void DmaQueue::left_memory(std::uint64_t part) {
  memory_accessed(part);
}

void DmaQueue::landed(std::uint64_t part) {
  memory_accessed(part);
  const Command& command = *flight_of(part).command;
  if (command.dma().kind != DmaKind::atomic) {
    return transport_.message(sender(part), memory_of(leg_of(part)).at, Endpoint::pe_port(pe_),
                              VirtualNetwork::response, sim::call<&DmaQueue::leg_done>(this, part));
  }
  if (atomic_ == Time::zero()) return respond(part);
  scheduler().schedule(scheduler().now() + atomic_, sim::Phase::deliver, command.agent,
                       response_key(command.number, leg_index(part)), sim::call<&DmaQueue::respond>(this, part));
}

// The old values, packed: one run of bytes.
void DmaQueue::respond(std::uint64_t part) {
  const DmaLeg& leg = leg_of(part);
  const auto route = transport_.route(Transport::end(memory_of(leg).at), transport_.tcm(pe_), VirtualNetwork::response);
  count(part, route);
  transport_.transfer(sender(part), route, Ranges(StridedRange{0, 1, leg.total(), 0}), {},
                      sim::call<&DmaQueue::leg_done>(this, part));
}

void DmaQueue::memory_accessed(std::uint64_t part) {
  Flight& flight = flight_of(part);
  if (--flight.accesses == 0) effect(*flight.command);
}

void DmaQueue::leg_done(std::uint64_t part) {
  Flight& flight = flight_of(part);
  if (--flight.open_legs > 0) return;
  Command& command = *flight.command;
  if (const TransferLog* log = log_of(part)) {
    const DmaWork& work = command.dma();
    command.starved = work.kind == DmaKind::multicast ? work.multicast->most_starved_to(work.member, leg_index(part))
                                                      : most_starved(*log);
  }
  end(flight);
}

// The place must be free before the next descriptor looks for one.
void DmaQueue::end(Flight& flight) {
  Command& command = *std::exchange(flight.command, nullptr);
  finish(command);
}

}  // namespace kernbench::hardware
