#include "distributed/transfer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "distributed/work_state.h"

namespace kernbench::distributed {
namespace {

std::string tensor_text(const CollectiveFingerprint& tensor) {
  return fmt::format("TensorShape=[{}], TensorDtypes={}", fmt::join(tensor.shape, ", "), torch_name(tensor.dtype));
}

}  // namespace

Transfer::Transfer(std::shared_ptr<const Roster> roster, std::vector<int> senders, int receiver, int tag,
                   std::uint64_t number)
    : roster_(std::move(roster)),
      senders_(std::move(senders)),
      receiver_(receiver),
      tag_(tag),
      number_(number),
      ready_(std::make_shared<event::Completion>()) {
  ready_->describe_as([this] { return text(); });
  ready_->provided_by([this](std::vector<event::WaitEdge>& edges) {
    if (!called(true)) {
      for (const int rank : senders_) roster_->append_edge(rank, "send in " + text(), edges);
    }
    if (!called(false)) roster_->append_edge(receiver_, "recv in " + text(), edges);
  });
}

std::string Transfer::text() const {
  const std::string from = from_any() ? "any rank of " + set_text(senders_) : fmt::format("rank {}", sender());
  return fmt::format("transfer from {} to rank {} (tag {})", from, receiver_, tag_);
}

std::source_location Transfer::called_at() const {
  return sides_[called(true) ? 0 : 1].tensor.where;
}

void Transfer::sent_by(int rank) {
  senders_ = {rank};
}

std::optional<ProgramError> Transfer::call(bool sends, const CollectiveFingerprint& tensor) {
  Side& mine = sides_[sends ? 0 : 1];
  if (!called(true) && !called(false)) begun_ = event::this_fiber::scheduler().now();
  mine.called = true;
  mine.tensor = tensor;
  if (!called(true) || !called(false)) return std::nullopt;
  CollectiveFingerprint sent = sides_[0].tensor, received = sides_[1].tensor;
  sent.type = received.type = OpType::SEND;
  if (compare(sent, received) == MatchState::FULLY_MATCHED) return std::nullopt;
  return mismatch(sent, received);
}

ProgramError Transfer::mismatch(const CollectiveFingerprint& sent, const CollectiveFingerprint& received) const {
  return {"DistributedError",
          fmt::format("Detected mismatch in the {}: rank {} sends {}{}, but rank {} receives {}{}. They differ in "
                      "the following aspects: {}; Error type: {}",
                      text(), sender(), tensor_text(sent), at_text(sent.where), receiver_, tensor_text(received),
                      at_text(received.where), differences(sent, received), name(compare(sent, received)))};
}

void Transfer::fail(const runtime::FailureRef& failure) {
  failure_ = failure;
  for (const Side& side : sides_) {
    if (const auto work = side.work.lock()) work->fail(failure);
  }
}

void Transfer::attach(bool sends, const std::shared_ptr<WorkState>& work) {
  sides_[sends ? 0 : 1].work = work;
  if (failure_) work->fail(failure_);
  if (const auto use = use_.lock()) use->set_end(sends ? 0 : 1, work->finished);
}

void Transfer::go_on(const runtime::DevicePart& from, const runtime::DevicePart& to,
                     const std::shared_ptr<ChannelUse>& use) {
  from_ = from;
  to_ = to;
  use_ = use;
  for (std::size_t side = 0; side < 2; ++side) {
    sides_[side].turn = std::make_shared<ChannelTurn>(use, side);
    if (const auto work = sides_[side].work.lock()) use->set_end(side, work->finished);
  }
  ready_->set();
}

runtime::CompletionRef Transfer::previous_end() const {
  const auto previous = previous_.lock();
  const auto work = previous ? previous->sides_[1].work.lock() : nullptr;
  return work ? work->finished : nullptr;
}

void Transfers::give_back_channels() {
  for (auto& [key, lane] : lanes_) {
    lane.last.reset();
    lane.channels.reset();
  }
}

std::vector<TransferRef> Transfers::abandon() {
  std::vector<TransferRef> abandoned;
  const auto take = [&](std::deque<TransferRef>& open) {
    for (auto& transfer : std::exchange(open, {})) abandoned.push_back(std::move(transfer));
  };
  for (auto& [key, lane] : lanes_) take(lane.open);
  for (auto& [inbox, open] : mixed_) take(open);
  return abandoned;
}

void Transfers::append_unmatched(const std::string& group, std::vector<std::string>& texts) const {
  const auto append = [&](const std::deque<TransferRef>& open) {
    for (const auto& transfer : open) {
      const char* missing = transfer->called(true) ? "sent, never received" : "never sent";
      texts.push_back(
          fmt::format("{} in {}: {}{}", transfer->text(), group, missing, called_text(transfer->called_at())));
    }
  };
  for (const auto& [key, lane] : lanes_) append(lane.open);
  for (const auto& [inbox, open] : mixed_) append(open);
}

TransferRef Transfers::add(const Members& group, const LaneKey& key) {
  std::vector<int> senders;
  for (int member = 0; member < static_cast<int>(group.ranks.size()); ++member) {
    if (member != key.to && (key.from < 0 || member == key.from)) {
      senders.push_back(group.ranks[static_cast<std::size_t>(member)]);
    }
  }
  const int receiver = group.ranks[static_cast<std::size_t>(key.to)];
  return std::make_shared<Transfer>(group.roster, std::move(senders), receiver, key.tag, ++count_);
}

TransferRef Transfers::send(const Members& group, const LaneKey& key) {
  Lane& mine = lane(key);
  const bool awaited = !mine.open.empty() && !mine.open.front()->called(true);
  const auto inbox = mixed_.find({key.to, key.tag});
  TransferRef transfer;
  if (inbox != mixed_.end() && !inbox->second.empty() &&
      (!awaited || inbox->second.front()->number() < mine.open.front()->number())) {
    transfer = inbox->second.front();
    inbox->second.pop_front();
    transfer->sent_by(group.ranks[static_cast<std::size_t>(key.from)]);
  } else if (awaited) {
    transfer = mine.open.front();
    mine.open.pop_front();
  } else {
    transfer = add(group, key);
    mine.open.push_back(transfer);
  }
  transfer->follow(std::exchange(mine.last, transfer));
  return transfer;
}

TransferRef Transfers::receive(const Members& group, const LaneKey& key) {
  if (key.from < 0) return receive_from_any(group, key);
  Lane& mine = lane(key);
  if (mine.open.empty() || !mine.open.front()->called(true)) return mine.open.emplace_back(add(group, key));
  auto transfer = mine.open.front();
  mine.open.pop_front();
  return transfer;
}

TransferRef Transfers::receive_from_any(const Members& group, const LaneKey& key) {
  auto& inbox = mixed_[{key.to, key.tag}];
  Lane* first = nullptr;
  for (auto& [each, lane] : lanes_) {
    if (each.to != key.to || each.tag != key.tag || lane.open.empty() || !lane.open.front()->called(true)) continue;
    // Lanes come by rank of the sender.
    if (first == nullptr || lane.open.front()->begun() < first->open.front()->begun()) first = &lane;
  }
  if (first == nullptr) return inbox.emplace_back(add(group, key));
  auto transfer = first->open.front();
  first->open.pop_front();
  return transfer;
}

}  // namespace kernbench::distributed
