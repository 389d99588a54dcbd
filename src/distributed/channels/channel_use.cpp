#include "distributed/channels/channel_use.h"

#include <utility>

#include "base/text.h"

namespace kernbench::distributed {

ChannelUse::ChannelUse(std::shared_ptr<SharedChannels> channels, std::shared_ptr<const Roster> roster,
                       const std::vector<int>& ranks, Name text, EntriesForOthers others)
    : channels_(std::move(channels)),
      pool_(channels_->pool()),
      roster_(std::move(roster)),
      text_(std::move(text)),
      others_(others),
      turn_(std::make_shared<sim::Completion>()) {
  for (const int rank : ranks) sides_.push_back({rank});
  turn_->describe_as([this] { return "the turn of " + text_; });
  turn_->provided_by([this](std::vector<sim::WaitEdge>& edges) {
    append_missing(edges);
    if (waits_for_) pool_->append_holders(*this, edges);
  });
}

ChannelUse::~ChannelUse() {
  pool_->give_up(*this);
  if (begun_ && !over_) pool_->over(*this);
}

void ChannelUse::come(std::size_t side) {
  if (!std::exchange(sides_[side].arrived, true)) ++arrived_;
}

void ChannelUse::go_ahead() {
  if (!begun_) begin_early();
}

/// Before all have come. Those who came when there was no room for that wait for their turn.
void ChannelUse::begin_early() {
  pool_->begin(*this);
  if (arrived_ > 0) turn_->set();
}

runtime::CompletionRef ChannelUse::arrive(std::size_t side) {
  come(side);
  if (begun_) return nullptr;
  if (!pool_->shares() && pool_->leaves(others_, *channels_))
    begin_early();
  else if (arrived_ == sides_.size())
    pool_->request(*this);
  return begun_ || error_ ? nullptr : turn_;
}

void ChannelUse::leave() {
  if (++left_ < sides_.size() || !begun_ || std::exchange(over_, true)) return;
  pool_->over(*this);
}

void ChannelUse::append_not_begun(std::size_t side, std::vector<sim::WaitEdge>& edges) const {
  for (std::size_t other = 0; other < sides_.size(); ++other) {
    const auto end = sides_[other].end.lock();
    if (other != side && !sides_[other].arrived && end) edges.push_back({end.get(), "its turn in its stream", true});
  }
}

void ChannelUse::append_missing(std::vector<sim::WaitEdge>& edges) const {
  for (const Side& side : sides_) {
    if (side.arrived) continue;
    if (const auto end = side.end.lock())
      edges.push_back({end.get(), named("{} to come to {}", Name::rank(side.rank), text_), true});
    else
      roster_->append_edge(side.rank, text_, edges);
  }
}

void ChannelUse::append_ends(const Name& reason, std::vector<sim::WaitEdge>& edges) const {
  for (const Side& side : sides_) {
    const auto end = side.end.lock();
    if (end && !end->is_set())
      edges.push_back({end.get(), named("the end of {} on {}, which has {}", text_, Name::rank(side.rank), reason)});
    else if (!end && !side.arrived)
      roster_->append_edge(side.rank, named("{}, which has {},", text_, reason), edges);
  }
}

std::shared_ptr<runtime::QueueSet> ChannelTurn::take() {
  if (use_->error_) std::rethrow_exception(use_->error_);
  return set_ = use_->channels_->set();
}

}  // namespace kernbench::distributed
