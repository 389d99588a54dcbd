// The sending end of a channel: takes credits, moves segments, announces them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/reference.h"
#include "base/ring.h"
#include "hardware/ipcq/channel.h"
#include "hardware/ipcq/ipcq_environment.h"
#include "hardware/ipcq/sent_payload.h"
#include "hardware/pe/command_queue.h"
#include "hardware/traffic.h"

namespace kernbench::hardware {

/// Sends one message after the other, each in segments of at most a slot. See README.md for the law.
class SendQueue final : public CommandQueue {
 public:
  /// The environment must outlive the queue.
  SendQueue(IpcqEnvironment& environment, PeCoordinate pe, std::int32_t entry);

  /// Takes the channel as soon as all credits of the one before it are home, and calls `installed` then.
  void install(const Channel& channel, sim::Callback installed);
  /// Null before the first installation.
  const Channel* channel() const { return channel_ ? &*channel_ : nullptr; }
  /// A credit has arrived; deliver phase.
  void take_back(std::int32_t slot);
  /// Credits at home.
  std::size_t credits() const { return free_.size(); }
  /// Through this entry, whatever channels it has had.
  const SentPayload& payload() const { return payload_; }

  void needs(const Command& command, std::vector<sim::WaitEdge>& edges) const override;

 private:
  void begin(Command& command) override;
  bool abort(Command& command) override;
  bool takes(const Command& /*next*/) override { return current_ == nullptr && channel_.has_value(); }
  Sender next_sender();
  Time noticed() const;
  void next_segment();
  void fail_without_mate();
  void notice(std::uint64_t);
  void start_segment();
  /// Visits the servers on the way to the slots, in its order, with how long each has been busy.
  template <class Visit>
  void for_each_on_way(Visit visit) const;
  void count_way();
  void note_held_up();
  void departed(std::uint64_t slot);
  void landed(std::uint64_t slot);
  void announced(std::uint64_t slot);
  void replace_if_home();
  Ipcq& receiver();

  IpcqEnvironment& environment_;
  PeCoordinate pe_;
  [[maybe_unused]] std::int32_t entry_;  // in assertions
  sim::AgentId agent_;
  std::uint64_t steps_ = 0;  // of this agent: messages, transfers and steps share the numbers
  std::optional<Channel> channel_, next_channel_;
  sim::Callback installed_;
  Ring<std::int32_t> free_;                   // slots whose credits are at home, the longest first
  std::vector<SegmentMeta> segments_;         // by slot
  std::vector<TransferLog> ways_;             // likewise: of their payloads
  std::vector<Reference<Traffic>> traffics_;  // of the launches of payloads on their way, which may end first
  std::uint64_t sequence_ = 0;
  // The servers on the way to the slots: how long each had been busy, and when that was. Empty: not counted.
  std::vector<Time> busy_;
  Time counted_;
  bool was_held_up_ = false;  // the last message
  Command* current_ = nullptr;
  Bytes sent_;  // of the current message
  SentPayload payload_;
  Ipcq* receiver_ = nullptr;  // at the other end; looked up when first needed
  bool waiting_ = false, noticing_ = false;
  Time waiting_since_;
  sim::EventHandle notice_;
};

}  // namespace kernbench::hardware
