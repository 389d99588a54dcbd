// Making, asking and leaving process groups.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "distributed/algorithm_choice.h"
#include "distributed/communicator.h"
#include "distributed/group.h"
#include "distributed/ranks/pe_of_rank.h"
#include "kernbench/error.h"
#include "runtime/host_wait.h"
#include "runtime/simulation.h"
#include "sim/fiber.h"
#include "tensor/host_call.h"

namespace kernbench::torch::distributed {

using namespace kernbench::distributed;

namespace {

constexpr std::string_view kBackend = "ahbm";

void check_arguments(std::string_view backend, int rank, int world_size) {
  if (!backend.empty() && backend != kBackend) {
    throw ValueError(
        fmt::format("init_process_group: there is no backend \"{}\"; the devices' own is \"{}\"", backend, kBackend));
  }
  if (world_size < 1) {
    throw ValueError(fmt::format("init_process_group: world_size must be at least 1, got {}", world_size));
  }
  if (rank < 0 || rank >= world_size) {
    throw ValueError(
        fmt::format("init_process_group: rank {} is out of range: with a world_size of {} it must be in "
                    "[0, {})",
                    rank, world_size, world_size));
  }
}

/// In a world of more ranks than there are SIPs each rank has a PE for itself: rank r the r-th one of the machine, SIP
/// by SIP, cube by cube, PE by PE. Nothing in a smaller world. A worker keeps its first one, where its tensors lie.
std::optional<PeCoordinate> own_pe(int rank, int world_size, const topology::Topology& topology) {
  const std::int64_t sips = topology.system.sips, pes = topology.pes_per_sip();
  if (world_size <= sips) return std::nullopt;
  if (world_size > sips * pes) {
    throw ConfigurationError(fmt::format(
        "init_process_group: a world_size of {} is more than the machine has PEs ({} SIP{} of {}): a rank "
        "is a SIP, or in a larger world a PE; start fewer ranks, or add SIPs with --set system.sips.count={}",
        world_size, sips, sips == 1 ? "" : "s", pes, (world_size + pes - 1) / pes));
  }
  return pe_of_rank(rank, topology);
}

/// What spawn() has given the worker, if the program gives nothing itself.
int given_or(int given, bool spawned, int of_worker, const char* what, const char* variable) {
  if (given != -1) return given;
  if (spawned) return of_worker;
  throw ValueError(
      fmt::format("init_process_group: Error initializing torch.distributed using env:// rendezvous: environment "
                  "variable {} expected, but not set: give the {}, or call it in a rank of "
                  "torch::multiprocessing::spawn",
                  variable, what));
}

/// The job in which ranks meet under `key`, joined by this rank.
std::shared_ptr<Job> join(runtime::HostContext& context, const std::string& key, int rank, int world_size,
                          const AlgorithmSpec& algorithm, const std::string& algorithm_name) {
  auto& waiting = rendezvous(context).waiting;
  auto& job = waiting[key];
  if (job == nullptr) {
    job = std::make_shared<Job>(context.simulation, fmt::format("init_process_group of {} ranks", world_size),
                                world_size, algorithm, algorithm_name);
    rendezvous(context).add(job);
    rendezvous(context).add(job->world, context.worker);
  }
  const int expected = job->roster->size();
  if (expected != world_size) {
    throw ValueError(fmt::format("init_process_group: rank {} gave a world_size of {}, but a rank before it gave {}",
                                 rank, world_size, expected));
  }
  if (job->world->algorithm() != algorithm) {
    const auto quoted = [](const std::string& name) {
      return name.empty() ? std::string("none") : fmt::format("\"{}\"", name);
    };
    throw ValueError(fmt::format("init_process_group: rank {} gave the algorithm {}, but a rank before it gave {}",
                                 rank, quoted(algorithm_name), quoted(job->algorithm_name)));
  }
  if (job->roster->has(rank)) {
    throw ValueError(
        fmt::format("init_process_group: rank {} is there already; each worker needs a rank of its own", rank));
  }
  job->roster->join(rank, sim::this_fiber::current(), context.device);
  auto mine = job;
  mine->joined.arrive(rank);
  if (mine->joined.complete()) waiting.erase(key);
  return mine;
}

/// All ranks, or the given ones in their order.
std::vector<int> checked_ranks(std::vector<int> ranks, const Group& world) {
  if (ranks.empty()) return world.ranks();
  std::ranges::sort(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= world.size()) {
      throw ValueError(
          fmt::format("new_group: the new group's rank {} should be in the world of {} ranks", ranks[i], world.size()));
    }
    if (i > 0 && ranks[i] == ranks[i - 1]) throw ValueError(fmt::format("new_group: rank {} is given twice", ranks[i]));
  }
  if (ranks.size() > static_cast<std::size_t>(world.size())) {
    throw ValueError("the new group's world size should be less or equal to the world size set by init_process_group");
  }
  return ranks;
}

std::optional<Time> checked_timeout(std::optional<Time> timeout, const char* call) {
  if (timeout && *timeout <= Time::zero()) throw ValueError(fmt::format("{}: the timeout must be more than 0", call));
  return timeout;
}

}  // namespace

