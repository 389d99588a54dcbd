#include "hardware/ipcq/send_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "hardware/agents.h"
#include "hardware/alike/not_alike.h"
#include "hardware/ipcq/ipcq.h"
#include "kernbench/error.h"

namespace kernbench::hardware {

using topology::Endpoint;

SendQueue::SendQueue(IpcqEnvironment& environment, PeCoordinate pe, std::int32_t entry)
    : CommandQueue(environment.scheduler, {PartKind::send_queue, pe, entry}, environment.topology.pe.ipcq.depth),
      environment_(environment),
      pe_(pe),
      entry_(entry),
      agent_(environment.layout.ipcq_agent(pe, entry, false)) {}

Sender SendQueue::next_sender() {
  return {agent_, message_key(steps_++)};
}

void SendQueue::install(const Channel& channel, sim::Callback installed) {
  assert(channel.sender == pe_ && channel.send_entry == entry_ && !next_channel_);
  next_channel_ = channel;
  installed_ = installed;
  replace_if_home();
}

void SendQueue::replace_if_home() {
  if (!next_channel_) return;
  if (channel_ && (current_ != nullptr || free_.size() < static_cast<std::size_t>(channel_->parameters.n_slots)))
    return;
  channel_ = std::exchange(next_channel_, std::nullopt);
  receiver_ = nullptr;
  free_.clear();
  for (std::int32_t slot = 0; slot < channel_->parameters.n_slots; ++slot) free_.push_back(slot);
  segments_.assign(free_.size(), {});
  ways_.assign(free_.size(), {});
  traffics_.assign(free_.size(), {});
  busy_.clear();
  was_held_up_ = false;
  sequence_ = 0;
  invoke(installed_);
}

template <class Visit>
void SendQueue::for_each_on_way(Visit visit) const {
  const Fabric& fabric = environment_.transport.fabric();
  for (const Stage& stage : environment_.path.way(*channel_)) {
    for (std::uint32_t i = 0; i < stage.group; ++i) {
      const ServerId server{stage.server.value + i};
      visit(server, fabric.counters(server).busy);
    }
  }
}

// To count costs about what a burst costs on its way: not for a short message of a queue that nothing has held up. One
// that follows at once begins where the one before it was held up.
void SendQueue::count_way() {
  constexpr std::int64_t kShort = 4;  // chunks
  if (!busy_.empty() && counted_ == scheduler().now()) return;
  busy_.clear();
  const bool is_short = current_->message().bytes <= channel_->parameters.vc_chunk_size * kShort;
  if ((is_short && !was_held_up_) || channel_->has_no_mate) return;
  for_each_on_way([&](ServerId, Time busy) { busy_.push_back(busy); });
  counted_ = scheduler().now();
}

// Alone, it takes what the port of its TCM takes for it, of which each chunk is rounded up. The first of equals: the
// servers come in the order of the way.
void SendQueue::note_held_up() {
  const Bytes bytes = current_->message().bytes;
  const QueueParameters& sizes = channel_->parameters;
  const std::int64_t chunks = bytes.count() / sizes.vc_chunk_size.count() + bytes.count() / sizes.slot_size.count() + 2;
  const Time alone = transfer_time(bytes, environment_.topology.pe.tcm.bandwidth) + Time::picoseconds(chunks);
  was_held_up_ = scheduler().now() - current_->times.started - current_->times.waited > alone;
  if (!was_held_up_ || busy_.empty()) return;
  std::size_t place = 0;
  for_each_on_way([&](ServerId server, Time busy) {
    const Time more = busy - busy_[place];
    if (more > current_->held_up.time) current_->held_up = {server, more};
    busy_[place++] = busy;
  });
  counted_ = scheduler().now();
}

void SendQueue::begin(Command& command) {
  current_ = &command;
  if (command.watched) count_way();
  sent_ = Bytes(0);
  next_segment();
}

void SendQueue::next_segment() {
  if (channel_->has_no_mate) fail_without_mate();
  if (!free_.empty() && !channel_->has_no_mate) return start_segment();
  waiting_ = true;
  waiting_since_ = scheduler().now();
}

// It then waits for ever, or until it is taken back with its program.
void SendQueue::fail_without_mate() {
  const auto error =
      std::make_exception_ptr(not_alike("no device sends to " + to_text(channel_->sender) + " as this one to " +
                                        to_text(channel_->receiver) + " by a way like its own"));
  if (!environment_.operation_failed(pe_, current_->agent, error)) std::rethrow_exception(error);
}

// When a queue that has waited since then knows of a credit that arrives now.
Time SendQueue::noticed() const {
  const topology::IpcqSpec& spec = environment_.topology.pe.ipcq;
  const Time now = environment_.scheduler.now();
  if (channel_->parameters.backpressure == Backpressure::sleep) return now + spec.wake;
  const std::int64_t interval = spec.poll_interval.count(), waited = (now - waiting_since_).count();
  return waiting_since_ + Time::picoseconds((waited + interval - 1) / interval * interval);
}

void SendQueue::take_back(std::int32_t slot) {
  free_.push_back(slot);
  if (waiting_ && !std::exchange(noticing_, true)) {
    const Time at = noticed();
    if (at == scheduler().now()) return notice(0);
    notice_ =
        scheduler().schedule(at, sim::Phase::deliver, agent_, step_key(steps_++), sim::call<&SendQueue::notice>(this));
    return;
  }
  replace_if_home();
}

void SendQueue::notice(std::uint64_t) {
  waiting_ = noticing_ = false;
  current_->times.waited += scheduler().now() - waiting_since_;
  start_segment();
}

void SendQueue::start_segment() {
  const std::int32_t slot = free_.take_front();
  const Bytes bytes = std::min(channel_->parameters.slot_size, current_->message().bytes - sent_);
  TransferLog* way = current_->watched ? &ways_[static_cast<std::size_t>(slot)] : nullptr;
  segments_[static_cast<std::size_t>(slot)] = {slot, sequence_++, bytes, sent_, CommandRef(current_), scheduler().now(),
                                               way};
  sent_ += bytes;
  payload_ += {1, bytes};
  const auto argument = static_cast<std::uint64_t>(slot);
  traffics_[static_cast<std::size_t>(slot)] = Reference(current_->traffic);
  environment_.path.fill(next_sender(), *channel_, slot, bytes, sim::call<&SendQueue::departed>(this, argument),
                         sim::call<&SendQueue::landed>(this, argument), way);
}

// A segment that is leaving is the last one then.
bool SendQueue::abort(Command& command) {
  if (&command != current_ || !std::exchange(waiting_, false)) return false;
  if (std::exchange(noticing_, false)) scheduler().cancel(notice_);
  current_ = nullptr;
  finish(command);
  return true;
}

// Only the latest segment has not left the sender yet.
void SendQueue::departed(std::uint64_t slot) {
  environment_.transport.message(next_sender(), Endpoint::pe_port(pe_), Endpoint::pe_port(channel_->receiver),
                                 VirtualNetwork::request, sim::call<&SendQueue::announced>(this, slot));
  if (sent_ < current_->message().bytes && !current_->cancelled) return next_segment();
  if (current_->watched) note_held_up();
  Command& command = *std::exchange(current_, nullptr);
  effect(command);
  finish(command);
}

Ipcq& SendQueue::receiver() {
  if (receiver_ == nullptr) receiver_ = &environment_.ipcq_of(channel_->receiver);
  return *receiver_;
}

void SendQueue::landed(std::uint64_t slot) {
  Reference<Traffic>& traffic = traffics_[slot];
  if (traffic) traffic->add(environment_.path.way(*channel_), segments_[slot].bytes);
  traffic.reset();
  receiver().payload_landed(*channel_, static_cast<std::int32_t>(slot));
}

void SendQueue::announced(std::uint64_t slot) {
  receiver().announced(*channel_, segments_[slot]);
  segments_[slot].message.reset();
}

// A credit comes from a receive: of one that is there, or else from a program that could still ask for one.
void SendQueue::needs(const Command& command, std::vector<sim::WaitEdge>& edges) const {
  if (&command != current_ || !waiting_ || noticing_ || channel_->has_no_mate) return;
  const CommandQueue* receives = environment_.ipcq_of(channel_->receiver).receive_queue(*channel_);
  const Name reason = "a credit of " + receives->wait_name();
  const std::size_t before = edges.size();
  if (!receives->empty()) {
    edges.push_back({receives, reason});
  } else {
    environment_.programs_of(channel_->receiver, reason, edges);
  }
  for (std::size_t i = before; i < edges.size(); ++i) {
    edges[i].slot = {receives->id(), channel_->parameters.n_slots};
  }
  if (edges.back().target != nullptr) return;
  edges.back().missing = {to_name(channel_->receiver)};
  edges.back().fault = {sim::kHas,
                        named("no program left that could receive from {} ({})", to_name(channel_->sender), reason)};
}

}  // namespace kernbench::hardware
