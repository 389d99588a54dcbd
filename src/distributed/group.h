// Process groups from the inside: what the ranks of one share, and what each rank has of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/agreement/collective_order_check.h"
#include "distributed/agreement/group_creation.h"
#include "distributed/algorithm_spec.h"
#include "distributed/channels/channel_pool.h"
#include "distributed/object_exchange.h"
#include "distributed/ranks/rank_barrier.h"
#include "distributed/transfer.h"
#include "distributed/work_order.h"
#include "kernbench/distributed.h"
#include "kernbench/units.h"
#include "runtime/context.h"

namespace kernbench::distributed {

class AutomaticChoice;
class CallTimer;
class Communicator;

/// The reason for an algorithm that was not chosen automatically.
inline constexpr std::string_view kNamed = "named";

/// What all members of a process group share.
class Group {
 public:
  Group(runtime::Simulation& simulation, std::string name, std::shared_ptr<Roster> roster, std::vector<int> ranks,
        AlgorithmSpec algorithm);
  ~Group();
  const std::string& name() const { return name_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& ranks() const { return ranks_; }  // global, by place in the group
  /// The place of a global rank in the group, or -1.
  int member(int global_rank) const;
  const AlgorithmSpec& algorithm() const { return algorithm_; }
  const topology::Topology& machine() const;
  /// How its ranks stand in the machine.
  const GroupShape& shape(bool rank_per_pe);
  /// The one for a call: of an operation whose algorithm is chosen automatically, by the bytes of the tensor.
  const CollectiveAlgorithm& algorithm_of(CollectiveOperation operation, std::int64_t bytes, bool rank_per_pe);
  /// Likewise of an automatic choice of those that accept the call; null: none does. The named one may not.
  const CollectiveAlgorithm* algorithm_of(CollectiveOperation operation, std::int64_t bytes, bool rank_per_pe,
                                          const std::function<bool(const CollectiveAlgorithm&)>& accepts);
  /// Why `taken`, which algorithm_of() has returned for so many bytes: "least cost", "only candidate", "best by
  /// measurement in FILE", or kNamed.
  std::string reason_of(std::int64_t bytes, const CollectiveAlgorithm& taken) const;
  const std::shared_ptr<Roster>& roster() const { return roster_; }
  /// What an operation of the group that begins on some of its ranks leaves to the others: as many entries as any
  /// operation can need of another group that has some of these ranks and not all of them.
  EntriesForOthers entries_for_others();
  /// Some of its ranks are in the other group, and some are not.
  bool crosses(const Group& other) const;
  CollectiveOrderCheck& order_check() { return order_check_; }

  /// A member calls its next collective; returns its sequence number. Calls that differ fail the group, at the latest
  /// when every member has called, or has left.
  std::uint64_t call(int member, const CollectiveFingerprint& fingerprint);
  /// Whether calls of this collective, or of one before it, differ, and have not been judged.
  bool has_conflict(std::uint64_t sequence) const;
  /// Whether a collective that is called now cannot succeed.
  bool is_doomed(std::uint64_t sequence) const { return failure_ || has_conflict(sequence); }
  /// The failure of the group, once ranks have been found to differ; null before.
  const runtime::FailureRef& failure() const { return failure_; }
  /// True from then on.
  std::shared_ptr<const bool> has_failed() const { return has_failed_; }
  /// Throws the failure to a rank that calls `call`: to one that knows it, as the reason why the group cannot be used.
  void check_usable(runtime::HostContext& context, const char* call) const;
  /// Suspends the caller of a collective that is doomed until the group has failed, and throws the failure. Returns
  /// only in destructors of a rank that was cancelled.
  void wait_for_failure(runtime::HostContext& context, const std::string& what, std::uint64_t sequence);
  /// Nothing is left that could make members call what is missing: a conflict is judged as it is. False: there is none.
  bool judge_without_missing();
  /// A scope for commands of one collective or transfer of the group.
  runtime::CommandScopeRef new_scope(const runtime::HostContext& context) const;
  /// Takes back the commands of these scopes.
  void take_back(const std::vector<runtime::CommandScopeRef>& scopes) const;
  /// Ends the group with this error on all ranks; nothing if it has failed already, or all have left. What some have
  /// not called is taken back; what all have called runs on, with the error for whoever asks for it or waits.
  void abort(const ProgramError& error);
  /// An operation that has been called, for abort.
  void begun(const std::shared_ptr<WorkState>& work);
  /// Likewise, when all have left, too: the end of the run has the error then.
  void fail_for(const ProgramError& error) {
    if (!failure_) fail(error);
  }
  Transfers& transfers() { return transfers_; }
  ObjectExchange& objects() { return objects_; }
  Communicator& communicator() { return *communicator_; }
  /// For what may be under way when the group gives its channels back; must not outlive the group.
  const std::shared_ptr<Communicator>& shared_communicator() const { return communicator_; }
  /// A member will not communicate in the group any more; -1: it never could. The last one gives the channels back,
  /// which what is under way keeps.
  void leave(int member);
  /// The simulation ends: nothing can be communicated any more.
  void close();
  /// What some members have called and others never did, a line each.
  void append_unmatched(std::vector<std::string>& texts) const;
  /// The call number `count` of monitored_barrier on each rank.
  RankBarrier& monitored_barrier(std::size_t count);

 private:
  const CollectiveAlgorithm* chosen(CollectiveOperation operation, std::int64_t bytes, bool rank_per_pe,
                                    const std::function<bool(const CollectiveAlgorithm&)>& accepts);
  bool ranks_are_alike_in(const CollectiveAlgorithm& algorithm, bool rank_per_pe);
  void judge();
  void fail(const ProgramError& error);

  runtime::Simulation& simulation_;
  std::string name_;
  std::shared_ptr<Roster> roster_;
  std::vector<int> ranks_;
  AlgorithmSpec algorithm_;
  std::map<CollectiveOperation, std::unique_ptr<AutomaticChoice>> choices_;  // those that have been asked for
  // Where devices are alike: whether ranks are, in an algorithm; those that others have taken the place of.
  std::map<const CollectiveAlgorithm*, bool> alike_;
  std::set<const CollectiveAlgorithm*> replaced_;
  std::optional<GroupShape> shape_ = {};  // once it has been asked for
  CollectiveOrderCheck order_check_;
  std::shared_ptr<Communicator> communicator_;
  Transfers transfers_;
  ObjectExchange objects_;
  std::vector<std::weak_ptr<WorkState>> under_way_;  // and some that have ended
  std::size_t most_under_way_ = 64;                  // before those that have ended are looked for
  std::vector<bool> left_;                           // by member
  EntriesForOthers for_others_;
  std::size_t groups_seen_ = 0;  // among which those have been found
  std::deque<RankBarrier> monitored_barriers_;
  runtime::FailureRef failure_;
  std::list<sim::Completion*> wait_for_verdict_;
  std::shared_ptr<bool> has_failed_ = std::make_shared<bool>(false);
};

/// A group as one rank has it.
struct GroupHandle {
  std::shared_ptr<Group> group;
  int member = -1;  // the rank's place in the group; -1: it is not in it
  int global_rank = 0;
  bool destroyed = false;
  std::size_t monitored_barriers = 0;       // calls so far
  std::uint64_t object_collectives = 0;     // likewise
  WorkOrder collectives = {};               // of this rank
  std::map<LaneKey, WorkOrder> lanes = {};  // likewise, its sends and receives
  std::set<std::string> warned = {};        // calls for which a rank that is no member has been warned
  std::optional<Time> timeout = {};         // of each of the rank's operations; none: for ever

