#include "distributed/channels/channel_set.h"

#include <map>
#include <utility>

#include "distributed/group.h"

namespace kernbench::distributed {

ChannelKeeper::~ChannelKeeper() {
  if (pool_->closed()) return;
  // A set must not go while its rows are on their way to the tables.
  const bool taken_back = this->taken_back();
  if (set_->is_installed()) {
    if (taken_back) set_->close();
    return;
  }
  set_->when_installed([set = std::exchange(set_, nullptr), pool = pool_, taken_back]() mutable {
    if (taken_back) set->close();
    set.reset();
    pool->room_elsewhere();
  });
}

void ChannelPool::keep(const std::shared_ptr<ChannelKeeper>& keeper) {
  // Those that are gone make room first, so that the list grows with the channels there are, not with those there were.
  if (keepers_.size() == keepers_.capacity()) {
    std::erase_if(keepers_, [](const auto& each) { return each.expired(); });
    keepers_.reserve(2 * keepers_.size());  // not again before as many have come
  }
  keepers_.push_back(keeper);
}

void ChannelPool::forget_messages_of_failed() const {
  for (const auto& each : keepers_) {
    if (const auto keeper = each.lock()) keeper->forget_if_taken_back();
  }
}

namespace {

/// Each part with what the pairs take of its tables, the entries to receive last.
std::vector<SharedChannels::Wanted::Need> shares_of(const std::vector<PartPair>& pairs) {
  std::vector<SharedChannels::Wanted::Need> needs;
  std::map<TableShare, std::size_t> places;
  const auto add = [&](const TableShare& share) {
    const auto [place, is_new] = places.emplace(share, needs.size());
    if (is_new) needs.push_back({share});
    ++needs[place->second].entries;
  };
  for (const auto& [from, to] : pairs) add({from, false});
  for (const auto& [from, to] : pairs) add({to, true});
  return needs;
}

}  // namespace

std::shared_ptr<SharedChannels> channels_between(runtime::HostContext& context, const Group& group, const Name& name,
                                                 const std::vector<PartPair>& pairs, const std::string& what) {
  const AlgorithmSpec& algorithm = group.algorithm();
  const auto& topology = context.simulation.topology();
  std::map<tensor::DevicePart, std::int32_t> first_member;
  for (const auto& [from, to] : pairs) {
    first_member.emplace(from, 0);
    first_member.emplace(to, 0);
  }
  std::vector<PeCoordinate> members;
  for (auto& [part, first] : first_member) {
    first = static_cast<std::int32_t>(members.size());
    const auto pes = part.pes(topology);
    members.insert(members.end(), pes.begin(), pes.end());
  }
  QueueOptions options;
  options.parameters = {algorithm.buffer_kind, algorithm.backpressure,  algorithm.n_slots,
                        algorithm.slot_size,   algorithm.vc_chunk_size, algorithm.ipcq_credit_size_bytes};
  for (const auto& [from, to] : pairs) {
    const std::int32_t pes = from.pe() ? 1 : static_cast<std::int32_t>(topology.pes_per_sip());
    for (std::int32_t pe = 0; pe < pes; ++pe) {
      options.pairs.emplace_back(first_member.at(from) + pe, first_member.at(to) + pe);
    }
  }
  const auto& pool = rendezvous(context).channel_pool(context.simulation);
  auto make = [&simulation = context.simulation, pool = pool.get(), workers = context.worker.group,
               failed = group.has_failed(), name, members = std::move(members), options] {
    auto set = runtime::QueueSet::create(simulation, name, members, options);
    const auto keeper = std::make_shared<ChannelKeeper>(std::move(set), workers, failed, pool->shared_from_this());
    pool->keep(keeper);
    return std::shared_ptr<runtime::QueueSet>(keeper, keeper->set());
  };
  return pool->open({options.parameters, shares_of(pairs), std::move(make)}, what);
}

}  // namespace kernbench::distributed
