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
#include "runtime/host_wait.h"
#include "runtime/observe/device_activity.h"
#include "runtime/observe/launch_log.h"
#include "runtime/observe/region_recorder.h"
#include "runtime/streams/capture.h"
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

/// What is known of a launch between its being given and its completion.
struct UnderWay {
  std::weak_ptr<Stream> stream = {};
  Stream::Given given = {};
  HeldUp held_up = {};
  DeviceActivity::Kernel* kernel = nullptr;  // null: it has not begun
};

/// Whose launch it is.
struct Sending {
  Simulation& simulation;
  Name name;
  std::shared_ptr<WorkerGroup> group;  // null: the main program's
  int rank = 0;
  std::uint64_t owner = 0;  // for the machine
  std::source_location where = {};
  CommandScopeRef scope = {};  // null: none
  std::weak_ptr<Stream> stream = {};
  std::uint64_t queue = 0;                // of the device
  std::shared_ptr<OpenRange> range = {};  // in which it was given
  std::shared_ptr<bool> in_region = std::make_shared<bool>(false);
  std::shared_ptr<UnderWay> under_way = std::make_shared<UnderWay>();
  std::shared_ptr<bool> failed = std::make_shared<bool>(false);  // the main program has been told
  /// Whether it counts no more.
  bool cancelled() const { return (group && group->cancelled()) || taken_back(); }
  bool taken_back() const { return scope && scope->taken_back(); }
};

/// Collectives and messages have an explanation of their own.
bool communicates(const LaunchPlan& plan) {
  return static_cast<bool>(plan.explain);
}

double gemm_operations(const tile::LaunchRecord& record) {
  double operations = 0;
  for (const auto& type : record.work.gemm) operations += type.operations;
  return operations;
}

/// Takes back the launch, and what stands behind it in its stream.
void take_back(const Sending& sending) {
  hardware::Machine& machine = sending.simulation.machine();
  machine.cancel(sending.owner);
  const auto stream = sending.stream.lock();
  if (!stream) return;
  for (const std::uint64_t owner : stream->drop_behind(sending.owner)) machine.cancel(owner);
}

