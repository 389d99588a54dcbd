#include "hardware/ipcq/ipcq.h"

#include <cassert>

#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::hardware {
namespace {

template <class Queue>
Queue* end_at(const std::vector<std::unique_ptr<Queue>>& queues, std::int32_t entry, PhysAddr slots,
              std::uint32_t epoch) {
  Queue* queue = queues[static_cast<std::size_t>(entry)].get();
  const Channel* channel = queue != nullptr ? queue->channel() : nullptr;
  return channel != nullptr && channel->epoch == epoch && channel->slots == slots ? queue : nullptr;
}

template <class Queue>
Queue& entry_of(std::vector<std::unique_ptr<Queue>>& queues, IpcqEnvironment& environment, PeCoordinate pe,
                std::int32_t entry) {
  auto& queue = queues[static_cast<std::size_t>(entry)];
  if (!queue) queue = std::make_unique<Queue>(environment, pe, entry);
  return *queue;
}

[[noreturn]] void reject(const std::string& key, const std::string& value, const std::string& limit) {
  throw ValueError("queues: " + key + " is " + value + ", but " + limit);
}

void check_chunk(BufferKind buffer_kind, Bytes chunk, const topology::Topology& topology) {
  const Bytes granule = topology.cube.hbm.interleave;
  if (buffer_kind != BufferKind::hbm || chunk >= granule || granule.count() % chunk.count() == 0) return;
  reject("vc_chunk_size", to_text(chunk),
         "with buffers in HBM it must divide the granule of the channels, cube.hbm.interleave, " + to_text(granule));
}

}  // namespace

Ipcq::Ipcq(IpcqEnvironment& environment, PeCoordinate pe)
    : environment_(environment),
      pe_(pe),
      sends_(static_cast<std::size_t>(environment.topology.pe.ipcq.queues)),
      receives_(sends_.size()),
      signals_(environment.scheduler, environment.topology.pe) {}

void Ipcq::install(const Window& window) {
  if (windows_ == nullptr) windows_ = std::make_unique<WindowQueue>(environment_, pe_);
  signals_.install(window);
}

void Ipcq::install(const Channel& channel, bool receives, sim::Callback installed) {
  if (receives) {
    entry_of(receives_, environment_, pe_, channel.receive_entry).install(channel, installed);
  } else {
    entry_of(sends_, environment_, pe_, channel.send_entry).install(channel, installed);
  }
}

SendQueue* Ipcq::send_queue(const Channel& channel) const {
  return end_at(sends_, channel.send_entry, channel.far_slots(), channel.epoch);
}

ReceiveQueue* Ipcq::receive_queue(const Channel& channel) const {
  return end_at(receives_, channel.receive_entry, channel.far_slots(), channel.epoch);
}

CommandQueue& Ipcq::queue_for(const Command& command) {
  CommandQueue* queue = nullptr;
  if (command.is_window()) {
    queue = windows_.get();
  } else {
    const MessageWork& work = command.message();
    if (work.sends)
      queue = end_at(sends_, work.entry, work.channel, work.epoch);
    else
      queue = end_at(receives_, work.entry, work.channel, work.epoch);
  }
  assert(queue != nullptr);
  return *queue;
}

const CommandQueue* Ipcq::entry(std::int32_t entry, bool receives) const {
  const auto place = static_cast<std::size_t>(entry);
  if (receives) return receives_[place].get();
  return sends_[place].get();
}

std::size_t Ipcq::cancel(sim::AgentId program, sim::Callback over) {
  std::size_t unfinished = 0;
  for (const auto& queue : sends_) {
    if (queue) unfinished += queue->cancel(program, over);
  }
  for (const auto& queue : receives_) {
    if (queue) unfinished += queue->cancel(program, over);
  }
  if (windows_) unfinished += windows_->cancel(program, over);
  return unfinished;
}

std::vector<const CommandQueue*> Ipcq::queues() const {
  std::vector<const CommandQueue*> queues;
  queues.reserve(sends_.size() + receives_.size() + 1);
  for (const auto& queue : sends_) queues.push_back(queue.get());
  for (const auto& queue : receives_) queues.push_back(queue.get());
  queues.push_back(windows_.get());
  return queues;
}

std::size_t Ipcq::unreceived() const {
  std::size_t messages = 0;
  for (const auto& queue : receives_) {
    if (queue) messages += queue->unreceived().size();
  }
  return messages;
}

SentPayload Ipcq::payload() const {
  SentPayload sent;
  for (const auto& queue : sends_) {
    if (queue) sent += queue->payload();
  }
  return sent;
}

void Ipcq::payload_landed(const Channel& channel, std::int32_t slot) {
  ReceiveQueue* queue = receive_queue(channel);
  assert(queue != nullptr);
  queue->landed(slot);
}

void Ipcq::announced(const Channel& channel, const SegmentMeta& meta) {
  ReceiveQueue* queue = receive_queue(channel);
  assert(queue != nullptr);
  queue->announced(meta);
}

void Ipcq::take_credit(const Channel& channel, std::int32_t slot) {
  SendQueue* queue = send_queue(channel);
  assert(queue != nullptr);
  queue->take_back(slot);
}

void check_parameters(const QueueParameters& parameters, const topology::Topology& topology) {
  const auto at_least_one = [](const char* key, Bytes bytes) {
    if (bytes < Bytes(1)) reject(key, to_text(bytes), "it must be at least 1 B");
  };
  if (parameters.n_slots < 1) reject("n_slots", std::to_string(parameters.n_slots), "a channel has at least 1 slot");
  at_least_one("slot_size", parameters.slot_size);
  at_least_one("vc_chunk_size", parameters.vc_chunk_size);
  at_least_one("ipcq_credit_size_bytes", parameters.ipcq_credit_size_bytes);
  check_chunk(parameters.buffer_kind, parameters.vc_chunk_size, topology);
}

void check_window(const WindowOptions& window, const QueueParameters& parameters, const topology::Topology& topology) {
  if (window.bytes < Bytes(0)) reject("window.bytes", std::to_string(window.bytes.count()), "it must be at least 0 B");
  const std::int32_t most = topology.pe.ipcq.signals;
  if (window.signals < 0 || window.signals > most) {
    reject("window.signals", std::to_string(window.signals),
           "a PE has " + std::to_string(most) + " signal words: use fewer signals or raise pe.ipcq.signals");
  }
  if (window.bytes > Bytes(0)) check_chunk(window.buffer_kind, parameters.vc_chunk_size, topology);
}

void check_entry(PeCoordinate pe, std::int32_t entry, const topology::Topology& topology) {
  if (entry >= 0 && entry < topology.pe.ipcq.queues) return;
  throw ValueError("queues: " + to_text(pe) + " needs entry " + std::to_string(entry) +
                   " of its table of neighbours, but pe.ipcq.queues is " + std::to_string(topology.pe.ipcq.queues) +
                   ": use fewer channels at this PE or raise pe.ipcq.queues");
}

}  // namespace kernbench::hardware
