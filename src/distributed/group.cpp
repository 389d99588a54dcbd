#include "distributed/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "distributed/communicator.h"
#include "runtime/simulation.h"

namespace kernbench::distributed {

Group::Group(std::string name, std::shared_ptr<Roster> roster, std::vector<int> ranks, AlgorithmSpec algorithm)
    : name_(std::move(name)),
      roster_(std::move(roster)),
      ranks_(std::move(ranks)),
      algorithm_(std::move(algorithm)),
      ledger_(ranks_),
      communicator_(std::make_shared<Communicator>(*this)),
      left_(ranks_.size()) {}

Group::~Group() = default;

void Group::leave(int member) {
  if (member < 0) return;
  left_[static_cast<std::size_t>(member)] = true;
  if (std::ranges::find(left_, false) != left_.end()) return;
  communicator_ = std::make_shared<Communicator>(*this);
  transfers_.give_back_channels();
}

void Group::close() {
  communicator_ = std::make_shared<Communicator>(*this);
  transfers_ = {};
}

void Group::append_unmatched(std::vector<std::string>& texts) const {
  ledger_.append_unmatched(name_, texts);
  transfers_.append_unmatched(name_, texts);
}

int Group::member(int global_rank) const {
  const auto found = std::ranges::find(ranks_, global_rank);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

Meeting& Group::monitored_barrier(std::size_t count) {
  while (monitored_barriers_.size() <= count) monitored_barriers_.emplace_back("monitored_barrier", roster_, ranks_);
  return monitored_barriers_[count];
}

namespace {

constexpr std::size_t kMostListed = 16;  // calls, in the text of an error

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Job::Job(std::string title, int world_size, AlgorithmSpec algorithm)
    : roster(std::make_shared<Roster>(world_size)),
      world(std::make_shared<Group>("the default group", roster, first_ranks(world_size), std::move(algorithm))),
      joined(std::move(title), roster, first_ranks(world_size)) {}

Membership::Membership(std::shared_ptr<Job> job_joined, int rank_in_job)
    : job(std::move(job_joined)),
      rank(rank_in_job),
      world(std::make_shared<GroupHandle>(GroupHandle{job->world, rank, rank})) {}

Membership::~Membership() {
  job->roster->leave(rank);
  job->world->leave(rank);
  for (const auto& creation : job->creations) creation.group->leave(creation.group->member(rank));
}

Rendezvous::~Rendezvous() {
  if (channels_) channels_->close();
  for (const Made& made : groups_) made.group->close();
}

const std::shared_ptr<ChannelPool>& Rendezvous::channel_pool(runtime::Simulation& simulation) {
  if (channels_) return channels_;
  channels_ = std::make_shared<ChannelPool>(simulation);
  const std::weak_ptr<ChannelPool> pool = channels_;
  simulation.launch_queues().share_with([pool] {
    const auto others = pool.lock();
    return others && others->give_back_idle();
  });
  simulation.launch_queues().on_leaving([pool] {
    if (const auto others = pool.lock()) others->room_elsewhere();
  });
  return channels_;
}

void Rendezvous::add(std::shared_ptr<Group> group, const runtime::Worker& member) {
  groups_.push_back({std::move(group), member.group});
}

void Rendezvous::check_all_matched() const {
  std::vector<std::string> calls;
  for (const Made& made : groups_) {
    if (!made.workers || !made.workers->cancelled()) made.group->append_unmatched(calls);
  }
  if (calls.empty()) return;
  const std::size_t listed = std::min(calls.size(), kMostListed);
  std::string text =
      fmt::format("the run is over, and {} for other ranks, which never made {}:",
                  calls.size() == 1 ? "1 call still waits" : fmt::format("{} calls still wait", calls.size()),
                  calls.size() == 1 ? "it" : "them");
  for (std::size_t i = 0; i < listed; ++i) text += "\n  " + calls[i];
  if (listed < calls.size()) text += fmt::format("\n  and {} more", calls.size() - listed);
  throw ProgramError("UnmatchedCallError", text);
}

Rendezvous& rendezvous(runtime::HostContext& context) {
  auto& slot = context.simulation.distributed;
  if (slot == nullptr) {
    auto shared = std::make_shared<Rendezvous>();
    context.simulation.check_distributed = [&rendezvous = *shared] {
      rendezvous.run_is_over();
      rendezvous.check_all_matched();
    };
    slot = std::move(shared);
  }
  return *static_cast<Rendezvous*>(slot.get());
}

Membership& membership(const char* call) {
  const auto& slot = runtime::current_context(call).distributed;
  if (slot == nullptr) {
    throw ValueError("Default process group has not been initialized, please make sure to call init_process_group.");
  }
  return *static_cast<Membership*>(slot.get());
}

GroupHandle& handle_of(const torch::distributed::ProcessGroup& group, const char* call) {
  Membership& mine = membership(call);
  GroupHandle& handle = group.state() == nullptr ? *mine.world : *group.state();
  if (handle.destroyed || handle.global_rank != mine.rank || handle.group->roster() != mine.job->roster) {
    throw ValueError(
        fmt::format("{}: Invalid process group specified: it has been destroyed, or belongs to another rank", call));
  }
  return handle;
}

GroupHandle* member_handle(const torch::distributed::ProcessGroup& group, const char* call) {
  GroupHandle& handle = handle_of(group, call);
  if (handle.member >= 0) return &handle;
  if (handle.warned.insert(call).second) {
    runtime::current_context(call).simulation.environment().print(fmt::format(
        "warning: Running {} on global rank {} which does not belong to the given group.\n", call, handle.global_rank));
  }
  return nullptr;
}

}  // namespace kernbench::distributed
