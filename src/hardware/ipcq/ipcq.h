// The inter-PE communication queues of a PE: its neighbour tables, and the ends of its channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hardware/ipcq/channel.h"
#include "hardware/ipcq/ipcq_environment.h"
#include "hardware/ipcq/receive_queue.h"
#include "hardware/ipcq/send_queue.h"
#include "hardware/window/signal_unit.h"
#include "hardware/window/window_queue.h"

namespace kernbench::hardware {

/// `pe.ipcq.queues` entries to send and as many to receive. What arrives is matched by the address of its slot.
class Ipcq {
 public:
  /// The references must outlive it.
  Ipcq(IpcqEnvironment& environment, PeCoordinate pe);

  /// The register writes of one end of a channel have arrived; deliver phase. `installed` is called when the end can
  /// be used: at once, or when the credits of the channel before it are home.
  void install(const Channel& channel, bool receives, sim::Callback installed);

  /// Likewise of a window of this PE, and of those that it writes and reads.
  void install(const Window& window);
  /// The signal words of its windows.
  SignalUnit& signals() { return signals_; }
  /// The programs that run on `pe` now, each as what must act for `reason`; nobody where there is none.
  void programs_of(PeCoordinate pe, const Name& reason, std::vector<sim::WaitEdge>& edges) const {
    environment_.programs_of(pe, reason, edges);
  }

  /// The end of a command's channel, or the queue of one-sided commands; requires that it is installed.
  CommandQueue& queue_for(const Command& command);
  /// The end of a channel of which this is the other end; null when this PE has none. An entry may still hold a channel
  /// of an older epoch whose memory belongs to another one now.
  SendQueue* send_queue(const Channel& channel) const;
  ReceiveQueue* receive_queue(const Channel& channel) const;
  /// The queue of an entry; null when it has never had a channel.
  const CommandQueue* entry(std::int32_t entry, bool receives) const;
  /// Takes back the commands of a program at all ends; see CommandQueue.
  std::size_t cancel(sim::AgentId program, sim::Callback over);
  /// By place: the ends to send by entry, then those to receive, then the queue of one-sided commands; null where none
  /// has been made.
  std::vector<const CommandQueue*> queues() const;
  /// Messages that have arrived and that no receive has asked for.
  std::size_t unreceived() const;
  /// What this PE has sent through its queues.
  SentPayload payload() const;
  /// How many places each PE of a machine has.
  static std::size_t places(const topology::Topology& topology) {
    return 2 * static_cast<std::size_t>(topology.pe.ipcq.queues) + 1;
  }

  // Arrivals; deliver phase. An unknown channel is a defect of this simulator.
  void payload_landed(const Channel& channel, std::int32_t slot);
  void announced(const Channel& channel, const SegmentMeta& meta);
  void take_credit(const Channel& channel, std::int32_t slot);

 private:
  IpcqEnvironment& environment_;
  PeCoordinate pe_;
  std::vector<std::unique_ptr<SendQueue>> sends_;        // by entry, made when first used
  std::vector<std::unique_ptr<ReceiveQueue>> receives_;  // likewise
  SignalUnit signals_;
  std::unique_ptr<WindowQueue> windows_;  // made with the first window
};

/// What is wrong with the options of a window on a machine: ValueError with the key, its value and its limit.
void check_window(const WindowOptions& window, const QueueParameters& parameters, const topology::Topology& topology);
/// What is wrong with parameters, or with an entry, on a machine: ValueError with the key, its value and its limit.
void check_parameters(const QueueParameters& parameters, const topology::Topology& topology);
/// ValueError that names the PE when its table has no such entry.
void check_entry(PeCoordinate pe, std::int32_t entry, const topology::Topology& topology);

}  // namespace kernbench::hardware
