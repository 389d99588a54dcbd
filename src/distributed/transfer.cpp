#include "distributed/transfer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "distributed/work_state.h"

namespace kernbench::distributed {
namespace {

std::string tensor_text(const CollectiveFingerprint& tensor) {
  return fmt::format("TensorShape=[{}], TensorDtypes={}", fmt::join(tensor.shape, ", "), torch_name(tensor.dtype));
}

}  // namespace

Transfer::Transfer(std::shared_ptr<const Roster> roster, std::string group, std::vector<int> senders, int receiver,
                   const LaneKey& key, std::uint64_t number, std::weak_ptr<const Lanes> lanes)
    : roster_(std::move(roster)),
      group_(std::move(group)),
      senders_(std::move(senders)),
      receiver_(receiver),
      key_(key),
      lanes_(std::move(lanes)),
      number_(number),
      ready_(std::make_shared<sim::Completion>()) {
  ready_->describe_as([this] { return call_text(called(true)); });
  ready_->provided_by([this](auto& edges) { append_missing_call(called(true), edges); });
}

// Streams may keep `ready` for longer.
Transfer::~Transfer() {
  if (ready_.use_count() == 1) return;
  ready_->describe_as([text = call_text(called(true))] { return text; });
  ready_->provided_by({});
}

// "send to rank 1 (tag 5) of the default group", "send to rank 2 (rank 1 of group 1, tag 5)"
Name Transfer::what(bool sends) const {
  const char* verb = sends ? "send to" : "recv from";
  if (!sends && from_any()) return named("{} any rank (tag {}) of {}", verb, key_.tag, group_);
  const int rank = sends ? receiver_ : sender(), member = sends ? key_.to : key_.from;
  if (rank == member) return named("{} {} (tag {}) of {}", verb, Name::rank(rank), key_.tag, group_);
  return named("{} {} ({} of {}, tag {})", verb, Name::rank(rank), Name::rank(member), group_, key_.tag);
}

Name Transfer::call_text(bool sends) const {
  const Name by = !sends ? roster_->name(receiver_) : from_any() ? Name("any rank") : roster_->name(sender());
  const auto& where = sides_[sends ? 0 : 1].tensor.where;
  return Name::owned(by, what(sends) + called_at_text(where));
}

// What the rank has called with other tags tells a wrong tag from a call that was forgotten.
std::string Transfer::other_calls(bool sends, int sender) const {
  const auto lanes = lanes_.lock();
  if (!lanes) return {};
  std::vector<std::string> calls;
  for (const auto& [key, lane] : *lanes) {
    if (key.to != key_.to || key.tag == key_.tag || lane.open.empty()) continue;
    const Transfer& other = *lane.open.front();
    if (other.called(sends) && other.sender() == sender)
      calls.push_back(fmt::format("tag {}{}", key.tag, at_text(other.called_at())));
  }
  if (calls.empty()) return {};
  return fmt::format(" (it has called {} with {})", sends ? "send" : "recv", fmt::join(calls, ", "));
}

void Transfer::append_missing_call(bool sends, std::vector<sim::WaitEdge>& edges) const {
  if (called(!sends)) return;
  if (sends) {
    const std::string others = other_calls(false, sender());
    Name unmet = named("{}, which {} has not received{}", call_text(true), roster_->name(receiver_), others);
    return roster_->append_edge(receiver_, what(false) + others, edges, std::move(unmet));
  }
  for (const int rank : senders_) {
    const std::string others = other_calls(true, rank);
    Name unmet = named("{}, to which {} has not sent{}", call_text(false), roster_->name(rank), others);
    roster_->append_edge(rank, what(true) + others, edges, std::move(unmet));
    edges.back().alternative = from_any();
  }
}

void Transfer::append_not_begun(bool sends, std::vector<sim::WaitEdge>& edges) const {
  if (const auto use = use_.lock()) use->append_not_begun(sends ? 0 : 1, edges);
}

Name Transfer::text() const {
  const Name from = from_any() ? Name("any rank of " + set_text(senders_)) : Name::rank(sender());
  return named("transfer from {} to {} (tag {})", from, Name::rank(receiver_), key_.tag);
}

std::source_location Transfer::called_at() const {
  return sides_[called(true) ? 0 : 1].tensor.where;
}

void Transfer::sent_by(int rank, int member) {
  senders_ = {rank};
  key_.from = member;
}

std::optional<ProgramError> Transfer::call(bool sends, const CollectiveFingerprint& tensor) {
  Side& mine = sides_[sends ? 0 : 1];
  if (!called(true) && !called(false)) begun_ = sim::this_fiber::scheduler().now();
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
                      text().text(), sender(), tensor_text(sent), at_text(sent.where), receiver_, tensor_text(received),
                      at_text(received.where), differences(sent, received), name(compare(sent, received)))};
}

void Transfer::fail(const runtime::FailureRef& failure) {
  failure_ = failure;
  for (const Side& side : sides_) {
    const auto work = side.work.lock();
    if (!work) continue;
    work->fail(failure);
    work->drop_behind();
  }
}

void Transfer::attach(bool sends, const std::shared_ptr<WorkState>& work) {
  sides_[sends ? 0 : 1].work = work;
  if (failure_) work->fail(failure_);
  if (const auto use = use_.lock()) use->set_end(sends ? 0 : 1, work->finished);
}

void Transfer::go_on(const tensor::DevicePart& from, const tensor::DevicePart& to,
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
  for (auto& [key, lane] : *lanes_) {
    lane.last.reset();
    lane.channels.clear();
  }
}

std::vector<TransferRef> Transfers::abandon() {
  std::vector<TransferRef> abandoned;
  const auto take = [&](std::deque<TransferRef>& open) {
    for (auto& transfer : std::exchange(open, {})) abandoned.push_back(std::move(transfer));
  };
  for (auto& [key, lane] : *lanes_) take(lane.open);
  for (auto& [inbox, open] : mixed_) take(open);
  return abandoned;
}

void Transfers::append_unmatched(const std::string& group, std::vector<std::string>& texts) const {
  const auto append = [&](const std::deque<TransferRef>& open) {
    for (const auto& transfer : open) {
      const char* missing = transfer->called(true) ? "sent, never received" : "never sent";
      texts.push_back(
          fmt::format("{} in {}: {}{}", transfer->text().text(), group, missing, called_text(transfer->called_at())));
    }
  };
  for (const auto& [key, lane] : *lanes_) append(lane.open);
  for (const auto& [inbox, open] : mixed_) append(open);
}

TransferRef Transfers::add(const Members& group, const LaneKey& key) {
  const auto rank_of = [&](int member) { return group.ranks[static_cast<std::size_t>(member)]; };
  const int receiver = rank_of(key.to);
  std::vector<int> senders;
  if (key.from >= 0) {
    senders.push_back(rank_of(key.from));
  } else {
    std::ranges::remove_copy(group.ranks, std::back_inserter(senders), receiver);
  }
  return std::make_shared<Transfer>(group.roster, group.name, std::move(senders), receiver, key, ++count_, lanes_);
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
    transfer->sent_by(group.ranks[static_cast<std::size_t>(key.from)], key.from);
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
  for (auto& [each, lane] : *lanes_) {
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
