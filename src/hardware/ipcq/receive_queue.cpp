#include "hardware/ipcq/receive_queue.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "base/text.h"
#include "hardware/agents.h"
#include "hardware/ipcq/ipcq.h"

namespace kernbench::hardware {

using topology::Endpoint;

ReceiveQueue::ReceiveQueue(IpcqEnvironment& environment, PeCoordinate pe, std::int32_t entry)
    : CommandQueue(environment.scheduler, {PartKind::receive_queue, pe, entry}, environment.topology.pe.ipcq.depth),
      environment_(environment),
      pe_(pe),
      entry_(entry),
      agent_(environment.layout.ipcq_agent(pe, entry, true)) {}

Sender ReceiveQueue::next_sender() {
  return {agent_, message_key(steps_++)};
}

void ReceiveQueue::install(const Channel& channel, sim::Callback installed) {
  assert(channel.receiver == pe_ && channel.receive_entry == entry_ && !next_channel_ && empty());
  next_channel_ = channel;
  installed_ = installed;
  close();
  replace_if_idle();
}

void ReceiveQueue::close() {
  assert(empty());
  closed_ = true;
  for (const IncomingMessage& message : std::exchange(messages_, {})) {
    std::int32_t next = message.first_slot;
    while (next >= 0) {
      const auto index = static_cast<std::uint64_t>(next);
      next = slot(index).next;
      return_credit(index);
    }
  }
}

// Whatever is on its way to a slot, or in one, has the credit of that slot.
bool ReceiveQueue::credits_home() const {
  if (!channel_) return true;
  const SendQueue* sends = environment_.ipcq_of(channel_->sender).send_queue(*channel_);
  return sends == nullptr || sends->credits() == static_cast<std::size_t>(channel_->parameters.n_slots);
}

void ReceiveQueue::replace_if_idle() {
  if (!next_channel_ || !credits_home()) return;
  channel_ = std::exchange(next_channel_, std::nullopt);
  sender_ = nullptr;
  const auto slots = static_cast<std::size_t>(channel_->parameters.n_slots);
  slots_.assign(slots, {});
  complete_.assign(slots, -1);
  next_sequence_ = 0;
  closed_ = false;
  invoke(installed_);
}

void ReceiveQueue::landed(std::int32_t index) {
  Slot& at = slot(static_cast<std::uint64_t>(index));
  at.has_landed = true;
  at.landed = scheduler().now();
  if (at.is_announced) complete(index);
}

void ReceiveQueue::announced(const SegmentMeta& meta) {
  const std::int32_t index = meta.slot;
  Slot& at = slot(static_cast<std::uint64_t>(index));
  at.meta = meta;
  at.is_announced = true;
  if (at.has_landed) complete(index);
}

// Segments arrive in the order in which they were sent, though a short one may overtake the end of the one before it.
void ReceiveQueue::complete(std::int32_t index) {
  const std::uint64_t slots = slots_.size();
  complete_[slot(static_cast<std::uint64_t>(index)).meta.sequence % slots] = index;
  const Time latency = environment_.topology.pe.ipcq.meta_latency;
  while (complete_[next_sequence_ % slots] >= 0) {
    const auto next = static_cast<std::uint64_t>(std::exchange(complete_[next_sequence_++ % slots], -1));
    if (latency == Time::zero()) {
      arrive(next);
    } else {
      scheduler().schedule(scheduler().now() + latency, sim::Phase::deliver, agent_, step_key(steps_++),
                           sim::call<&ReceiveQueue::arrive>(this, next));
    }
  }
}

void ReceiveQueue::arrive(std::uint64_t index) {
  if (closed_) return return_credit(index);  // of a message that was dropped
  const SegmentMeta& meta = slot(index).meta;
  if (meta.before == Bytes(0)) messages_.push_back({meta.message});
  // The segments of one message come after each other.
  IncomingMessage& message = messages_.back();
  assert(message.send == meta.message);
  const auto arrived = static_cast<std::int32_t>(index);
  (message.last_slot >= 0 ? slot(static_cast<std::uint64_t>(message.last_slot)).next : message.first_slot) = arrived;
  message.last_slot = arrived;
  go_on();
}

void ReceiveQueue::begin(Command& command) {
  current_ = &command;
  matched_ = false;
  left_ = Bytes(0);
  copies_ = 0;
  go_on();
}

// The first message with the receive's tag.
bool ReceiveQueue::find_message() {
  if (matched_) return true;
  const auto found = std::ranges::find_if(messages_, [tag = current_->message().tag](const IncomingMessage& each) {
    return each.send->message().tag == tag;
  });
  if (found == messages_.end()) return false;
  message_ = static_cast<std::size_t>(found - messages_.begin());
  matched_ = true;
  if (current_->observer == nullptr) return true;
  try {
    current_->observer->on_match(*current_, *messages_[message_].send);
  } catch (...) {
    // No fiber is here that could throw it.
    if (!environment_.operation_failed(pe_, current_->agent, std::current_exception())) throw;
  }
  return true;
}

void ReceiveQueue::go_on() {
  if (current_ == nullptr || copying_) return;
  if (!find_message() || messages_[message_].first_slot < 0) {
    if (!std::exchange(waiting_, true)) waiting_since_ = scheduler().now();
    return;
  }
  IncomingMessage& message = messages_[message_];
  const auto index = static_cast<std::uint64_t>(message.first_slot);
  if (std::exchange(waiting_, false)) {
    if (copies_ == 0) current_->times.waited += scheduler().now() - waiting_since_;
    if (current_->watched) note_arrival(slot(index).meta, slot(index).landed);
  }
  message.first_slot = slot(index).next;
  if (message.first_slot < 0) message.last_slot = -1;
  copying_ = true;
  ++copies_;
  slot(index).receive = current_;
  left_ += slot(index).meta.bytes;
  environment_.path.request(next_sender(), *channel_, sim::call<&ReceiveQueue::start_copy>(this, index));
}

// What holds a message up fills the buffers before it. So the way goes on from the server at which its last chunk
// waited longest, past those that had to wait for room themselves for at least half of that time.
ServerId ReceiveQueue::slowest_of(const std::vector<JourneyStep>& way) const {
  const auto waited = [&](const JourneyStep& step) { return step.end - step.start - latency_of(step); };
  std::size_t place = 0;
  for (std::size_t i = 1; i < way.size(); ++i) {
    if (waited(way[i]) > waited(way[place])) place = i;
  }
  const auto held = [&](const JourneyStep& step) { return step.held > Time() && 2 * step.held >= waited(step); };
  while (place + 1 < way.size() && held(way[place])) ++place;
  return way[place].server;
}

Time ReceiveQueue::latency_of(const JourneyStep& step) const {
  return std::min(step.end - step.start, environment_.transport.fabric().spec(step.server).latency);
}

ServerTime ReceiveQueue::latency_of(const std::vector<JourneyStep>& way) const {
  ServerTime all{way.front().server, Time()};
  Time most;
  for (const JourneyStep& step : way) {
    const Time latency = latency_of(step);
    if (latency > most) most = latency, all.server = step.server;
    all.time += latency;
  }
  return all;
}

void ReceiveQueue::note_arrival(const SegmentMeta& segment, Time landed) {
  if (segment.way == nullptr) return;
  const auto way = journey_of(*segment.way, environment_.transport.fabric(), segment.sent, landed);
  MessageArrival arrival{segment.sent, scheduler().now(), latency_of(way), {}, most_starved(*segment.way)};
  Time rest = landed - segment.sent;
  for (ServerTime* const part : {&arrival.starved, &arrival.latency}) {
    part->time = std::min(part->time, rest);
    rest -= part->time;
  }
  arrival.slowest = {slowest_of(way), rest};
  current_->observer->on_arrival(*current_, *segment.message, arrival);
}

void ReceiveQueue::start_copy(std::uint64_t index) {
  environment_.path.drain(next_sender(), *channel_, static_cast<std::int32_t>(index), slot(index).meta.bytes,
                          sim::call<&ReceiveQueue::left>(this), sim::call<&ReceiveQueue::taken_out>(this, index));
}

void ReceiveQueue::left(std::uint64_t) {
  copying_ = false;
  const bool whole = left_ == messages_[message_].send->message().bytes;
  if (!whole && !current_->cancelled) return go_on();
  if (whole) messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(message_));
  matched_ = false;
  start_next(*std::exchange(current_, nullptr));
}

