// The receiving end of a channel: puts segments together, hands messages to receives, returns credits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/ipcq/channel.h"
#include "hardware/ipcq/ipcq_environment.h"
#include "hardware/pe/command_queue.h"

namespace kernbench::hardware {

/// A message of which at least one segment is in a slot, and which no receive has taken whole.
struct IncomingMessage {
  CommandRef send;
  // Of segments that have arrived and are not being taken out, in order; -1: none. Each slot names the next one.
  std::int32_t first_slot = -1, last_slot = -1;
};

/// Takes segments out of their slots for one receive after the other. See README.md for the law.
class ReceiveQueue final : public CommandQueue {
 public:
  /// The environment must outlive the queue.
  ReceiveQueue(IpcqEnvironment& environment, PeCoordinate pe, std::int32_t entry);

  /// Takes the channel as soon as all credits of the one before it are home, and calls `installed` then.
  /// Requires that nobody sends or receives on that one any more; messages that nobody has received are dropped.
  void install(const Channel& channel, sim::Callback installed);
  const Channel* channel() const { return channel_ ? &*channel_ : nullptr; }
  /// Nobody will receive what is on its way or in slots: it is dropped, and its credits are returned. Deliver phase.
  void close();
  /// All bytes of the segment in `slot` have landed; its announcement has arrived. Deliver phase.
  void landed(std::int32_t slot);
  void announced(const SegmentMeta& meta);
  /// Messages in slots that no receive has asked for, in order of arrival.
  std::vector<CommandRef> unreceived() const;

  /// "; one with tag 5 lies there", of what nobody has asked for; else empty.
  std::string unreceived_text() const;

  void needs(const Command& command, std::vector<sim::WaitEdge>& edges) const override;

 private:
  /// What is known of the segment in a slot.
  struct Slot {
    SegmentMeta meta;
    bool has_landed = false, is_announced = false;
    Time landed;
    Command* receive = nullptr;  // that takes it out
    bool message_ended = false;  // the last segment of its message has been taken out before it
    std::int32_t next = -1;      // of the message
  };
  void begin(Command& command) override;
  bool abort(Command& command) override;
  bool takes(const Command& /*next*/) override { return current_ == nullptr && channel_.has_value(); }
  Sender next_sender();
  Slot& slot(std::uint64_t index) { return slots_[index]; }
  void complete(std::int32_t index);
  void arrive(std::uint64_t index);
  void go_on();
  bool find_message();
  void start_copy(std::uint64_t index);
  void left(std::uint64_t index);
  void taken_out(std::uint64_t index);
  bool is_taken_out(const Command& receive) const;
  void note_message_ended(const Command& receive);
  ServerId slowest_of(const std::vector<JourneyStep>& way) const;
  Time latency_of(const JourneyStep& step) const;
  /// Of all servers of a way, and the one that has most of it.
  ServerTime latency_of(const std::vector<JourneyStep>& way) const;
  void note_arrival(const SegmentMeta& segment, Time landed);
  void return_credit(std::uint64_t index);
  void credit_home(std::uint64_t index);
  bool credits_home() const;
  Ipcq& sender();
  void replace_if_idle();

  IpcqEnvironment& environment_;
  PeCoordinate pe_;
  [[maybe_unused]] std::int32_t entry_;  // in assertions
  sim::AgentId agent_;
  std::uint64_t steps_ = 0;
  std::optional<Channel> channel_, next_channel_;
  sim::Callback installed_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> complete_;     // by sequence modulo slots: the slot of a segment that is there, or -1
  std::uint64_t next_sequence_ = 0;        // of the next segment to arrive
  std::vector<IncomingMessage> messages_;  // in order of arrival; no more than there are slots, and the current one
  Command* current_ = nullptr;             // the receive whose last segment has not left its slot
  std::size_t message_ = 0;                // that it takes, when it has matched
  bool matched_ = false, copying_ = false, waiting_ = false, closed_ = false;
  Bytes left_;               // of the current message, in segments that are being taken out or have been
  std::int32_t copies_ = 0;  // segments of the current message that are being taken out
  Time waiting_since_;       // or since when no segment has been on its way out, if that is later
  Ipcq* sender_ = nullptr;   // at the other end; looked up when first needed
};

}  // namespace kernbench::hardware
