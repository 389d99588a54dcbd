// Host workers that fail together: whose a command is, and whether it still counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/phase.h"
#include "sim/wait_graph.h"

namespace kernbench::runtime {

/// Commands of workers that can be taken back while the workers go on: those of one collective.
class CommandScope {
 public:
  explicit CommandScope(std::uint64_t number) : number_(number) {}
  CommandScope(const CommandScope&) = delete;
  CommandScope& operator=(const CommandScope&) = delete;

  /// Under which the machine knows them (hardware::Machine::cancel); no worker group has it.
  std::uint64_t number() const { return number_; }
  /// They are dropped, as far as they have not begun, and new ones are not taken any more.
  bool taken_back() const { return taken_back_; }
  void take_back() {
    taken_back_ = true;
    when_settled_.clear();
  }
  /// Lives as long as the scope: what the programs under way store from then on has no effect.
  static std::shared_ptr<const bool> taken_back_of(const std::shared_ptr<CommandScope>& scope) {
    return scope ? std::shared_ptr<const bool>(scope, &scope->taken_back_) : nullptr;
  }

  /// Nobody will take them back any more.
  void settle() {
    settled_ = true;
    undo_.clear();
    for (const auto& each : std::exchange(when_settled_, {})) each();
  }
  bool settled() const { return settled_; }
  /// Calls it then; never, if they are taken back. REQUIRES: !settled().
  void when_settled(std::function<void()> call) { when_settled_.push_back(std::move(call)); }
  /// What their effect so far is to be undone by; the latest is called first. REQUIRES: !settled().
  void add_undo(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
  /// REQUIRES: taken_back().
  void undo() {
    for (auto latest = undo_.rbegin(); latest != undo_.rend(); ++latest) (*latest)();
    settle();
  }

 private:
  std::uint64_t number_;
  bool taken_back_ = false;
  bool settled_ = false;
  std::vector<std::function<void()>> undo_;
  std::vector<std::function<void()>> when_settled_;
};
using CommandScopeRef = std::shared_ptr<CommandScope>;

/// The workers of one spawn, as streams and launches see them.
class WorkerGroup {
 public:
  explicit WorkerGroup(std::uint64_t number) : number_(number) {}
  virtual ~WorkerGroup() = default;
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  /// Under which the machine knows its work (hardware::Machine::cancel); not 0.
  std::uint64_t number() const { return number_; }
  /// Its commands that have not begun are dropped, and new ones are not taken any more.
  bool cancelled() const { return cancelled_; }
  /// Commands of its workers that the machine knows under a number of their own.
  void add(const CommandScopeRef& scope) {
    // Those that are gone make room first, so that the list grows with the scopes there are, at constant cost.
    if (scopes_.size() > 2 * scopes_at_sweep_ + 16) {
      std::erase_if(scopes_, [](const auto& each) { return each.expired(); });
      scopes_at_sweep_ = scopes_.size();
    }
    scopes_.push_back(scope);
  }
  /// An error escaped a kernel that worker `rank` has launched. False: all workers have ended, nobody can be told.
  virtual bool launch_failed(int rank, const std::exception_ptr& error) = 0;
  /// Called when the worker that made the group ends: waits for its end, and throws what failed and was never reported.
  virtual void join_at_end() = 0;
  /// Nothing of it is left.
  bool ended() const { return ended_; }
  /// It has ended, and what failed has been reported.
  virtual bool settled() const = 0;

 protected:
  void mark_cancelled() { cancelled_ = true; }
  void mark_ended() { ended_ = true; }
  /// The numbers of the scopes that are still in use.
  std::vector<std::uint64_t> scopes() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& each : scopes_) {
      if (const auto scope = each.lock()) numbers.push_back(scope->number());
    }
    return numbers;
  }
  /// Commands of its workers that exist.
  std::size_t work() const { return work_; }
  /// The last of them is gone.
  virtual void work_over() = 0;
  /// Kernel launches of its workers that the machine has and that have not completed.
  std::size_t launches() const { return launches_; }
  /// The last of them has completed.
  virtual void launches_over() = 0;
  void append_launches(std::vector<sim::WaitEdge>& edges) const {
    for (const auto& each : launch_nodes_) {
      if (const auto launch = each.lock()) edges.push_back({launch.get(), "its completion"});
    }
  }

