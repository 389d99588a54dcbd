#include "runtime/streams/launches.h"

#include <exception>
#include <memory>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "hardware/ipcq/ipcq.h"
#include "kernbench/error.h"
#include "runtime/context.h"
#include "runtime/observe/launch_log.h"
#include "runtime/streams/polling.h"
#include "sim/fiber.h"
#include "tile/program/launch.h"

namespace kernbench::runtime {

bool wants_queues(const QueueOptions& options) {
  return options.topology != QueueTopology::none || !options.pairs.empty() || options.window;
}

namespace {

/// A launch whose programs wait for their channels: what somebody waits for that waits for the launch.
class PendingLaunch final : public sim::WaitNode {
 public:
  using Start = std::function<std::shared_ptr<const sim::WaitNode>(std::shared_ptr<PendingLaunch>)>;
  PendingLaunch(Name name, std::shared_ptr<QueueSet> queues, Start start)
      : name_(std::move(name)), queues_(std::move(queues)), start_(std::move(start)) {}

  static void begin(const std::shared_ptr<PendingLaunch>& self) {
    self->queues_.reset();
    self->launch_ = std::exchange(self->start_, nullptr)(self);
  }
  Name wait_name() const override { return "launch " + name_; }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override {
    if (queues_) return edges.push_back({&queues_->installed(), "its channels"});
    if (const auto launch = launch_.lock()) launch->waits_for(edges);
  }

