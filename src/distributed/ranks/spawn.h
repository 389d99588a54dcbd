// One spawn: its ranks on their fibers, who of them failed, and who was unwound because of it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "distributed/ranks/failure_text.h"
#include "kernbench/multiprocessing.h"
#include "kernbench/units.h"
#include "runtime/context.h"
#include "sim/fiber.h"
#include "sim/waitable.h"

namespace kernbench::distributed {

/// The ranks of one spawn, from their start until nothing of them is left: also their launches that are under way
/// belong to them.
///
/// A rank fails when it throws on its own, exits with a code, or one of its kernels throws. At the end of that instant
/// (so that all who fail in it are causes) the others get Cancelled, by rank, and so do the ranks that any of them has
/// spawned. What all of them gave to the devices is taken back. The spawn has ended when the fibers are over and the
/// last command is gone.
class Spawn final : public runtime::WorkerGroup, public std::enable_shared_from_this<Spawn> {
 public:
  using Body = std::function<void(int rank)>;
  using RankError = torch::multiprocessing::RankError;

  /// Called on a host worker's fiber. The fibers are made in the order of the ranks, or in `order` (for tests: it
  /// changes nothing).
  static std::shared_ptr<Spawn> start(Body body, const torch::multiprocessing::SpawnOptions& options,
                                      std::span<const int> order = {});

  /// See ProcessContext::join.
  bool join(std::optional<Time> timeout);
  std::vector<std::int64_t> pids() const;

  bool launch_failed(int rank, const std::exception_ptr& error) override;
  void join_at_end() override;
  bool settled() const override { return ended() && (!failing_ || reported_); }

 private:
  struct Rank {
    std::shared_ptr<sim::Fiber> fiber;
    std::int64_t process = 0;
    int exit_code = 0;
    bool over = false;
  };
  /// What joiners wait for: a rank has ended, all of it has, or time is up.
  class Change : public sim::Waitable {
   public:
    template <std::predicate Ready>
    void wait_until(Ready ready) {
      block_until(ready);
    }
    void notify(std::uint64_t = 0) { wake_all(); }

   protected:
    const char* missing() const override { return "the end of a rank"; }
  };

  Spawn(runtime::Simulation& simulation, const runtime::HostContext& parent,
        const torch::multiprocessing::SpawnOptions& options);
  void start_rank(int rank, const std::shared_ptr<const Body>& body);
  void run_rank(const runtime::Worker& identity, const Body& body);
  runtime::Worker worker(int rank);
  void set_path(runtime::Worker& worker) const;
  /// Of the fiber of a worker whose path is set.
  Name name_of(const runtime::Worker& worker) const;

  void rank_over(std::uint64_t rank);
  /// `call`: the one that the error has left, for an error that does not say where it happened.
  void add_cause(int rank, const std::exception_ptr& error, const sim::ProgramCall& call);
  void note_failure();
  /// A rank did not unwind when it was told to.
  void note_stubborn(int rank);
  void deliver(std::uint64_t);
  void take_back();
  void cancel();
  void work_over() override;
  void launches_over() override;
  void settle();
  void wait_for_change(std::optional<Time> timeout);
  [[noreturn]] void throw_failure();
  std::string name() const;

  runtime::Simulation& simulation_;
  std::shared_ptr<Spawn> parent_;  // none: the main program spawned it
  sim::AgentId parent_agent_;
  std::string parent_path_, parent_stem_;
  int depth_;  // of the worker that spawned it
  bool daemon_;
  std::string suffix_;  // of the fibers' names, where several spawns of one worker are under way
  std::vector<Rank> ranks_;
  std::vector<std::weak_ptr<Spawn>> children_;
  std::size_t live_;
  std::size_t seen_ = 0;   // ends of ranks that a joiner has been told of
  bool reported_ = false;  // its failure, to a joiner
  std::vector<RankError> causes_;
  std::vector<Victim> victims_;
  bool failing_ = false;  // there are causes
  Change change_;
  std::shared_ptr<Spawn> self_;  // while it has not ended
};

}  // namespace kernbench::distributed