void init_process_group(std::string_view backend, int rank, int world_size, const InitOptions& options, Where where) {
  const tensor::HostCall here("init_process_group", where);
  auto& context = runtime::current_context("init_process_group");
  if (context.distributed != nullptr) throw ValueError("trying to initialize the default process group twice!");
  const runtime::Worker& worker = context.worker;
  rank = given_or(rank, worker.world_size > 0, worker.rank, "rank", "RANK");
  world_size = given_or(world_size, worker.world_size > 0, worker.world_size, "world_size", "WORLD_SIZE");
  check_arguments(backend, rank, world_size);
  const auto timeout = checked_timeout(options.timeout, "init_process_group");
  // Workers of different spawns do not meet.
  const std::string key = fmt::format("{} {}", context.worker.owner(), options.init_method);
  const auto pe = own_pe(rank, world_size, context.simulation.topology());
  const auto algorithm = algorithm_of_group(context, options.algorithm, world_size, pe.has_value());
  check_can_run({world_size, pe.has_value(), algorithm, context.simulation.topology()}, "init_process_group");
  const auto job = join(context, key, rank, world_size, algorithm, options.algorithm);
  const auto state = std::make_shared<RankState>(job, rank);
  state->world->timeout = timeout;
  context.distributed = state;
  if (!pe) {
    context.pe.reset();
  } else if (!context.pe) {
    runtime::move_to_pe(context, *pe);
  }
  job->joined.wait();
}

namespace {

/// Waits for what the rank has given to its device in the group.
void finish_work(const GroupHandle& handle) {
  const auto finish = [](const WorkOrder& order) {
    if (order.last) order.last->wait();
  };
  finish(handle.collectives);
  for (const auto& [key, order] : handle.lanes) finish(order);
}

}  // namespace

void destroy_process_group(const ProcessGroup& group, Where where) {
  const tensor::HostCall here("destroy_process_group", where);
  auto& context = runtime::current_context("destroy_process_group");
  GroupHandle& handle = handle_of(group, "destroy_process_group");
  RankState& mine = rank_state("destroy_process_group");
  if (handle.member >= 0) finish_work(handle);
  handle.destroyed = true;
  handle.group->leave(handle.member);
  if (&handle == mine.world.get()) context.distributed.reset();
}

bool is_initialized() {
  return runtime::current_context("is_initialized").distributed != nullptr;
}

int get_rank(const ProcessGroup& group, Where where) {
  const tensor::HostCall here("get_rank", where);
  return handle_of(group, "get_rank").member;
}

int get_world_size(const ProcessGroup& group, Where where) {
  const tensor::HostCall here("get_world_size", where);
  const GroupHandle& handle = handle_of(group, "get_world_size");
  return handle.member < 0 ? -1 : handle.group->size();
}

namespace {

/// What PyTorch tells members only: others have no group there to ask.
const Group& members_group(const ProcessGroup& group, const char* call) {
  const GroupHandle& handle = handle_of(group, call);
  if (handle.member >= 0) return *handle.group;
  throw ValueError(fmt::format("{}: Invalid process group specified: rank {} is not a member of {}", call,
                               handle.global_rank, handle.group->name()));
}

}  // namespace

std::string get_backend(const ProcessGroup& group, Where where) {
  const tensor::HostCall here("get_backend", where);
  members_group(group, "get_backend");
  return std::string(kBackend);
}

int get_global_rank(const ProcessGroup& group, int group_rank, Where where) {
  const tensor::HostCall here("get_global_rank", where);
  const Group& members = members_group(group, "get_global_rank");
  if (group_rank < 0 || group_rank >= members.size()) {
    throw ValueError(
        fmt::format("get_global_rank: {} has no rank {}; it has {} ranks", members.name(), group_rank, members.size()));
  }
  return members.ranks()[static_cast<std::size_t>(group_rank)];
}

std::vector<int> get_process_group_ranks(const ProcessGroup& group, Where where) {
  const tensor::HostCall here("get_process_group_ranks", where);
  return members_group(group, "get_process_group_ranks").ranks();
}