 private:
  Name name_;
  std::shared_ptr<QueueSet> queues_;  // until they are installed
  Start start_;
  std::weak_ptr<const sim::WaitNode> launch_;
};

/// Whose launch it is.
struct Sending {
  Simulation& simulation;
  Name name;
  std::shared_ptr<WorkerGroup> group;  // null: the main program's
  int rank = 0;
  std::uint64_t owner = 0;  // for the machine
  std::source_location where = {};
  CommandScopeRef scope = {};                                    // null: none
  std::shared_ptr<bool> failed = std::make_shared<bool>(false);  // the main program has been told
  /// Whether it counts no more.
  bool cancelled() const { return (group && group->cancelled()) || taken_back(); }
  bool taken_back() const { return scope && scope->taken_back(); }
};

/// An error of a launch is its rank's, or the main program's, which gets it at its next wait. False: nobody is left who
/// could take it.
bool take_failure(const Sending& sending, const std::exception_ptr& error) {
  if (sending.taken_back()) return true;  // a consequence
  if (sending.group) return sending.group->launch_failed(sending.rank, error);
  if (std::exchange(*sending.failed, true)) return true;  // the first one stands for the launch
  const auto main = sending.simulation.main_worker.lock();
  if (!main || !main->raise(error)) return false;
  sending.simulation.machine().cancel(sending.owner);
  return true;
}

/// An error in an event, where no fiber is that could throw it.
void fail(const Sending& sending, const std::exception_ptr& error) {
  if (!take_failure(sending, error)) std::rethrow_exception(error);
}

/// A launch is over. The channels of one that was cut short, or that forgot messages, hold what nobody will receive.
void leave_queues(Simulation& simulation, LaunchPlan& plan, bool cut) {
  const auto queues = std::exchange(plan.queues, nullptr);  // the next launch may want its entries
  if (!queues || !wants_queues(plan.queue_options)) return;
  if (cut) return simulation.launch_queues().remove(queues);
  try {
    queues->table()->check_all_received();
  } catch (const ProgramError&) {
    simulation.launch_queues().remove(queues);
    throw;
  }
}

/// Sends the launch on its way. `keep` lives until it has completed.
std::shared_ptr<const sim::WaitNode> start(const Sending& sending, LaunchPlan plan, Stream::Done done,
                                           std::shared_ptr<void> keep) {
  tile::KernelLaunch launch;
  launch.sip = SipId{plan.device};
  launch.name = sending.name;
  launch.pes = plan.pes;
  launch.grid = plan.grid.value_or(tile::ProgramGrid{{static_cast<std::int64_t>(plan.pes.size()), 1, 1}});
  launch.queues = plan.queues ? plan.queues->table() : nullptr;
  launch.body = std::move(plan.body);
  launch.owner = sending.owner;
  if (!plan.users) launch.called_at = sending.where;
  launch.failed = [sending](const std::exception_ptr& error) { return take_failure(sending, error); };
  const bool in_region = sending.simulation.region()->is_open() || sending.simulation.options().whole_run;
  const auto of_group = sending.group ? std::make_shared<const GroupLaunch>(sending.group) : nullptr;
  launch.completed = [sending, of_group, in_region, plan = std::move(plan), done = std::move(done),
                      keep = std::move(keep)](const hardware::LaunchTimes& times,
                                              const tile::LaunchRecord& record) mutable {
    Simulation& simulation = sending.simulation;
    simulation.log().add_time(times.requested);
    simulation.log().add_time(times.completed);
    if (!times.cut) {
      const CompletedLaunch finished{plan, times, record, sending.where, in_region};
      simulation.launches.add(finished, simulation.machine(), simulation.environment().explainer);
      simulation.log().on_launch(record.name, finished);
      if (!plan.range.empty()) simulation.region()->add_launch(plan.range, times.completed - times.requested);
    }
    try {
      leave_queues(simulation, plan, times.cut);
    } catch (const ProgramError&) {
      fail(sending, std::current_exception());
    }
    if (wants_queues(plan.queue_options)) simulation.launch_queues().set_left();
    done();
  };
  auto node = tile::start(sending.simulation.environment(), std::move(launch));
  if (of_group) of_group->is(node);
  return node;
}

std::shared_ptr<const sim::WaitNode> begin_launch(const Sending& sending, LaunchPlan plan, Stream::Done done) {
  if (wants_queues(plan.queue_options)) {
    try {
      plan.queues = sending.simulation.launch_queues().acquire("launch " + sending.name, plan.pes, plan.queue_options);
    } catch (const ProgramError&) {
      fail(sending, std::current_exception());
      done();
      return nullptr;
    }
  }
  if (plan.late_queues) {
    try {
      plan.queues = std::exchange(plan.late_queues, nullptr)();
    } catch (const ProgramError&) {
      fail(sending, std::current_exception());
      done();
      return nullptr;
    }
  }
  const auto queues = plan.queues;
  if (!queues || queues->is_installed()) return start(sending, std::move(plan), std::move(done), nullptr);
  // Shared, because a function object must be copyable.
  auto waiting = std::make_shared<LaunchPlan>(std::move(plan));
  auto pending = std::make_shared<PendingLaunch>(
      sending.name, queues, [sending, waiting, done = std::move(done)](std::shared_ptr<PendingLaunch> self) {
        if (sending.cancelled()) {
          done();
          return std::shared_ptr<const sim::WaitNode>();
        }
        return start(sending, std::move(*waiting), done, std::move(self));
      });
  queues->when_installed([pending] { PendingLaunch::begin(pending); });
  return pending;
}

}  // namespace

CompletionRef enqueue_launch(Simulation& simulation, LaunchPlan plan) {
  note_work(current_context("launch"));
  sim::this_fiber::sleep(simulation.topology().host.launch_overhead);
  HostContext& context = current_context("launch");
  plan.range = current_range(context);
  plan.available_pes = context.pe ? 1 : simulation.topology().pes_per_sip();
  const Worker& worker = context.worker;
  const Name name = simulation.unique_name(plan.name, worker.path);
  const std::source_location where = sim::this_fiber::current()->call().where;
  if (plan.turn)
    current_stream("launch", plan.device).enqueue_wait(std::exchange(plan.turn, nullptr), "turn of launch " + name);
  const auto written = plan.written;
  const int device = plan.device;
  const std::uint64_t owner = worker.group ? worker.owner() : simulation.next_main_launch();
  auto begin = [sending = Sending{simulation, name, worker.group, worker.rank,
                                  context.scope ? context.scope->number() : owner, where, context.scope},
                plan = std::move(plan)](Stream::Done done) mutable {
    const auto explain = plan.explain;
    const auto node = begin_launch(sending, std::move(plan), std::move(done));
    return explain ? explain(node) : node;
  };
  auto completion = current_stream("launch", device).enqueue("launch " + name, std::move(begin));
  for (const auto& storage : written) storage->add_producer(completion);
  return completion;
}

void check_queues(const LaunchPlan& plan, const topology::Topology& topology) {
  if (!wants_queues(plan.queue_options)) return;
  const QueueOptions& options = plan.queue_options;
  hardware::check_parameters(options.parameters, topology);
  if (options.window) hardware::check_window(*options.window, options.parameters, topology);
  (void)tile::QueueTable(plan.pes, plan.queue_options, topology);
}

std::vector<PeCoordinate> shard_owners(const std::vector<SimulatedStorageRef>& storages) {
  std::set<PeCoordinate> owners;
  for (const auto& storage : storages) {
    for (const auto& shard : storage->descriptor()->shards) owners.insert(shard.owner);
  }
  return {owners.begin(), owners.end()};
}

}  // namespace kernbench::runtime