// A short segment may overtake the end of the one before it here, too: each has a response buffer of its own.
void ReceiveQueue::taken_out(std::uint64_t index) {
  const SegmentMeta meta = slot(index).meta;
  Command& receive = *slot(index).receive;
  const bool last = meta.before + meta.bytes == meta.message->message().bytes;
  const bool whole = last || slot(index).message_ended;
  return_credit(index);
  if (&receive == current_) {
    if (--copies_ == 0) waiting_since_ = scheduler().now();
    return;
  }
  if (!(last && meta.before == Bytes(0)) && is_taken_out(receive)) {
    if (whole) note_message_ended(receive);
    return;
  }
  if (whole) effect(receive);
  finish(receive);
}

void ReceiveQueue::note_message_ended(const Command& receive) {
  for (Slot& each : slots_)
    if (each.receive == &receive) each.message_ended = true;
}

bool ReceiveQueue::is_taken_out(const Command& receive) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.receive == &receive; });
}

// Segments that are being taken out are taken out; no further one is.
bool ReceiveQueue::abort(Command& command) {
  if (&command != current_ || copying_) return false;
  current_ = nullptr;
  matched_ = waiting_ = false;
  if (is_taken_out(command)) return false;
  finish(command);
  return true;
}

void ReceiveQueue::return_credit(std::uint64_t index) {
  slot(index) = {};
  environment_.transport.message(next_sender(), Endpoint::pe_port(pe_), Endpoint::pe_port(channel_->sender),
                                 VirtualNetwork::response, channel_->parameters.ipcq_credit_size_bytes,
                                 sim::call<&ReceiveQueue::credit_home>(this, index));
}