int get_group_rank(const ProcessGroup& group, int global_rank, Where where) {
  const tensor::HostCall here("get_group_rank", where);
  const Group& members = members_group(group, "get_group_rank");
  const int member = members.member(global_rank);
  if (member >= 0) return member;
  throw ValueError(fmt::format("get_group_rank: Global rank {} is not part of {}, whose ranks are {}", global_rank,
                               members.name(), set_text(members.ranks())));
}

ProcessGroup new_group(std::vector<int> ranks, const InitOptions& options, Where where) {
  const tensor::HostCall here("new_group", where);
  RankState& mine = rank_state("new_group");
  auto& context = runtime::current_context("new_group");
  const Group& world = *handle_of({}, "new_group").group;
  ranks = checked_ranks(std::move(ranks), world);
  auto algorithm = options.algorithm.empty() ? world.algorithm() : algorithm_of(context, options.algorithm);
  check_can_run(
      {static_cast<int>(ranks.size()), context.pe.has_value(), algorithm, context.simulation.topology(), ranks},
      "new_group");
  auto& creations = mine.job->creations;
  const std::size_t number = mine.groups_created++;
  if (number == creations.size()) creations.emplace_back(number + 1, mine.job->roster, world.ranks());
  auto group =
      creations[number].call(context, mine.rank, {std::move(ranks), std::move(algorithm), options.algorithm, where});
  const int member = group->member(mine.rank);
  auto handle = std::make_shared<GroupHandle>(GroupHandle{std::move(group), member, mine.rank});
  handle->timeout = options.timeout ? checked_timeout(options.timeout, "new_group") : mine.world->timeout;
  return ProcessGroup(std::move(handle));
}

namespace {

/// Ends a monitored barrier when its time is over; a barrier that is passed needs no timer any more.
class Timer {
 public:
  Timer(sim::Scheduler& scheduler, Time duration, const std::shared_ptr<Group>& group, std::size_t number)
      : fiber_(scheduler.spawn({.agent = sim::this_fiber::current()->agent(), .name = "monitored_barrier"},
                               [duration, group = std::weak_ptr<Group>(group), number] {
                                 sim::this_fiber::sleep(duration);
                                 if (const auto alive = group.lock()) alive->monitored_barrier(number).give_up();
                               })) {}
  ~Timer() { fiber_->cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  std::shared_ptr<sim::Fiber> fiber_;
};

/// In milliseconds, as PyTorch says it, if they are whole ones.
std::string duration_text(Time duration) {
  const std::int64_t millisecond = Time::milliseconds(1).count();
  return duration.count() % millisecond == 0 ? fmt::format("{} ms", duration.count() / millisecond) : to_text(duration);
}

[[noreturn]] void fail(const RankBarrier& barrier, const Group& group, int rank, Time timeout, bool all) {
  const int root = group.ranks().front();
  if (rank != root && (barrier.has(root) || barrier.has(rank) == false)) {
    throw ProgramError(
        "DistributedError",
        fmt::format("[Rank {}]: Rank {} successfully reached monitoredBarrier, but received errors while "
                    "waiting for send/recv from rank {}. Please check rank {} logs for faulty rank.",
                    rank, rank, root, root));
  }
  std::vector<int> missing = barrier.missing();
  if (!all) missing.resize(1);
  throw ProgramError("DistributedError", fmt::format("[Rank {}]: Rank{} {} failed to pass monitoredBarrier in {}", rank,
                                                     all ? "s" : "", fmt::join(missing, ", "), duration_text(timeout)));
}

}  // namespace

void monitored_barrier(const ProcessGroup& group, Time timeout, bool wait_all_ranks, Where where) {
  const tensor::HostCall here("monitored_barrier", where);
  GroupHandle* handle = member_handle(group, "monitored_barrier");
  if (handle == nullptr) return;
  auto& context = runtime::current_context("monitored_barrier");
  handle->group->check_usable(context, "monitored_barrier");
  if (timeout <= Time::zero()) throw ValueError("monitored_barrier: the timeout must be more than 0");
  const std::size_t number = handle->monitored_barriers++;
  RankBarrier& barrier = handle->group->monitored_barrier(number);
  const auto& ranks = handle->group->ranks();
  const bool first = barrier.missing().size() == ranks.size();
  const bool too_late = barrier.complete();
  if (!too_late) barrier.arrive(handle->global_rank);
  if (!barrier.complete()) {
    std::optional<Timer> timer;
    if (first) timer.emplace(sim::this_fiber::scheduler(), timeout, handle->group, number);
    runtime::host_wait(context, runtime::WaitFor::ranks, [&] { barrier.wait(); });
  }
  if (!barrier.missing().empty()) fail(barrier, *handle->group, handle->global_rank, timeout, wait_all_ranks);
}

}  // namespace kernbench::torch::distributed
