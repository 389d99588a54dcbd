#include "distributed/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "distributed/algorithms/both_ways.h"
#include "distributed/group.h"
#include "kernbench/error.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"

namespace kernbench::distributed {

Communicator::Communicator(Group& group)
    : group_(group), parts_(static_cast<std::size_t>(group.size())), waiting_(static_cast<std::size_t>(group.size())) {}

void Communicator::wait_for(runtime::HostContext& context, int member, Naming name, Providers providers) {
  if (parts_[static_cast<std::size_t>(member)]) return runtime::tell_failures(context);
  const auto here = waiting_[static_cast<std::size_t>(member)].emplace_back(std::make_shared<sim::Completion>());
  here->describe_as(std::move(name));
  here->provided_by(std::move(providers));
  runtime::host_wait(context, runtime::WaitFor::ranks, [&] { here->wait(); });
}

void Communicator::bind(int member, const tensor::DevicePart& part) {
  auto& mine = parts_[static_cast<std::size_t>(member)];
  const int rank = group_.ranks()[static_cast<std::size_t>(member)];
  if (mine == part) return;
  if (mine) {
    throw ValueError(
        fmt::format("rank {} communicates on {} in {}, but this tensor is on {}; a rank has one device in a group",
                    rank, mine->name(), group_.name(), part.name()));
  }
  const auto other = std::ranges::find(parts_, part);
  if (other != parts_.end()) {
    const int other_rank = group_.ranks()[static_cast<std::size_t>(other - parts_.begin())];
    throw ValueError(
        fmt::format("Duplicate device detected: rank {} and rank {} both on {}; {}", other_rank, rank, part.name(),
                    part.pe() ? "a worker keeps the PE that its first init_process_group gave it"
                              : "call torch::ahbm::set_device(rank) first, so that each rank has a device of its own"));
  }
  mine = part;
  for (const auto& each : std::exchange(waiting_[static_cast<std::size_t>(member)], {})) each->set();
}

runtime::CompletionRef Communicator::ready(runtime::HostContext& context, int member, const tensor::DevicePart& part,
                                           const std::string& what) {
  bind(member, part);
  if (group_.size() == 1) return nullptr;
  const int rank = group_.ranks()[static_cast<std::size_t>(member)];
  if (!barrier_) barrier_ = std::make_shared<RankBarrier>(what, group_.roster(), group_.ranks());
  if (!barrier_->has(rank)) {
    // Who waits goes on as soon as the last one has arrived, over these channels.
    const bool last = barrier_->missing().size() == 1;
    if (last) {
      shape_ = group_.shape(part.pe().has_value());
      channels_ =
          channels_between(context, group_, group_.name(), pairs(channels_of(group_.algorithm(), shape_)), what);
      open_wanted(context);
    }
    barrier_->arrive(rank);
  }
  return {barrier_, &barrier_->reached()};
}

void Communicator::open_late(runtime::HostContext& context, const LateChannels& which,
                             const std::vector<RankPair>& members, const std::string& what) {
  open_late(context, which, [this, members] { return pairs(members); }, what);
}

void Communicator::open_late(runtime::HostContext& context, const LateChannels& which, const Replicas& replicas,
                             const std::string& what) {
  open_late(context, which, [this, replicas] { return pairs(replicas); }, what);
}

void Communicator::open_late(runtime::HostContext& context, const LateChannels& which, Pairs pairs,
                             const std::string& what) {
  late_.try_emplace(which, Late{std::move(pairs), what});
  if (channels_ || group_.size() == 1) open_wanted(context);
}

std::size_t Communicator::number_of(const Replicas& replicas) {
  const auto known = std::ranges::find(replicas_, replicas);
  if (known != replicas_.end()) return static_cast<std::size_t>(known - replicas_.begin());
  replicas_.push_back(replicas);
  return replicas_.size() - 1;
}

void Communicator::open_wanted(runtime::HostContext& context) {
  for (auto& [which, late] : late_) {
    if (late.channels) continue;
    late.channels =
        channels_between(context, group_, fmt::format("{}, {}", group_.name(), which.first), late.pairs(), late.what);
  }
}

std::shared_ptr<ChannelTurn> Communicator::turn(int member, std::uint64_t sequence, const std::string& what,
                                                const std::optional<LateChannels>& late, std::size_t round) {
  const auto& channels = late ? late_.at(*late).channels : channels_;
  if (!channels) return nullptr;
  Open& open = open_[{sequence, round}];
  if (!open.use) {
    open.use =
        std::make_shared<ChannelUse>(channels, group_.roster(), group_.ranks(), what, group_.entries_for_others());
    open.launches = open.use;
    for (const auto& [other, end] : open.ends) {
      if (const auto alive = end.lock()) open.use->set_end(static_cast<std::size_t>(other), alive);
    }
  }
  const auto use = open.use;
  ++open.turns;
  let_go_if_complete(sequence, round);
  return std::make_shared<ChannelTurn>(use, static_cast<std::size_t>(member));
}

bool Communicator::turn_is_free(const std::optional<LateChannels>& late) const {
  const auto& channels = late ? late_.at(*late).channels : channels_;
  return channels ? channels->are_free(group_.entries_for_others()) : group_.size() == 1;
}

void Communicator::set_end(int member, std::uint64_t sequence, std::size_t rounds, const runtime::CompletionRef& end) {
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool is_open = open_.contains({sequence, round});
    if (!is_open && (group_.size() == 1 || end->is_set())) continue;
    Open& open = open_[{sequence, round}];
    if (open.use)
      open.use->set_end(static_cast<std::size_t>(member), end);
    else
      open.ends[member] = end;
    ++open.told;
    let_go_if_complete(sequence, round);
  }
}

