#include "distributed/ranks/spawn.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error_text.h"
#include "distributed/ranks/nested_failure.h"
#include "distributed/ranks/rank_errors.h"
#include "distributed/ranks/rank_exit.h"
#include "sim/errors.h"
#include "sim/report.h"

namespace kernbench::distributed {

using runtime::HostContext;
using torch::multiprocessing::kMostNestedRanks;
using torch::multiprocessing::ProcessExitedException;
using torch::multiprocessing::SpawnException;
using torch::multiprocessing::SpawnOptions;

namespace {

/// As much as the main program has.
constexpr std::size_t kStackBytes = 1 << 20;

/// The type of a cause that is no error.
constexpr const char* kExit = "ProcessExitedException";

/// Operations of host agents that are no fiber's and no worker's other ones: timers, by process.
constexpr std::uint64_t kTimers = std::uint64_t{1} << 34;

/// Cancels an event when a wait is over, however it ended.
class Timer {
 public:
  Timer(sim::Scheduler& scheduler, sim::EventHandle event) : scheduler_(scheduler), event_(event) {}
  ~Timer() { scheduler_.cancel(event_); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  sim::Scheduler& scheduler_;
  sim::EventHandle event_;
};

/// Whether a fiber was ended by an error of this type.
template <class E>
bool is(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

void check(const HostContext& parent, const SpawnOptions& options) {
  if (options.nprocs < 0) {
    throw ValueError(
        fmt::format("torch::multiprocessing::spawn: nprocs is {}; it must not be negative", options.nprocs));
  }
  if (parent.worker.daemon) {
    throw ProgramError(
        "DaemonError",
        "daemonic processes are not allowed to have children: spawn this rank without .daemon = true, or "
        "spawn its children from the main program");
  }
  if (parent.worker.depth >= torch::multiprocessing::kMostNestedSpawns) {
    throw ProgramError(
        "NestingError",
        fmt::format("torch::multiprocessing::spawn was called by a rank that is {} spawns deep, which is "
                    "the limit: does each rank spawn others without an end?",
                    parent.worker.depth));
  }
  if (parent.worker.depth > 0 && parent.simulation.live_ranks + options.nprocs > kMostNestedRanks) {
    throw ProgramError(
        "NestingError",
        fmt::format(
            "torch::multiprocessing::spawn of {} ranks was called by a rank that is {} spawns deep, when {} ranks "
            "are alive; nested spawns may have {}: does each rank spawn others without an end?",
            options.nprocs, parent.worker.depth, parent.simulation.live_ranks, kMostNestedRanks));
  }
  if (options.start_method == "spawn") return;
  parent.simulation.warn(
      fmt::format("This method only supports start_method=spawn (got: {}). The ranks are fibers of one process in any "
                  "case.",
                  options.start_method));
}

}  // namespace

Spawn::Spawn(runtime::Simulation& simulation, const HostContext& parent, const SpawnOptions& options)
    : WorkerGroup(simulation.next_group_number()),
      simulation_(simulation),
      parent_(std::dynamic_pointer_cast<Spawn>(parent.worker.group)),
      parent_agent_(parent.worker.agent),
      parent_path_(parent.worker.path),
      parent_stem_(parent.worker.stem),
      depth_(parent.worker.depth),
      daemon_(options.daemon),
      ranks_(static_cast<std::size_t>(options.nprocs)),
      live_(ranks_.size()) {
  change_.describe_as([this] { return "the ranks of " + name(); }, sim::WaitRole::join);
  change_.provided_by([this](std::vector<sim::WaitEdge>& edges) {
    for (const Rank& rank : ranks_) {
      if (!rank.over) edges.push_back({rank.fiber.get(), "its end"});
    }
    if (live_ == 0) append_launches(edges);
  });
}

std::string Spawn::name() const {
  return fmt::format("a spawn of {} rank{}{}", ranks_.size(), ranks_.size() == 1 ? "" : "s", suffix_);
}

std::shared_ptr<Spawn> Spawn::start(Body body, const SpawnOptions& options, std::span<const int> order) {
  HostContext& parent = runtime::current_context("torch::multiprocessing::spawn");
  check(parent, options);
  parent.simulation.explain_distributed = add_rank_errors;
  const std::shared_ptr<Spawn> spawn(new Spawn(parent.simulation, parent, options));  // its constructor is private
  std::erase_if(parent.children, [](const auto& child) { return child->settled(); });
  if (!parent.children.empty()) spawn->suffix_ = fmt::format(" of spawn {}", spawn->number());
  parent.children.push_back(spawn);
  if (spawn->parent_) {
    std::erase_if(spawn->parent_->children_, [](const auto& child) { return child.expired(); });
    spawn->parent_->children_.push_back(spawn);
  }
  spawn->self_ = spawn;
  for (Rank& rank : spawn->ranks_) rank.process = parent.simulation.next_process_id();
  // Shared, because a copy of the body copies the arguments: that is the ranks' own affair.
  const auto shared_body = std::make_shared<const Body>(std::move(body));
  for (int i = 0; i < options.nprocs; ++i) {
    spawn->start_rank(order.empty() ? i : order[static_cast<std::size_t>(i)], shared_body);
  }
  spawn->settle();  // without ranks it ends at once
  return spawn;
}

// Of ranks that are deep down the way to them is left out; the process number tells them apart.
void Spawn::set_path(runtime::Worker& worker) const {
  constexpr int kDeepestInFull = 16;
  if (parent_path_.empty()) {
    worker.path = std::to_string(worker.rank);
  } else if (worker.depth <= kDeepestInFull) {
    worker.path = fmt::format("{}.{}", parent_path_, worker.rank);
  } else {
    worker.stem = parent_stem_.empty() ? parent_path_ : parent_stem_;
    worker.path = fmt::format("{}...{} ({} deep, process {})", worker.stem, worker.rank, worker.depth, worker.process);
  }
}

Name Spawn::name_of(const runtime::Worker& worker) const {
  if (parent_path_.empty()) return Name::rank(worker.rank) + suffix_;
  if (worker.stem.empty()) return Name::rank(worker.path) + suffix_;
  return Name::rank(worker.stem) + worker.path.substr(worker.stem.size()) + suffix_;
}

runtime::Worker Spawn::worker(int rank) {
  runtime::Worker worker;
  worker.rank = rank;
  worker.world_size = static_cast<int>(ranks_.size());
  worker.process = ranks_[static_cast<std::size_t>(rank)].process;
  // Ranks of nested spawns share the agents of their numbers; the order of their own fibers is that of their spawning.
  worker.agent = simulation_.machine().host_agent(rank);
  worker.depth = depth_ + 1;
  set_path(worker);
  worker.group = shared_from_this();
  worker.daemon = daemon_;
  return worker;
}

void Spawn::start_rank(int rank, const std::shared_ptr<const Body>& body) {
  const runtime::Worker identity = worker(rank);
  sim::FiberOptions options;
  options.agent = identity.agent;
  options.name = name_of(identity);
  options.stack_bytes = kStackBytes;
  Rank& mine = ranks_[static_cast<std::size_t>(rank)];
  mine.fiber = simulation_.scheduler().spawn(std::move(options), [this, identity, body] { run_rank(identity, *body); });
  ++simulation_.live_ranks;
  mine.fiber->done().on_set(sim::call<&Spawn::rank_over>(this, static_cast<std::uint64_t>(rank)));
}

void Spawn::run_rank(const runtime::Worker& identity, const Body& body) {
  runtime::enter_host_context(simulation_, identity);
  int& exit_code = ranks_[static_cast<std::size_t>(identity.rank)].exit_code;
  try {
    body(identity.rank);
  } catch (const RankExit& exit) {
    exit_code = exit.code;
  }
  if (exit_code == 0) runtime::end_host_context();
}

std::vector<std::int64_t> Spawn::pids() const {
  std::vector<std::int64_t> pids;
  for (const Rank& rank : ranks_) pids.push_back(rank.process);
  return pids;
}

// ---- failure -------------------------------------------------------------------------------------------------------

void Spawn::rank_over(std::uint64_t rank) {
  Rank& mine = ranks_[rank];
  mine.over = true;
  --live_;
  --simulation_.live_ranks;
  const std::exception_ptr error = mine.fiber->take_error();
  const auto number = static_cast<int>(rank);
  // What a rank throws after it has been told to end is a consequence, unless its stack is full. One that has thrown by
  // itself may have waited in a destructor when it was cancelled.
  if (error && (!mine.fiber->was_told() || is<sim::StackOverflowError>(error))) {
    std::erase_if(victims_, [number](const Victim& victim) { return victim.rank == number; });
    add_cause(number, error, mine.fiber->failed_call());
  } else if (error && is<sim::CancellationError>(error)) {
    note_stubborn(number);
  } else if (!error && mine.exit_code != 0 && !mine.fiber->cancelled()) {
    causes_.push_back({number, simulation_.scheduler().now(), kExit, exit_text(number, mine.exit_code), {}, nullptr});
    note_failure();
  }
  change_.notify();
  settle();
}

void Spawn::note_stubborn(int rank) {
  const auto victim = std::ranges::find(victims_, rank, &Victim::rank);
  if (victim != victims_.end()) victim->doing += "; it caught Cancelled again and again, and was left behind";
}

bool Spawn::launch_failed(int rank, const std::exception_ptr& error) {
  if (cancelled()) return true;  // a consequence
  if (ended()) return false;
  add_cause(rank, error, {});
  return true;
}

void Spawn::add_cause(int rank, const std::exception_ptr& error, const sim::ProgramCall& call) {
  ErrorText text = simulation_.describe(error);
  if (const auto nest = nest_of(error); nest && nest->levels > kMostNestedTexts) text.message = nest_text(*nest);
  if (text.where.empty()) text.where = sim::where_text(call);
  causes_.push_back({rank, simulation_.scheduler().now(), std::move(text.type), std::move(text.message),
                     std::move(text.where), error});
  note_failure();
}

// All that fail in this instant are causes, so the others are told when it is over.
void Spawn::note_failure() {
  if (std::exchange(failing_, true) || cancelled()) return;
  simulation_.scheduler().schedule(simulation_.scheduler().now(), sim::Phase::sample, parent_agent_, number(),
                                   sim::call<&Spawn::deliver>(this));
}

void Spawn::deliver(std::uint64_t /*unused*/) {
  if (cancelled()) return settle();  // with those above it
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto number = static_cast<int>(rank);
    const bool cause = std::ranges::find(causes_, number, &RankError::rank) != causes_.end();
    if (!ranks_[rank].over && !cause) victims_.push_back({number, sim::doing(*ranks_[rank].fiber).text()});
  }
  take_back();
}

void Spawn::take_back() {
  const auto keep_alive = self_;
  cancel();
  simulation_.drop_cancelled_commands();
  settle();
}

void Spawn::cancel() {
  mark_cancelled();
  for (const Rank& rank : ranks_) {
    if (!rank.over) rank.fiber->cancel();
  }
  simulation_.machine().cancel(number());
  for (const std::uint64_t scope : scopes()) simulation_.machine().cancel(scope);
  for (const auto& weak : children_) {
    const auto child = weak.lock();
    if (child && !child->ended() && !child->cancelled()) child->cancel();
  }
}

void Spawn::launches_over() {
  settle();
}

void Spawn::work_over() {
  if (cancelled()) settle();
}

void Spawn::settle() {
  if (ended() || live_ > 0 || (failing_ && !cancelled())) return;
  if (!cancelled() && launches() > 0) return;
  if (cancelled()) {
    const auto open = [](const auto& child) { return !child.expired() && !child.lock()->ended(); };
    if (work() > 0 || std::ranges::any_of(children_, open)) return;
  }
  mark_ended();
  change_.notify();
  const auto keep_alive = std::move(self_);
  if (parent_ && parent_->cancelled()) parent_->settle();
}

// ---- joining -------------------------------------------------------------------------------------------------------

bool Spawn::join(std::optional<Time> timeout) {
  const auto over = [this] { return ranks_.size() - live_; };
  if (!ended() && over() == seen_) wait_for_change(timeout);
  if (failing_ || cancelled()) change_.wait_until([this] { return ended(); });
  if (failing_) throw_failure();
  seen_ = over();
  return ended();
}

void Spawn::wait_for_change(std::optional<Time> timeout) {
  auto& scheduler = simulation_.scheduler();
  const std::size_t before = live_;
  const auto changed = [&] { return live_ != before || ended(); };
  if (!timeout) return change_.wait_until(changed);
  const Time cost = simulation_.topology().host.launch_overhead;
  const Time patience = std::max(*timeout, cost);
  const Time until = patience > Time::max() - scheduler.now() ? Time::max() : scheduler.now() + patience;
  const runtime::Worker& caller = runtime::current_context("ProcessContext::join").worker;
  const std::uint64_t key = kTimers + static_cast<std::uint64_t>(caller.process);
  const Timer timer(scheduler, scheduler.schedule(until, sim::Phase::deliver, caller.agent, key,
                                                  sim::call<&Change::notify>(&change_)));
  change_.wait_until([&] { return changed() || scheduler.now() >= until; });
  if (!changed()) sim::this_fiber::note_poll([] { return "asks ProcessContext::join"; });
}

void Spawn::throw_failure() {
  reported_ = true;
  std::vector<RankError> causes = causes_;
  std::ranges::stable_sort(causes, {}, [](const RankError& cause) { return std::tuple(cause.time, cause.rank); });
  const RankError& first = causes.front();
  const Rank& rank = ranks_[static_cast<std::size_t>(first.rank)];
  const bool raised = std::ranges::any_of(causes, [](const RankError& cause) { return cause.error != nullptr; });
  std::vector<int> unwound;
  for (const Victim& victim : victims_) unwound.push_back(victim.rank);
  if (!raised) {
    ProcessExitedException exited(exit_texts(causes), first.rank, rank.process, rank.exit_code);
    exited.errors = std::move(causes);
    exited.victims = std::move(unwound);
    throw exited;
  }
  const std::string text = failure_text(causes, victims_);
  const std::int64_t process = rank.process;
  if (auto nest = nest_around(causes, text)) {
    throw NestedSpawnException(text, process, std::move(causes), std::move(unwound), std::move(*nest));
  }
  throw SpawnException(text, process, std::move(causes), std::move(unwound));
}

void Spawn::join_at_end() {
  if (reported_) return;
  if (daemon_ && live_ > 0 && !failing_) take_back();
  while (!join(std::nullopt)) {
  }
}

}  // namespace kernbench::distributed