/// An error of a launch is its rank's, or the main program's, which gets it at its next wait. False: nobody is left who
/// could take it.
bool take_failure(const Sending& sending, const std::exception_ptr& error) {
  if (sending.taken_back()) return true;  // a consequence
  if (sending.group) return sending.group->launch_failed(sending.rank, error);
  if (std::exchange(*sending.failed, true)) return true;  // the first one stands for the launch
  const auto main = sending.simulation.main_worker.lock();
  if (!main || !main->raise(error)) return false;
  take_back(sending);
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

/// The device begins with it.
void has_begun(Simulation& simulation, UnderWay& launch, int device, DeviceActivity::Kernel& kernel) {
  launch.kernel = &kernel;
  if (const auto stream = launch.stream.lock()) launch.held_up = stream->held_up(launch.given);
  GivenBy by = given_by_now();
  by.channels = launch.held_up.reason == "channels";
  const IdleBefore idle = simulation.activity.begin_launch(device, kernel, by, simulation.scheduler().now());
  // The stream knows the lines of what the host did not give.
  if (is_of_host(idle.reason) && idle.time > launch.held_up.time) {
    launch.held_up = {name(idle.reason), idle.time, idle.call.name, idle.call.where, {}, {}};
  }
}

using GroupLaunchRef = std::shared_ptr<const GroupLaunch>;

/// What counts as a launch of the worker's group, if it has one.
GroupLaunchRef group_launch(const Sending& sending) {
  return sending.group ? std::make_shared<const GroupLaunch>(sending.group) : nullptr;
}

/// The launch as the machine gets it. `of_group` and `keep` live until it has completed.
tile::KernelLaunch kernel_launch(const Sending& sending, LaunchPlan plan, Stream::Done done,
                                 const GroupLaunchRef& of_group, std::shared_ptr<void> keep) {
  tile::KernelLaunch launch;
  launch.sip = SipId{plan.device};
  launch.name = sending.name;
  launch.pes = plan.pes;
  launch.grid = plan.grid.value_or(tile::ProgramGrid{{static_cast<std::int64_t>(plan.pes.size()), 1, 1}});
  launch.queues = plan.queues ? plan.queues->table() : nullptr;
  launch.body = std::move(plan.body);
  launch.begins = [&simulation = sending.simulation, under_way = sending.under_way, device = plan.device,
                   &kernel = sending.simulation.activity.kernel(plan.device, plan.name, sending.where),
                   begins = std::move(plan.begins)] {
    has_begun(simulation, *under_way, device, kernel);
    if (begins) begins();
  };
  launch.owner = sending.owner;
  launch.without_effect = CommandScope::taken_back_of(sending.scope);
  launch.queue = sending.queue;
  if (!plan.users) launch.called_at = sending.where;
  launch.failed = [sending](const std::exception_ptr& error) { return take_failure(sending, error); };
  launch.completed = [sending, of_group, plan = std::move(plan), done = std::move(done), keep = std::move(keep)](
                         const hardware::LaunchTimes& times, const tile::LaunchRecord& record) mutable {
    Simulation& simulation = sending.simulation;
    simulation.log().add_time(times.requested);
    simulation.log().add_time(times.completed);
    if (auto* const kernel = sending.under_way->kernel) {
      simulation.activity.end_launch(plan.device, *kernel, simulation.scheduler().now());
    }
    if (sending.range) sending.range->launch_ends(communicates(plan), gemm_operations(record), record.hbm_bytes);
    if (!times.cut && !times.follows) {
      const CompletedLaunch finished{
          plan, times, record, sending.where, *sending.in_region, sending.under_way->held_up};
      simulation.launches.add(finished, simulation.machine(), simulation.environment().explainer);
      simulation.slice_hints.add(finished, simulation.memory());
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
  return launch;
}

/// Sends the launch on its way. `keep` lives until it has completed.
std::shared_ptr<const sim::WaitNode> start(const Sending& sending, LaunchPlan plan, Stream::Done done,
                                           std::shared_ptr<void> keep) {
  const auto of_group = group_launch(sending);
  auto node = tile::start(sending.simulation.environment(),
                          kernel_launch(sending, std::move(plan), std::move(done), of_group, std::move(keep)));
  if (of_group) of_group->is(node);
  return node;
}

Begun begin_launch(const Sending& sending, LaunchPlan plan, Stream::Done done) {
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
  if (!queues || queues->is_installed()) return {start(sending, std::move(plan), std::move(done), nullptr), true};
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

/// The launches of a replay that are under way: what somebody waits for that waits for the replay.
class ReplayNode final : public sim::WaitNode {
 public:
  explicit ReplayNode(Name name) : name_(std::move(name)) {}
  void wait_for(std::vector<std::shared_ptr<const sim::WaitNode>> launches) {
    launches_.assign(launches.begin(), launches.end());
  }
  Name wait_name() const override { return name_; }
  void waits_for(std::vector<sim::WaitEdge>& edges) const override {
    for (const auto& each : launches_) {
      if (const auto launch = each.lock()) edges.push_back({launch.get(), "its completion"});
    }
  }

 private:
  Name name_;
  std::vector<std::weak_ptr<const sim::WaitNode>> launches_;
};

/// Gives all launches of a graph to the machine as one command; `names` are theirs in this replay.
Begun begin_replay(const Sending& sending, const CapturedGraphRef& graph, const std::vector<Name>& names,
                   Stream::Done done) {
  const auto node = std::make_shared<ReplayNode>("replay of " + graph->name);
  const auto of_group = group_launch(sending);
  const auto one_over = [open = std::make_shared<std::size_t>(names.size()), done = std::move(done)] {
    if (--*open == 0) done();
  };
  std::vector<tile::KernelLaunch> launches;
  std::vector<std::vector<std::size_t>> after;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const GraphLaunch& captured = graph->launches[i];
    Sending one = sending;
    one.name = names[i];
    one.where = captured.where;
    one.under_way = std::make_shared<UnderWay>(*sending.under_way);
    if (!captured.after.empty()) {
      one.under_way->given.before = "launch " + names[captured.after.back()];
      one.under_way->given.before_where = graph->launches[captured.after.back()].where;
    }
    LaunchPlan plan = captured.plan;
    if (sending.range) plan.range = sending.range->name;
    launches.push_back(kernel_launch(one, std::move(plan), one_over, of_group, node));
    after.push_back(captured.after);
  }
  const auto nodes = tile::start(sending.simulation.environment(), std::move(launches), std::move(after));
  if (of_group) {
    for (const auto& each : nodes) of_group->is(each);
  }
  node->wait_for(nodes);
  return {node, true};
}

/// A place in the device's queue; the worker waits while the launches of the stream take all of them.
CommandPlace take_place(HostContext& context, Stream& stream) {
  CommandPlaces& places = stream.places();
  if (!places.full()) return places.take();
  sim::Scheduler& scheduler = context.simulation.scheduler();
  const Time begun = scheduler.now();
  CommandPlace place;
  host_wait(context, WaitFor::device, [&] { place = places.take(); });
  context.simulation.host_waits.add(sim::place_text(sim::this_fiber::current()->call().where), stream.name(),
                                    scheduler.now() - begun);
  return place;
}

/// Channels of its own are there when the launches before it have left them.
std::function<bool()> may_go_ahead(const LaunchPlan& plan) {
  if (wants_queues(plan.queue_options)) return [] { return false; };
  if (plan.turn) return plan.turn_is_free;
  if (plan.queues) return [queues = plan.queues] { return queues->is_installed(); };
  return [] { return true; };
}

}  // namespace

namespace {

/// A command that sends launches, in the worker's current stream.
struct LaunchCommandOf {
  Sending sending;
  LaunchCommand command;
  Stream& stream;
};

/// `launches` begin with the command, in the worker's current range.
LaunchCommandOf launch_command(HostContext& context, int device, Name name, std::size_t launches, bool communicates) {
  Simulation& simulation = context.simulation;
  const Worker& worker = context.worker;
  Stream& stream = current_stream("launch", device);
  LaunchCommand command;
  command.place = take_place(context, stream);
  const std::source_location where = sim::this_fiber::current()->call().where;
  Sending sending{simulation, std::move(name), worker.group, worker.rank, 0, where, context.scope};
  sending.owner = worker.group ? worker.owner() : simulation.next_main_launch();
  if (context.scope) sending.owner = context.scope->number();
  sending.stream = stream.weak_from_this();
  sending.queue = stream.number();
  *sending.under_way = {stream.weak_from_this(), stream.give(), {}, nullptr};
  command.owner = sending.owner;
  sending.range = current_range(context);
  command.is_first = [&simulation, range = sending.range, launches, communicates, in_region = sending.in_region] {
    *in_region = simulation.is_in_region();
    for (std::size_t i = 0; range && i < launches; ++i) range->launch_begins(communicates);
  };
  return {std::move(sending), std::move(command), stream};
}

/// Keeps the launch for the graph that the worker captures, in no time.
void capture_launch(Capture& capture, HostContext& context, LaunchPlan plan) {
  if (plan.queues || plan.turn || plan.late_queues || wants_queues(plan.queue_options)) {
    refuse_while_capturing(
        context, "launch " + plan.name,
        "a launch with channels of its own is installed anew each time and cannot be replayed; launch "
        "it outside of the graph");
  }
  plan.available_pes = context.pe ? 1 : context.simulation.topology().pes_per_sip();
  const Stream& stream = current_stream("launch", plan.device);
  capture.add(stream, std::move(plan), sim::this_fiber::current()->call().where);
}

}  // namespace

CompletionRef enqueue_launch(Simulation& simulation, LaunchPlan plan) {
  HostContext& context = current_context("launch");
  if (Capture* capture = capture_on_current_stream(context, plan.device)) {
    capture_launch(*capture, context, std::move(plan));
    return nullptr;
  }
  note_work(context);
  ++context.launches;
  sim::this_fiber::sleep(simulation.topology().host.launch_overhead);
  if (const auto range = current_range(context)) plan.range = range->name;
  plan.available_pes = context.pe ? 1 : simulation.topology().pes_per_sip();
  const Name name = simulation.unique_name(plan.name, context.worker.path);
  LaunchCommandOf given = launch_command(context, plan.device, name, 1, communicates(plan));
  given.command.may_go_ahead = may_go_ahead(plan);
  if (plan.turn)
    given.stream.enqueue_turn(std::exchange(plan.turn, nullptr), plan.turn_is_free, "turn of launch " + name);
  const auto written = plan.written;
  auto begin = [sending = std::move(given.sending), plan = std::move(plan)](Stream::Done done) mutable {
    const auto explain = plan.explain;
    auto begun = begin_launch(sending, std::move(plan), std::move(done));
    if (explain) begun.node = explain(begun.node);
    return begun;
  };
  auto completion = given.stream.enqueue_launch("launch " + name, std::move(given.command), std::move(begin));
  for (const auto& storage : written) storage->add_producer(completion);
  return completion;
}

Replay enqueue_replay(Simulation& simulation, const CapturedGraphRef& graph, const Replay& before) {
  if (graph->launches.empty()) return {};
  HostContext& context = current_context("Graph::replay");
  note_work(context);
  context.launches += static_cast<std::int64_t>(graph->launches.size());
  sim::this_fiber::sleep(simulation.topology().host.launch_overhead);
  std::vector<Name> names;
  for (const GraphLaunch& launch : graph->launches) {
    names.push_back(simulation.unique_name(launch.plan.name, context.worker.path));
  }
  LaunchCommandOf given = launch_command(context, graph->device, "replay of " + graph->name, names.size(), false);
  given.command.may_go_ahead = [] { return true; };
  // A stream keeps its order by itself.
  if (before.completion && before.stream != &given.stream) given.stream.enqueue_wait(before.completion);
  auto begin = [sending = std::move(given.sending), graph, names = std::move(names)](Stream::Done done) {
    return begin_replay(sending, graph, names, std::move(done));
  };
  const auto completion =
      given.stream.enqueue_launch("replay of " + graph->name, std::move(given.command), std::move(begin));
  for (const GraphLaunch& launch : graph->launches) {
    for (const auto& storage : launch.plan.written) storage->add_producer(completion);
  }
  return {&given.stream, completion};
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