void Communicator::let_go_if_complete(std::uint64_t sequence, std::size_t round) {
  const auto is_complete = [members = group_.ranks().size()](const Open& open) {
    return open.turns == members && open.told == members;
  };
  Open& open = open_.at({sequence, round});
  if (is_complete(open)) open.use.reset();
  while (!open_.empty() && is_complete(open_.begin()->second) && open_.begin()->second.launches.expired())
    open_.erase(open_.begin());
}

void Communicator::append_not_begun(int member, std::uint64_t sequence, std::vector<sim::WaitEdge>& edges) const {
  for (auto open = open_.lower_bound({sequence, 0}); open != open_.end() && open->first.first == sequence; ++open) {
    if (const auto use = open->second.launches.lock()) use->append_not_begun(static_cast<std::size_t>(member), edges);
  }
}

std::vector<PartPair> Communicator::pairs(const std::vector<RankPair>& members) const {
  std::vector<PartPair> pairs;
  for (const auto& [from, to] : members) pairs.emplace_back(part(from), part(to));
  return pairs;
}

std::vector<PartPair> Communicator::pairs(const Replicas& replicas) const {
  std::set<PartPair> pairs;
  for (int member = 0; member < group_.size(); ++member) {
    for (const Replicas::Box& box : replicas.boxes) {
      const auto of = [&](std::int64_t place, int on) {
        PeCoordinate pe = box.holders[static_cast<std::size_t>(place)];
        pe.sip = part(on).sip();
        return tensor::DevicePart(pe);
      };
      for (std::int64_t place = 0; place < std::ssize(box.holders); ++place) {
        for (const Line& line : lines_through(place, box.levels)) {
          if (line.count > 1) pairs.emplace(of(place, member), of(line.next(), member));
        }
        if (group_.size() == 1) continue;
        const bool backwards = way_of(box.holders[static_cast<std::size_t>(place)], group_.machine(), 2) == 1;
        const int next = (member + (backwards ? group_.size() - 1 : 1)) % group_.size();
        pairs.emplace(of(place, member), of(place, next));
      }
    }
  }
  return {pairs.begin(), pairs.end()};
}

RankView Communicator::view(int member, DType dtype) const {
  return {.rank = member,
          .size = group_.size(),
          .parts = parts_,
          .tile_elements = group_.algorithm().tile_elements(dtype),
          .window = group_.algorithm().n_slots,
          .machine = &group_.machine(),
          .levels = shape_.levels};
}

}  // namespace kernbench::distributed
