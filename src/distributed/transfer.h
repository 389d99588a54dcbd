// send and recv that find each other.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/agreement/fingerprint.h"
#include "distributed/channels/channel_set.h"
#include "distributed/channels/channel_use.h"
#include "distributed/ranks/rank_barrier.h"
#include "kernbench/error.h"
#include "kernbench/units.h"
#include "runtime/context.h"

namespace kernbench::distributed {

struct WorkState;

/// Between which members of a group, and with which tag. What has one key keeps its order.
struct LaneKey {
  int from = 0, to = 0;  // members; -1 as the sender: any
  int tag = 0;
  constexpr auto operator<=>(const LaneKey&) const = default;
};

class Transfer;
using TransferRef = std::shared_ptr<Transfer>;

/// The transfers of one key.
struct Lane {
  std::deque<TransferRef> open = {};  // those of which a side is missing, in their order
  TransferRef last = {};              // the latest of all
  /// By the only PE of the sender that has something to send; nothing: more than one has, and all PEs have a channel.
  /// Each is made with the first transfer that needs it.
  std::map<std::optional<PeCoordinate>, std::shared_ptr<SharedChannels>> channels = {};
};
using Lanes = std::map<LaneKey, Lane>;

/// A send and its recv, or the one of them that has been called.
class Transfer {
 public:
  /// Of a group, by its name; `senders`: the global ranks of which one sends. Transfers of a group are numbered in the
  /// order of their making. `lanes` are those of the group, for reports.
  Transfer(std::shared_ptr<const Roster> roster, std::string group, std::vector<int> senders, int receiver,
           const LaneKey& key, std::uint64_t number, std::weak_ptr<const Lanes> lanes);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// One side is called. Returns the error, if it does not fit the other side.
  std::optional<ProgramError> call(bool sends, const CollectiveFingerprint& tensor);
  /// The line of the side that has been called, of the sender if both have.
  std::source_location called_at() const;
  /// The works of both sides have failed, those that come too.
  void fail(const runtime::FailureRef& failure);
  /// Of the commands of both sides.
  void set_scope(runtime::CommandScopeRef scope) { scope_ = std::move(scope); }
  const runtime::CommandScopeRef& scope() const { return scope_; }
  int receiver() const { return receiver_; }  // global rank
  bool called(bool by_sender) const { return sides_[by_sender ? 0 : 1].called; }
  /// Host objects that come with it, of a sender that has been called.
  void give(std::vector<std::string> objects) { objects_ = std::move(objects); }
  const std::vector<std::string>& objects() const { return objects_; }
  /// The work of a side that has been called.
  void attach(bool sends, const std::shared_ptr<WorkState>& work);
  std::uint64_t number() const { return number_; }
  /// When its first side was called.
  Time begun() const { return begun_; }

  /// Which of the senders it is, as a global rank and as a member.
  void sent_by(int rank, int member);
  bool from_any() const { return senders_.size() > 1; }
  /// "transfer from rank 0 to rank 1 (tag 5)"
  Name text() const;
  /// A side as a call: "rank 0's send to rank 1 (tag 5) of the default group, called at ring.cpp:8".
  Name call_text(bool sends) const;
  /// Appends what the wait of one side for the other one's call waits for; nothing if both have been called.
  void append_missing_call(bool sends, std::vector<sim::WaitEdge>& edges) const;
  /// Appends the other side of one whose kernel is under way, if that has been called and not begun.
  void append_not_begun(bool sends, std::vector<sim::WaitEdge>& edges) const;
  /// Global rank; -1 while it is not known.
  int sender() const { return from_any() ? -1 : senders_.front(); }

  /// Both sides have been called: between what, and over which channels.
  void go_on(const tensor::DevicePart& from, const tensor::DevicePart& to, const std::shared_ptr<ChannelUse>& use);
  /// Global ranks of its sides, sender and receiver.
  std::vector<int> ranks() const { return {sender(), receiver_}; }
  const runtime::CompletionRef& ready() const { return ready_; }
  // Known when it is ready.
  const tensor::DevicePart& from() const { return from_; }
  const tensor::DevicePart& to() const { return to_; }
  /// Whether a turn would not be waited for.
  bool turn_is_free() const {
    const auto use = use_.lock();
    return use && use->is_free();
  }
  /// For one side's launch, which keeps it: whoever holds the transfer longer does not.
  std::shared_ptr<ChannelTurn> take_turn(bool sends) { return std::move(sides_[sends ? 0 : 1].turn); }

  /// It comes behind `previous` in its lane.
  void follow(const std::shared_ptr<Transfer>& previous) { previous_ = previous; }
  /// The end of what is received before it in its lane; null when that is over.
  runtime::CompletionRef previous_end() const;

 private:
  struct Side {
    bool called = false;
    CollectiveFingerprint tensor = {};
    std::weak_ptr<WorkState> work = {};
    std::shared_ptr<ChannelTurn> turn = nullptr;  // from go_on to take_turn
  };
  ProgramError mismatch(const CollectiveFingerprint& sent, const CollectiveFingerprint& received) const;
  Name what(bool sends) const;
  /// Sends by this rank, or receives from it, that the other side has not called.
  std::string other_calls(bool sends, int sender) const;

  std::shared_ptr<const Roster> roster_;
  std::string group_;
  std::vector<std::string> objects_;
  std::vector<int> senders_;
  int receiver_;
  LaneKey key_;
  std::weak_ptr<const Lanes> lanes_;
  std::uint64_t number_;
  Time begun_;
  Side sides_[2];  // sender, receiver
  runtime::CompletionRef ready_;
  tensor::DevicePart from_ = SipId{0}, to_ = SipId{0};
  std::weak_ptr<Transfer> previous_;
  std::weak_ptr<ChannelUse> use_;
  runtime::FailureRef failure_;
  runtime::CommandScopeRef scope_;
};

/// The transfers of one group.
class Transfers {
 public:
  Lane& lane(const LaneKey& key) { return (*lanes_)[key]; }
  /// No more are called in the group: gives the channels back, as far as nothing under way uses them.
  void give_back_channels();
  /// Those of which a side is missing, which are given up.
  std::vector<TransferRef> abandon();
  /// "transfer from rank 0 to rank 1 (tag 5) in group 1: sent, never received" for each of which a side is missing.
  void append_unmatched(const std::string& group, std::vector<std::string>& texts) const;

  /// The group as these see it: global ranks by member.
  struct Members {
    const std::string& name;
    const std::shared_ptr<Roster>& roster;
    const std::vector<int>& ranks;
  };
  /// The transfer that a send is a side of: the first that waits for it, or a new one.
  TransferRef send(const Members& group, const LaneKey& key);
  /// Likewise for a receive; with any sender (LaneKey::from) the send that was called first, of those of one instant
  /// that of the lowest rank.
  TransferRef receive(const Members& group, const LaneKey& key);
  /// Whether the receives of this key's receiver and tag have to look who is before them in their lane.
  bool mixes_senders(const LaneKey& key) const { return mixed_.contains({key.to, key.tag}); }

 private:
  using Inbox = std::pair<int, int>;  // receiver, tag
  TransferRef add(const Members& group, const LaneKey& key);
  TransferRef receive_from_any(const Members& group, const LaneKey& key);

  std::shared_ptr<Lanes> lanes_ = std::make_shared<Lanes>();
  std::map<Inbox, std::deque<TransferRef>> mixed_;  // receives from any sender that have none yet
  std::uint64_t count_ = 0;
};

}  // namespace kernbench::distributed
