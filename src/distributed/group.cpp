#include "distributed/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/error_text.h"
#include "base/text.h"
#include "distributed/alike_ranks.h"
#include "distributed/call_timer.h"
#include "distributed/communicator.h"
#include "distributed/cost/automatic_choice.h"
#include "distributed/work_state.h"
#include "kernbench/error.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"
#include "runtime/streams/capture.h"
#include "sim/before_deadlock.h"

namespace kernbench::distributed {

Group::Group(runtime::Simulation& simulation, std::string name, std::shared_ptr<Roster> roster, std::vector<int> ranks,
             AlgorithmSpec algorithm)
    : simulation_(simulation),
      name_(std::move(name)),
      roster_(std::move(roster)),
      ranks_(std::move(ranks)),
      algorithm_(std::move(algorithm)),
      order_check_(ranks_),
      communicator_(std::make_shared<Communicator>(*this)),
      objects_(ranks_.size()),
      left_(ranks_.size()) {}

Group::~Group() = default;

const topology::Topology& Group::machine() const {
  return simulation_.topology();
}

const GroupShape& Group::shape(bool rank_per_pe) {
  if (!shape_) shape_ = GroupDescription{size(), rank_per_pe, algorithm_, simulation_.topology(), ranks_}.shape();
  return *shape_;
}

bool Group::crosses(const Group& other) const {
  if (roster_ != other.roster_) return false;
  std::vector<bool> there(static_cast<std::size_t>(roster_->size()));
  for (const int rank : other.ranks_) there[static_cast<std::size_t>(rank)] = true;
  const auto common = std::ranges::count_if(ranks_, [&](int rank) { return there[static_cast<std::size_t>(rank)]; });
  return common > 0 && common < std::ssize(ranks_);
}

EntriesForOthers Group::entries_for_others() {
  const Rendezvous& all = rendezvous(simulation_);
  if (std::exchange(groups_seen_, all.groups()) != all.groups()) {
    const std::int64_t queues = machine().pe.ipcq.queues;
    const GroupDescription description{size(), false, algorithm_, machine(), ranks_};
    for_others_ = {.count = std::min<std::int64_t>(all.largest_crossed_by(*this) - 1, queues),
                   .capacity = std::min(queues, channels_that_fit(description))};
  }
  return for_others_;
}

const CollectiveAlgorithm& Group::algorithm_of(CollectiveOperation operation, std::int64_t bytes, bool rank_per_pe) {
  return *algorithm_of(operation, bytes, rank_per_pe, [](const CollectiveAlgorithm&) { return true; });
}

const CollectiveAlgorithm* Group::algorithm_of(CollectiveOperation operation, std::int64_t bytes, bool rank_per_pe,
                                               const std::function<bool(const CollectiveAlgorithm&)>& accepts) {
  if (size() == 1 || !simulation_.options().alike_devices) return chosen(operation, bytes, rank_per_pe, accepts);
  const auto* any = chosen(operation, bytes, rank_per_pe, accepts);
  const auto* found = chosen(operation, bytes, rank_per_pe, [&](const CollectiveAlgorithm& each) {
    return accepts(each) && ranks_are_alike_in(each, rank_per_pe);
  });
  if (any == nullptr || (found != nullptr && ranks_are_alike_in(*found, rank_per_pe))) {
    if (found != any && replaced_.insert(any).second) {
      simulation_.warn(
          fmt::format("{} of {} is done by {}: with devices that are alike there is no {}, whose ranks differ",
                      distributed::name(operation), name_, found->name, any->name));
    }
    return found;
  }
  const std::string what = fmt::format("{}: devices are not alike: ", distributed::name(operation));
  if (const int sips = machine().system.sips; size() < sips) {
    throw ProgramError("AlikeDevicesError",
                       fmt::format("{}{} has {} of the machine's {} devices; give the machine as many as the group has "
                                   "(--set system.sips.count={}), or simulate all devices",
                                   what, name_, size(), sips, size()));
  }
  throw ProgramError("AlikeDevicesError",
                     fmt::format("{}the ranks of {} do not do the same in {}; use another algorithm, or simulate all "
                                 "devices",
                                 what, name_, any->name));
}

const CollectiveAlgorithm* Group::chosen(CollectiveOperation operation, std::int64_t bytes, bool rank_per_pe,
                                         const std::function<bool(const CollectiveAlgorithm&)>& accepts) {
  if (size() == 1 || !algorithm_.is_automatic(operation)) return &algorithm_for(algorithm_, operation);
  auto& choice = choices_[operation];
  if (!choice) {
    choice = std::make_unique<AutomaticChoice>(
        operation, GroupDescription{size(), rank_per_pe, algorithm_, simulation_.topology()}, ranks_,
        simulation_.machine().network());
  }
  return choice->of(bytes, accepts);
}

bool Group::ranks_are_alike_in(const CollectiveAlgorithm& algorithm, bool rank_per_pe) {
  if (rank_per_pe) return true;  // channels within a SIP may be any; others without a mate are an error when used
  const auto [known, is_new] = alike_.try_emplace(&algorithm);
  if (is_new) known->second = are_alike(algorithm.channels(shape(false)), topology::AlikeSips(machine().system));
  return known->second;
}

std::string Group::reason_of(std::int64_t bytes, const CollectiveAlgorithm& taken) const {
  const auto choice = choices_.find(taken.operation);
  if (size() == 1 || choice == choices_.end()) return std::string(kNamed);
  return choice->second->reason(bytes, taken);
}

void Group::leave(int member) {
  if (member < 0) return;
  left_[static_cast<std::size_t>(member)] = true;
  judge();
  if (std::ranges::find(left_, false) != left_.end()) return;
  communicator_ = std::make_shared<Communicator>(*this);
  transfers_.give_back_channels();
}

void Group::close() {
  communicator_ = std::make_shared<Communicator>(*this);
  transfers_ = {};
}

void Group::append_unmatched(std::vector<std::string>& texts) const {
  order_check_.append_unmatched(name_, texts);
  transfers_.append_unmatched(name_, texts);
}

std::uint64_t Group::call(int member, const CollectiveFingerprint& fingerprint) {
  const std::uint64_t sequence = order_check_.call(member, fingerprint);
  judge();
  return sequence;
}

bool Group::has_conflict(std::uint64_t sequence) const {
  const auto conflict = order_check_.conflict();
  return conflict && *conflict <= sequence;
}

void Group::judge() {
  // When all have left nobody can be told; the end of the run says it.
  if (!failure_ && order_check_.can_judge(left_) && std::ranges::find(left_, false) != left_.end())
    fail(order_check_.verdict());
}

bool Group::judge_without_missing() {
  if (failure_ || !order_check_.conflict()) return false;
  fail(order_check_.verdict());
  return true;
}

void Group::fail(const ProgramError& error) {
  failure_ = std::make_shared<runtime::Failure>(runtime::Failure{std::make_exception_ptr(error)});
  *has_failed_ = true;
  // Before their commands are taken back, which would end their waits.
  for (std::size_t member = 0; member < ranks_.size(); ++member) {
    if (!left_[member]) roster_->tell(ranks_[member], failure_);
  }
  for (sim::Completion* verdict : wait_for_verdict_) verdict->set();
  const auto abandoned = order_check_.abandon();
  communicator_->give_up(abandoned.first);
  auto scopes = abandoned.scopes;
  for (const auto& work : abandoned.works) work->fail(failure_);
  for (const auto& transfer : transfers_.abandon()) {
    transfer->fail(failure_);
    scopes.push_back(transfer->scope());
  }
  for (const auto& work : abandoned.works) work->drop_behind();
  take_back(scopes);
}

void Group::abort(const ProgramError& error) {
  if (failure_ || std::ranges::find(left_, false) == left_.end()) return;
  fail(error);
  for (const auto& each : std::exchange(under_way_, {})) {
    const auto work = each.lock();
    if (work && !work->failure && !work->finished->is_set()) work->fail(failure_);
  }
}

void Group::begun(const std::shared_ptr<WorkState>& work) {
  if (under_way_.size() >= most_under_way_) {
    std::erase_if(under_way_, [](const auto& each) {
      const auto old = each.lock();
      return !old || old->finished->is_set();
    });
    most_under_way_ = std::max<std::size_t>(64, 2 * under_way_.size());
  }
  under_way_.push_back(work);
}

std::shared_ptr<CallTimer> GroupHandle::timer(std::function<std::string()> what) const {
  if (!timeout) return nullptr;
  const auto late = [group = std::weak_ptr<Group>(group), rank = global_rank, limit = *timeout,
                     what = std::move(what)] {
    const auto alive = group.lock();
    if (!alive) return;
    alive->abort(ProgramError(
        "DistributedError",
        fmt::format(
            "[Rank {}] Watchdog caught collective operation timeout: {} ran for {} before timing out; give the group a "
            "longer timeout, or see what the other ranks wait for",
            rank, what(), to_text(limit))));
  };
  return std::make_shared<CallTimer>(*timeout, late);
}

void GroupHandle::stop_at_end(const std::shared_ptr<CallTimer>& timer, const WorkState& state) {
  if (timer) timer->stop_at(state.finished);
}

void Group::take_back(const std::vector<runtime::CommandScopeRef>& scopes) const {
  if (scopes.empty()) return;
  for (const auto& scope : scopes) {
    scope->take_back();
    simulation_.machine().cancel(scope->number());
  }
  for (const auto& scope : std::views::reverse(scopes)) scope->undo();
  simulation_.drop_cancelled_commands();
}

runtime::CommandScopeRef Group::new_scope(const runtime::HostContext& context) const {
  auto scope = std::make_shared<runtime::CommandScope>(rendezvous(simulation_).next_scope_number());
  if (context.worker.group) context.worker.group->add(scope);
  return scope;
}

void Group::check_usable(runtime::HostContext& context, const char* call) const {
  runtime::tell_failures(context);
  if (context.capture) {
    runtime::refuse_while_capturing(
        context, fmt::format("{} of {}", call, name_),
        "a collective takes its turn on the channels of its group anew each time and cannot "
        "be replayed; call it between the replays of two graphs");
  }
  if (!failure_) return;
  throw ProgramError("DistributedError",
                     fmt::format("{}: {} has failed and cannot be used any more: destroy it, and make a new one. The "
                                 "first error was: {}",
                                 call, name_, error_text(failure_->error, "Exception").message));
}

void Group::wait_for_failure(runtime::HostContext& context, const std::string& what, std::uint64_t sequence) {
  if (!failure_) {
    sim::Completion verdict;
    verdict.describe_as([&] { return named("{}, missing ranks: {}", what, set_text(order_check_.missing(sequence))); });
    verdict.provided_by([&](std::vector<sim::WaitEdge>& edges) {
      for (const int rank : order_check_.missing(sequence)) roster_->append_edge(rank, what, edges);
    });
    // The failure ends the wait; in a destructor, where no wait throws, the verdict does.
    const auto place = wait_for_verdict_.insert(wait_for_verdict_.end(), &verdict);
    struct Leaving {
      std::list<sim::Completion*>& list;
      std::list<sim::Completion*>::iterator place;
      ~Leaving() { list.erase(place); }
    };
    const Leaving leaving{wait_for_verdict_, place};
    runtime::host_wait(context, runtime::WaitFor::ranks, [&] { verdict.wait(); });
  }
  if (!failure_) return;
  runtime::withdraw(context, failure_);
  std::rethrow_exception(failure_->error);
}

int Group::member(int global_rank) const {
  const auto found = std::ranges::find(ranks_, global_rank);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

RankBarrier& Group::monitored_barrier(std::size_t count) {
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

Job::Job(runtime::Simulation& simulation, std::string title, int world_size, AlgorithmSpec algorithm,
         std::string algorithm_given)
    : roster(std::make_shared<Roster>(world_size)),
      world(std::make_shared<Group>(simulation, "the default group", roster, first_ranks(world_size),
                                    std::move(algorithm))),
      algorithm_name(std::move(algorithm_given)),
      joined(std::move(title), roster, first_ranks(world_size)) {}

RankState::RankState(std::shared_ptr<Job> job_joined, int rank_in_job)
    : job(std::move(job_joined)),
      rank(rank_in_job),
      world(std::make_shared<GroupHandle>(GroupHandle{job->world, rank, rank})) {}

RankState::~RankState() {
  job->roster->leave(rank);
  job->world->leave(rank);
  for (GroupCreation& creation : job->creations) {
    creation.judge_if_all_others_left();
    if (const auto& group = creation.group()) group->leave(group->member(rank));
  }
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

int Rendezvous::largest_crossed_by(const Group& group) const {
  int largest = group.roster()->size() > 2 ? 2 : 1;
  for (const Made& made : groups_) {
    if (made.group->size() > largest && group.crosses(*made.group)) largest = made.group->size();
  }
  return largest;
}

bool Rendezvous::judge_conflicts() {
  bool any = false;
  for (const Made& made : groups_) any |= made.group->judge_without_missing();
  for (const auto& each : jobs_) {
    const auto job = each.lock();
    if (!job) continue;
    for (GroupCreation& creation : job->creations) any |= creation.judge_without_missing();
  }
  return any;
}

void Rendezvous::check_all_matched() const {
  if (channels_) channels_->forget_messages_of_failed();
  std::vector<std::string> calls;
  for (const Made& made : groups_) {
    if (made.workers && made.workers->cancelled()) continue;
    made.group->judge_without_missing();
    const auto& failure = made.group->failure();
    if (failure && !failure->told) std::rethrow_exception(failure->error);
    if (!failure) made.group->append_unmatched(calls);
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
  return rendezvous(context.simulation);
}

Rendezvous& rendezvous(runtime::Simulation& simulation) {
  auto& slot = simulation.distributed;
  if (slot == nullptr) {
    auto shared = std::make_shared<Rendezvous>();
    sim::before_deadlock(simulation.scheduler(), [&rendezvous = *shared] { return rendezvous.judge_conflicts(); });
    simulation.check_distributed = [&rendezvous = *shared] { rendezvous.check_all_matched(); };
    slot = std::move(shared);
  }
  return *static_cast<Rendezvous*>(slot.get());
}

RankState& rank_state(const char* call) {
  const auto& slot = runtime::current_context(call).distributed;
  if (slot == nullptr) {
    throw ValueError("Default process group has not been initialized, please make sure to call init_process_group.");
  }
  return *static_cast<RankState*>(slot.get());
}

GroupHandle& handle_of(const torch::distributed::ProcessGroup& group, const char* call) {
  RankState& mine = rank_state(call);
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
    runtime::current_context(call).simulation.environment().print(
        fmt::format("warning: Running {} on global rank {} which does not belong to the given group{}.\n", call,
                    handle.global_rank, called_text(sim::this_fiber::current()->call().where)));
  }
  return nullptr;
}

}  // namespace kernbench::distributed
