#include "distributed/channel_set.h"

#include <map>

#include "distributed/group.h"

namespace kernbench::distributed {

ChannelKeeper::~ChannelKeeper() {
  if (simulation_ends_) return;
  // A set must not go while its rows are on their way to the tables.
  set_->when_installed([set = set_, taken_back = workers_ && workers_->cancelled()] {
    if (taken_back) set->close();
  });
}

std::shared_ptr<runtime::QueueSet> channels_between(runtime::HostContext& context, const std::string& name,
                                                    const std::vector<PartPair>& pairs,
                                                    const AlgorithmSpec& algorithm) {
  const auto& topology = context.simulation.topology();
  std::map<runtime::DevicePart, std::int32_t> first_member;
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
  const auto keeper = std::make_shared<ChannelKeeper>(
      runtime::QueueSet::create(context.simulation, name, std::move(members), options), context.worker.group);
  rendezvous(context).keep(keeper);
  return {keeper, keeper->set()};
}

}  // namespace kernbench::distributed