  /// Fails the group when the timeout passes before the operation that has just been called ends; null without a
  /// timeout. `what` names the operation.
  std::shared_ptr<CallTimer> timer(std::function<std::string()> what) const;
  /// The timer, if there is one, ends with the operation.
  static void stop_at_end(const std::shared_ptr<CallTimer>& timer, const WorkState& state);
};

/// Ranks that made a default group together.
struct Job {
  Job(runtime::Simulation& simulation, std::string title, int world_size, AlgorithmSpec algorithm,
      std::string algorithm_name);
  std::shared_ptr<Roster> roster;
  std::shared_ptr<Group> world;
  std::string algorithm_name;  // as its first rank gave it; empty: none
  RankBarrier joined;
  std::deque<GroupCreation> creations;  // of new_group, in the order of the calls
};

/// What the calling fiber is in its default group; lives as long as the fiber's worker state.
struct RankState {
  RankState(std::shared_ptr<Job> job, int rank);
  ~RankState();
  RankState(const RankState&) = delete;
  RankState& operator=(const RankState&) = delete;

  std::shared_ptr<Job> job;
  int rank;
  std::shared_ptr<GroupHandle> world;
  std::size_t groups_created = 0;
};

/// What the process groups of one simulation share: the collectives file, and ranks that are still to meet.
struct Rendezvous {
  Rendezvous() = default;
  /// The simulation ends: handles that outlive it must not hold channels of its machine.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  std::optional<Collectives> collectives;
  std::map<std::string, std::shared_ptr<Job>> waiting;  // by the text under which ranks meet
  void add(const std::shared_ptr<Job>& job) { jobs_.push_back(job); }
  std::size_t groups() const { return groups_.size(); }
  /// The most ranks of a group that `group` crosses; 2 where a pair of ranks could be one.
  int largest_crossed_by(const Group& group) const;
  /// The workers of a group, if they are of a spawn, say in the end whether they failed.
  void add(std::shared_ptr<Group> group, const runtime::Worker& member);
  /// The run is over: ProgramError ("UnmatchedCallError") for the calls that ranks still wait for, of groups that did
  /// not fail; the failure of a group of which no rank has been told. What is left in the channels of those that failed
  /// is not missing.
  void check_all_matched() const;
  /// Nothing is left that could happen: calls that differ are judged. False: there are none.
  bool judge_conflicts();
  /// For the channels of all groups; made with the first.
  const std::shared_ptr<ChannelPool>& channel_pool(runtime::Simulation& simulation);
  /// Of a CommandScope: above the numbers of worker groups.
  std::uint64_t next_scope_number() { return kFirstScope + ++scopes_; }

 private:
  struct Made {
    std::shared_ptr<Group> group;
    std::shared_ptr<const runtime::WorkerGroup> workers;  // none: the main program
  };
  std::vector<Made> groups_;  // all of the simulation
  std::vector<std::weak_ptr<Job>> jobs_;
  std::shared_ptr<ChannelPool> channels_;
  static constexpr std::uint64_t kFirstScope = std::uint64_t{1} << 40;
  std::uint64_t scopes_ = 0;
};

/// Of the calling worker's simulation.
Rendezvous& rendezvous(runtime::HostContext& context);
Rendezvous& rendezvous(runtime::Simulation& simulation);
/// The calling worker's state; ValueError in PyTorch's words when it has none. `call` names the operation.
RankState& rank_state(const char* call);
/// The handle behind a group of the API, the default one for an empty one. ValueError when it has been destroyed.
GroupHandle& handle_of(const torch::distributed::ProcessGroup& group, const char* call);
/// Like handle_of, for an operation on the group; null, after a warning, when the calling rank is not in it.
GroupHandle* member_handle(const torch::distributed::ProcessGroup& group, const char* call);

}  // namespace kernbench::distributed
