#include "distributed/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "distributed/channel_set.h"
#include "distributed/group.h"
#include "runtime/simulation.h"

namespace kernbench::distributed {

Communicator::Communicator(const Group& group) : group_(group), devices_(static_cast<std::size_t>(group.size()), -1) {
  for (const int rank : group.ranks()) {
    std::string what = fmt::format("the first communication of rank {} in {}", rank, group.name());
    auto& bound = bound_.emplace_back(std::make_shared<event::Completion>());
    bound->provided_by([roster = group.roster(), rank, what](auto& edges) { roster->append_edge(rank, what, edges); });
    bound->describe_as([what = std::move(what)] { return what; });
  }
}

void Communicator::bind(int member, int device) {
  int& mine = devices_[static_cast<std::size_t>(member)];
  const int rank = group_.ranks()[static_cast<std::size_t>(member)];
  if (mine == device) return;
  if (mine >= 0) {
    throw ValueError(
        fmt::format("rank {} communicates on ahbm:{} in {}, but this tensor is on ahbm:{}; a rank has one "
                    "device in a group",
                    rank, mine, group_.name(), device));
  }
  const auto other = std::ranges::find(devices_, device);
  const int sips = runtime::current_context("a collective").simulation.topology().system.sips;
  if (other != devices_.end() && group_.size() > sips) {
    throw ValueError(
        fmt::format("{} has {} ranks, but the machine has {} SIP{}: ranks communicate with a SIP each, not with a PE "
                    "each; start at most {}, or take a machine with more SIPs (system.sips.count)",
                    group_.name(), group_.size(), sips, sips == 1 ? "" : "s", sips));
  }
  if (other != devices_.end()) {
    const int other_rank = group_.ranks()[static_cast<std::size_t>(other - devices_.begin())];
    throw ValueError(
        fmt::format("Duplicate device detected: rank {} and rank {} both on ahbm:{}; call "
                    "torch::ahbm::set_device(rank) first, so that each rank has a device of its own",
                    other_rank, rank, device));
  }
  mine = device;
  bound_[static_cast<std::size_t>(member)]->set();
}

runtime::CompletionRef Communicator::ready(runtime::HostContext& context, int member, int device,
                                           const std::string& what) {
  bind(member, device);
  if (group_.size() == 1) return nullptr;
  const int rank = group_.ranks()[static_cast<std::size_t>(member)];
  if (!meeting_) meeting_ = std::make_shared<Meeting>(what, group_.roster(), group_.ranks());
  if (!meeting_->has(rank)) {
    // Who waits goes on as soon as the last one has arrived, over these channels.
    const bool last = meeting_->missing().size() == 1;
    if (last) ring_ = channels_between(context, group_.name(), ring_pairs(), group_.algorithm());
    meeting_->arrive(rank);
  }
  return {meeting_, &meeting_->reached()};
}

std::vector<std::pair<int, int>> Communicator::ring_pairs() const {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    pairs.emplace_back(devices_[i], devices_[(i + 1) % devices_.size()]);
  }
  return pairs;
}

RingPlace Communicator::place(int member, DType dtype) const {
  const int n = group_.size();
  RingPlace ring;
  ring.rank = member;
  ring.size = n;
  ring.next_sip = devices_[static_cast<std::size_t>((member + 1) % n)];
  ring.previous_sip = devices_[static_cast<std::size_t>((member + n - 1) % n)];
  ring.tile_elements = std::max<std::int64_t>(1, group_.algorithm().slot_size.count() / item_size(dtype));
  ring.window = group_.algorithm().n_slots;
  return ring;
}

}  // namespace kernbench::distributed