 private:
  friend class GroupWork;
  friend class GroupLaunch;
  std::uint64_t number_;
  std::vector<std::weak_ptr<const CommandScope>> scopes_;
  std::size_t scopes_at_sweep_ = 0;
  std::size_t work_ = 0;
  std::size_t launches_ = 0;
  std::vector<std::weak_ptr<const sim::WaitNode>> launch_nodes_;  // some may have completed
  std::size_t launches_at_sweep_ = 0;
  bool cancelled_ = false;
  bool ended_ = false;
};

/// Lives as long as a command of a group's worker: in a stream, under way, or as a closure of the machine.
class GroupWork {
 public:
  /// Of a group, or a scope, or both.
  GroupWork(std::shared_ptr<WorkerGroup> group, CommandScopeRef scope)
      : group_(std::move(group)), scope_(std::move(scope)) {
    if (group_) ++group_->work_;
  }
  ~GroupWork() {
    if (group_ && --group_->work_ == 0) group_->work_over();
  }
  GroupWork(const GroupWork&) = delete;
  GroupWork& operator=(const GroupWork&) = delete;
  bool cancelled() const { return (group_ && group_->cancelled()) || (scope_ && scope_->taken_back()); }
  /// Of commands that may be taken back yet; null: they may not.
  CommandScope* open_scope() const { return scope_ && !scope_->settled() ? scope_.get() : nullptr; }

 private:
  std::shared_ptr<WorkerGroup> group_;
  CommandScopeRef scope_;
};
using GroupWorkRef = std::shared_ptr<const GroupWork>;

/// Lives as long as a kernel launch of a group's worker is under way in the machine.
class GroupLaunch {
 public:
  explicit GroupLaunch(std::shared_ptr<WorkerGroup> group) : group_(std::move(group)) { ++group_->launches_; }
  ~GroupLaunch() {
    if (--group_->launches_ == 0) group_->launches_over();
  }
  GroupLaunch(const GroupLaunch&) = delete;
  GroupLaunch& operator=(const GroupLaunch&) = delete;
  /// The launch as a node of the wait graph.
  void is(const std::shared_ptr<const sim::WaitNode>& node) const {
    auto& nodes = group_->launch_nodes_;
    if (nodes.size() > 2 * group_->launches_at_sweep_ + 16) {
      std::erase_if(nodes, [](const auto& each) { return each.expired(); });
      group_->launches_at_sweep_ = nodes.size();
    }
    nodes.push_back(node);
  }

 private:
  std::shared_ptr<WorkerGroup> group_;
};

/// The work that the calling host worker begins; null when it belongs to no group, as the main program, and no scope.
GroupWorkRef current_work();

/// Who a host worker is.
struct Worker {
  int rank = 0;              // of its spawn; 0 for the main program
  int world_size = 0;        // ranks of its spawn; 0 for the main program
  std::int64_t process = 0;  // its number among all workers; 0 for the main program
  sim::AgentId agent;        // of its fiber, and of its data tasks
  std::string path;          // "1" for rank 1, "1.0" for rank 0 of what rank 1 spawned; empty for the main program
  std::string stem = {};     // of a path that leaves out the middle: what comes before "..."
  std::shared_ptr<WorkerGroup> group = nullptr;  // none: the main program
  bool daemon = false;
  int depth = 0;  // of the spawns that it is in; 0 for the main program
  /// Whose its launches and copies are, for the machine.
  std::uint64_t owner() const { return group ? group->number() : 0; }
};

}  // namespace kernbench::runtime
