#include "distributed/channels/channel_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "distributed/channels/channel_use.h"
#include "kernbench/error.h"
#include "runtime/queues/out_of_slots.h"

namespace kernbench::distributed {

SharedChannels::SharedChannels(std::shared_ptr<ChannelPool> pool, Wanted wanted)
    : pool_(std::move(pool)), wanted_(std::move(wanted)) {
  for (const auto& need : wanted_.shares) most_entries_ = std::max(most_entries_, need.entries);
}

SharedChannels::~SharedChannels() {
  pool_->forget(*this);
}

bool SharedChannels::are_free(const EntriesForOthers& others) const {
  return !pool_->shares() && set_ && set_->is_installed() && pool_->leaves(others, *this);
}

namespace {

/// Rethrows the error that is being handled, with what the channels are for.
[[noreturn]] void rethrow_for(const std::string& what) {
  const auto text = [&](const Error& error) { return fmt::format("{}; the channels are for {}", error.what(), what); };
  try {
    throw;
  } catch (const runtime::OutOfSlotsError& error) {
    throw runtime::OutOfSlotsError(text(error), error.memory(), error.slots());
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(text(error));
  } catch (const ValueError& error) {
    throw ValueError(text(error));
  }
}

/// Parts that have PEs in common with this one: it itself, its SIP, and for a SIP any PE of it.
template <class Map, class Action>
void for_each_overlapping(Map& map, const TableShare& share, const Action& action) {
  if (share.part.pe()) {
    for (const tensor::DevicePart& part : {share.part, tensor::DevicePart(share.part.sip())}) {
      const auto found = map.find({part, share.receives});
      if (found != map.end()) action(found->first, found->second);
    }
    return;
  }
  // Parts are ordered by SIP, the whole one before its PEs.
  auto at = map.lower_bound({share.part, false});
  for (; at != map.end() && at->first.part.sip() == share.part.sip(); ++at) {
    if (at->first.receives == share.receives) action(at->first, at->second);
  }
}

}  // namespace

std::shared_ptr<SharedChannels> ChannelPool::open(SharedChannels::Wanted wanted, const std::string& what) {
  auto channels = std::make_shared<SharedChannels>(shared_from_this(), std::move(wanted));
  const auto& shares = channels->wanted_.shares;
  const auto lacking = [&](const auto& need) { return lacks(need, channels->wanted_.parameters); };
  const auto held_by_nobody = [&](const auto& need) { return never_free(need.share); };
  const auto is_too_much = [&](const auto& need) { return need.entries > simulation_.topology().pe.ipcq.queues; };
  while (true) {
    const auto lack = std::ranges::find_if(shares, lacking);
    if (lack == shares.end() && put_in(*channels)) break;
    if (simulation_.launch_queues().give_back_unused()) continue;
    if (std::ranges::any_of(shares, is_too_much) ||
        (lack == shares.end() ? std::ranges::all_of(shares, held_by_nobody) : held_by_nobody(*lack))) {
      try {
        (void)channels->wanted_.make();
      } catch (const ProgramError&) {
        rethrow_for(what);
      }
    }
    shares_ = true;
    break;
  }
  return channels;
}

bool ChannelPool::lacks(const Need& need, const QueueParameters& parameters) const {
  auto& resources = *simulation_.queue_resources();
  const TableShare& share = need.share;
  const std::int64_t pes = share.part.pe() ? 1 : simulation_.topology().cube.pes.count();
  return share.part.any_pe(simulation_.topology(), [&](PeCoordinate pe) {
    return share.receives ? !resources.can_receive(pe, parameters, need.entries, pes)
                          : !resources.can_send(pe, need.entries);
  });
}

/// Nobody who has something of it will ever give it back.
bool ChannelPool::never_free(const TableShare& share) const {
  bool somebody = simulation_.launch_queues().any_in_use();
  for_each_overlapping(in_tables_, share, [&](const TableShare&, const auto& those) { somebody |= !those.empty(); });
  return !somebody;
}

void ChannelPool::append_holders(const ChannelUse& use, std::vector<sim::WaitEdge>& edges) const {
  const auto& wanted = use.channels_->wanted_;
  const auto lack = std::ranges::find_if(wanted.shares, [&](const Need& need) {
    return lacks(need, wanted.parameters) && longest_idle(need.share) == nullptr;
  });
  const TableShare share = lack == wanted.shares.end() ? *use.waits_for_ : lack->share;
  const Name reason = named("an entry of {} to {} (pe.ipcq.queues is {})", to_name(share.part),
                            share.receives ? "receive" : "send", simulation_.topology().pe.ipcq.queues);
  const std::size_t before = edges.size();
  for_each_overlapping(in_tables_, share, [&](const TableShare&, const auto& those) {
    for (const auto& [number, channels] : those) {
      for (const ChannelUse* holder : channels->uses_) holder->append_ends(reason, edges);
    }
  });
  if (edges.size() == before) edges.push_back({nullptr, reason});
}

SharedChannels* ChannelPool::longest_idle(const TableShare& share) const {
  SharedChannels* found = nullptr;
  for_each_overlapping(idle_, share, [&](const TableShare&, const auto& those) {
    if (those.empty()) return;
    SharedChannels* first = those.begin()->second;
    if (found == nullptr || first->idle_since_ < found->idle_since_) found = first;
  });
  return found;
}

/// Into the tables, where there should be room for them. False: there is none, of memory that is in pieces.
bool ChannelPool::put_in(SharedChannels& channels) {
  try {
    channels.set_ = channels.wanted_.make();
  } catch (const ProgramError&) {
    return false;
  }
  channels.number_ = ++clock_;
  for (const auto& need : channels.wanted_.shares) in_tables_[need.share].emplace(channels.number_, &channels);
  channels.set_->when_installed([weak = channels.weak_from_this()] {
    if (const auto mine = weak.lock()) mine->pool_->settle(*mine);
  });
  return true;
}

/// Into the tables, in place of others if need be. What is lacking if that is not possible now.
std::optional<TableShare> ChannelPool::enter(SharedChannels& channels) {
  while (!channels.set_) {
    std::vector<SharedChannels*> go;
    std::optional<TableShare> lack;
    for (const auto& need : channels.wanted_.shares) {
      if (!lacks(need, channels.wanted_.parameters)) continue;
      lack = need.share;
      SharedChannels* idle = longest_idle(need.share);
      if (idle == nullptr && !simulation_.launch_queues().give_back_unused()) return need.share;
      if (idle != nullptr && std::ranges::find(go, idle) == go.end()) go.push_back(idle);
    }
    for (SharedChannels* each : go) take_out(*each);
    if (lack) continue;
    if (put_in(channels)) break;
    // The pieces of free memory are too small: one more goes.
    const auto& wanted = channels.wanted_.shares;
    const auto in = std::ranges::find_if(
        wanted, [&](const auto& need) { return need.share.receives && longest_idle(need.share) != nullptr; });
    if (in == wanted.end()) {
      waits_for_memory_ = true;
      const auto held = std::ranges::find_if(
          wanted, [&](const auto& need) { return need.share.receives && !never_free(need.share); });
      return held == wanted.end() ? wanted.back().share : held->share;
    }
    take_out(*longest_idle(in->share));
  }
  return std::nullopt;
}

void ChannelPool::begin(ChannelUse& use) {
  SharedChannels& channels = *use.channels_;
  leave_idle(channels);
  if (channels.uses_.empty()) count_in_use(channels, 1);
  channels.uses_.push_back(&use);
  use.begun_ = true;
}

void ChannelPool::count_in_use(const SharedChannels& channels, std::int64_t sign) {
  for (const auto& need : channels.wanted_.shares) in_use_[need.share] += sign * need.entries;
  most_in_use_ += sign * channels.most_entries_;
  ++uses_changed_;
}

bool ChannelPool::leaves(const EntriesForOthers& others, const SharedChannels& channels) const {
  if (others.count == 0) return true;
  const bool counted = !channels.uses_.empty();
  const std::int64_t most = most_in_use_ + (counted ? 0 : channels.most_entries_);
  if (most + others.count <= others.capacity) return true;
  auto& looked = channels.looked_;
  if (looked.at == uses_changed_ && looked.count == others.count) return looked.room;
  const bool room = std::ranges::all_of(channels.wanted_.shares, [&](const Need& need) {
    std::int64_t taken = counted ? 0 : need.entries;
    for_each_overlapping(in_use_, need.share, [&](const TableShare&, std::int64_t entries) { taken += entries; });
    return taken + others.count <= others.capacity;
  });
  looked = {uses_changed_, others.count, room};
  return room;
}

bool ChannelPool::try_begin(ChannelUse& use) {
  const auto lack = enter(*use.channels_);
  const auto turn = use.turn_;  // whoever goes on may be the end of the use
  if (!lack) {
    give_up(use);
    begin(use);
    turn->set();
    return true;
  }
  if (never_free(*lack)) {
    try {
      (void)use.channels_->wanted_.make();
    } catch (...) {
      try {
        rethrow_for(use.text_);
      } catch (...) {
        use.error_ = std::current_exception();
      }
    }
    give_up(use);
    turn->set();
    return true;
  }
  wait(use, *lack);
  return false;
}

ChannelPool::Queue& ChannelPool::queue_of(const TableShare& share) {
  const auto [queue, is_new] = waiting_.try_emplace(share);
  if (is_new) {
    queue->second.room = rooms_.size();
    rooms_.emplace_back();
  }
  return queue->second;
}

/// For all of its shares, of which it lacks one.
void ChannelPool::wait(ChannelUse& use, const TableShare& lack) {
  const auto& [parameters, shares, make] = use.channels_->wanted_;
  auto known = std::ranges::find(known_, parameters);
  if (known == known_.end()) known = known_.insert(known, parameters);
  Waiter waiter{.number = use.number_, .use = &use, .parameters = static_cast<std::size_t>(known - known_.begin())};
  for (const Need& need : shares) {
    if (need.share != lack) continue;
    waiter.entries = need.entries;
    waiter.lacks = queue_of(lack).room;
    // Else memory is in pieces, which is nothing of this share alone.
    if (lacks(need, parameters)) rooms_[waiter.lacks] = {need.entries, waiter.parameters};
  }
  use.waits_for_ = lack;
  if (std::exchange(use.waits_, true)) return;
  ++waiting_count_;
  for (const Need& need : shares) {
    auto& waiters = queue_of(need.share).waiters;
    waiters.insert(std::ranges::upper_bound(waiters, waiter.number, {}, &Waiter::number), waiter);
  }
}

void ChannelPool::request(ChannelUse& use) {
  if (closed_) return;
  use.number_ = ++clock_;
  try_begin(use);
  serve_soon();
}

/// It waits no longer.
void ChannelPool::give_up(ChannelUse& use) {
  if (!std::exchange(use.waits_, false)) return;
  use.waits_for_.reset();
  // While nobody waits, nothing is noted.
  if (--waiting_count_ == 0) std::ranges::fill(rooms_, Room());
  for (const Need& need : use.channels_->wanted_.shares) {
    auto& waiters = queue_of(need.share).waiters;
    waiters.erase(std::ranges::lower_bound(waiters, use.number_, {}, &Waiter::number));
  }
}

void ChannelPool::over(ChannelUse& use) {
  use.over_ = true;
  if (std::erase(use.channels_->uses_, &use) > 0 && use.channels_->uses_.empty()) count_in_use(*use.channels_, -1);
  if (!closed_) look_for_left_over(use);
  settle(*use.channels_);
}

/// What the next operation has sent cannot be told from it, so that the last one of several finds what all have left.
void ChannelPool::look_for_left_over(const ChannelUse& use) {
  const SharedChannels& channels = *use.channels_;
  if (!use.left_over_ || !channels.set_ || !channels.uses_.empty()) return;
  try {
    channels.set_->table()->check_all_received("Program::receive");
  } catch (const ProgramError& error) {
    use.left_over_(error);
  }
}

/// Channels that nobody uses and that are in the tables may have to go.
void ChannelPool::settle(SharedChannels& channels) {
  if (closed_ || !channels.set_ || !channels.set_->is_installed() || !channels.uses_.empty()) return;
  leave_idle(channels);
  channels.idle_since_ = ++clock_;
  for (const auto& need : channels.wanted_.shares) idle_[need.share].emplace(channels.idle_since_, &channels);
  wake(channels);
  serve_soon();
}

void ChannelPool::leave_idle(SharedChannels& channels) {
  if (channels.idle_since_ == 0) return;
  for (const auto& need : channels.wanted_.shares) idle_[need.share].erase(channels.idle_since_);
  channels.idle_since_ = 0;
}

void ChannelPool::take_out(SharedChannels& channels) {
  leave_idle(channels);
  for (const auto& need : channels.wanted_.shares) in_tables_[need.share].erase(channels.number_);
  channels.set_.reset();
  wake(channels);
}

void ChannelPool::forget(SharedChannels& channels) {
  if (!channels.set_) return;
  take_out(channels);
  serve_soon();
}

void ChannelPool::room_elsewhere() {
  for (const auto& [share, queue] : waiting_) serve_later(share, queue);
  serve_soon();
}

bool ChannelPool::give_back_idle() {
  SharedChannels* longest = nullptr;
  for (const auto& [share, those] : idle_) {
    if (those.empty()) continue;
    SharedChannels* first = those.begin()->second;
    if (longest == nullptr || first->idle_since_ < longest->idle_since_) longest = first;
  }
  if (longest == nullptr) return false;
  shares_ = true;
  take_out(*longest);
  return true;
}

void ChannelPool::serve_later(const TableShare& share, const Queue& queue) {
  rooms_[queue.room] = {};
  if (!queue.waiters.empty()) to_serve_.insert(share);
}

void ChannelPool::wake(const SharedChannels& channels) {
  if (waiting_count_ == 0) return;
  if (waits_for_memory_) {
    for (const auto& [share, queue] : waiting_) serve_later(share, queue);
    return;
  }
  for (const auto& need : channels.wanted_.shares) {
    for_each_overlapping(waiting_, need.share,
                         [&](const TableShare& other, const Queue& queue) { serve_later(other, queue); });
  }
}

/// Not at once: what has made room may be anything, the end of an operation too. A picosecond later.
void ChannelPool::serve_soon() {
  if (closed_ || to_serve_.empty() || std::exchange(serves_soon_, true)) return;
  auto& scheduler = simulation_.scheduler();
  scheduler.schedule(
      scheduler.now() + Time::picoseconds(1), sim::Phase::deliver, simulation_.machine().host_agent(-1), ++clock_,
      sim::Callback{[](void* pool, std::uint64_t) { static_cast<ChannelPool*>(pool)->serve(0); }, this, 0});
}

void ChannelPool::serve(std::uint64_t) {
  serves_soon_ = false;
  while (!closed_ && !to_serve_.empty()) serve(*to_serve_.begin());
}

bool ChannelPool::has_none(const Waiter& waiter) const {
  const Room& room = rooms_[waiter.lacks];
  return room.none_for != 0 && waiter.entries >= room.none_for && waiter.parameters == room.parameters;
}

/// It is known to find no room in a share other than that one. Which one is noted, so that the next look is short.
bool ChannelPool::lacks_other(Waiter& waiter, const Queue& than) const {
  if (waiter.lacks != than.room && has_none(waiter)) return true;
  for (const Need& need : waiter.use->channels_->wanted_.shares) {
    waiter.entries = need.entries;
    waiter.lacks = waiting_.at(need.share).room;
    if (waiter.lacks != than.room && has_none(waiter)) return true;
  }
  return false;
}

/// Lets those begin that wait for this share and find all they need, the first first.
void ChannelPool::serve(const TableShare& share) {
  const TableShare mine = share;
  to_serve_.erase(mine);
  Queue& queue = waiting_.at(mine);
  for (std::uint64_t after = 0;;) {
    auto next = std::ranges::upper_bound(queue.waiters, after, {}, &Waiter::number);
    while (next != queue.waiters.end() && lacks_other(*next, queue)) ++next;
    if (next == queue.waiters.end()) return;
    ChannelUse& use = *next->use;
    after = next->number;
    if (!try_begin(use) && use.waits_for_ == mine) return;
  }
}

}  // namespace kernbench::distributed