Ipcq& ReceiveQueue::sender() {
  if (sender_ == nullptr) sender_ = &environment_.ipcq_of(channel_->sender);
  return *sender_;
}

void ReceiveQueue::credit_home(std::uint64_t index) {
  sender().take_credit(*channel_, static_cast<std::int32_t>(index));
  replace_if_idle();
}

// A message comes from a send: of the one it belongs to, or the one that is next, or else from a program.
void ReceiveQueue::needs(const Command& command, std::vector<sim::WaitEdge>& edges) const {
  if (&command != current_ || !waiting_) return;
  const Name reason = named("a message with tag {} of {}", current_->message().tag, to_name(channel_->sender));
  if (matched_) return edges.push_back({messages_[message_].send.get(), "the rest of the message"});
  const CommandQueue* sends = environment_.ipcq_of(channel_->sender).send_queue(*channel_);
  if (sends != nullptr && !sends->empty()) return edges.push_back({sends, reason});
  const std::string lying = unreceived_text();
  environment_.programs_of(channel_->sender, reason + lying, edges);
  if (edges.back().target != nullptr) return;
  edges.back().missing = {to_name(channel_->sender)};
  edges.back().fault = {sim::kHas, named("no program left that could send a message with tag {} to {}{}",
                                         current_->message().tag, to_name(channel_->receiver), lying)};
}

std::string ReceiveQueue::unreceived_text() const {
  std::set<std::uint64_t> tags;
  for (const CommandRef& send : unreceived()) tags.insert(send->message().tag);
  if (tags.empty()) return "";
  std::string text;
  for (const std::uint64_t tag : tags) text += (text.empty() ? "" : ", ") + std::to_string(tag);
  return (tags.size() == 1 ? "; one with tag " : "; some with tags ") + text +
         (tags.size() == 1 ? " lies there" : " lie there");
}

std::vector<CommandRef> ReceiveQueue::unreceived() const {
  std::vector<CommandRef> sends;
  for (const IncomingMessage& message : messages_) {
    const bool taken = matched_ && &message == &messages_[message_];
    if (!taken) sends.push_back(message.send);
  }
  return sends;
}

}  // namespace kernbench::hardware
