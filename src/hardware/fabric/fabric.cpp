#include "hardware/fabric/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>

#include "base/text.h"
#include "hardware/fabric/coalescer.h"
#include "hardware/fabric/exact_engine.h"
#include "hardware/fabric/skipper.h"
#include "hardware/fabric/transfer.h"
#include "sim/errors.h"

namespace kernbench::hardware {

using fabric::Server;
using fabric::Transfer;
using fabric::TransferSlot;

struct Fabric::Implementation {
  Implementation(sim::Scheduler& scheduler, FabricOptions fabric_options)
      : options(fabric_options),
        state(scheduler, fabric_options.observer),
        engine(state, fabric_options.exact_events),
        coalescer(state, engine),
        skipper(state, engine, coalescer, fabric_options.exact_events) {
    state.on_delivered = sim::call<&Implementation::deliver>(this);
    state.on_received = sim::call<&Implementation::receive>(this);
  }

  void deliver(std::uint64_t slot);
  void receive(std::uint64_t slot_and_receiver);
  void end(TransferSlot slot);

  FabricOptions options;
  fabric::FabricState state;
  fabric::ExactEngine engine;
  fabric::Coalescer coalescer;
  fabric::Skipper skipper;
};

/// Calls `visit(server index, side from which the transfer comes there)` for each stage on the route of a transfer, and
/// `visit_member(server index)` for the further servers of a group.
template <class Visit, class VisitMember>
static void for_each_server(const Transfer& transfer, Visit visit, VisitMember visit_member) {
  const std::span<const Stage> route = transfer.request.route;
  std::uint64_t side = fabric::kBeginsHere;
  for (std::size_t stage = 0; stage < route.size(); ++stage) {
    const Stage& at = route[stage];
    const bool last = stage + 1 == route.size();
    visit(at.server.value, transfer.is_tree() ? fabric::kInTree : fabric::side_of(side, at));
    for (std::uint32_t member = 1; member < at.group; ++member) visit_member(at.server.value + member);
    if (last) break;
    side = stage == 0 && transfer.has_response_buffer()
               ? fabric::responses_of(at.server.value)
               : fabric::queue_port(at.server.value, fabric::buffer_index(route, stage));
  }
}

void Fabric::Implementation::deliver(std::uint64_t argument) {
  const auto slot = static_cast<TransferSlot>(argument);
  Transfer& transfer = state.transfer(slot);
  if (transfer.coalesced) coalescer.finish(slot);
  const sim::Callback delivered = transfer.request.delivered;
  end(slot);
  if (delivered.function != nullptr) delivered.function(delivered.object, delivered.argument);
}

void Fabric::Implementation::receive(std::uint64_t argument) {
  const auto slot = static_cast<TransferSlot>(argument);
  Transfer& transfer = state.transfer(slot);
  const sim::Callback delivered = transfer.request.receivers[argument >> fabric::FabricState::kReceiverShift].delivered;
  if (--transfer.open_receivers == 0) end(slot);
  if (delivered.function != nullptr) delivered.function(delivered.object, delivered.argument);
}

void Fabric::Implementation::end(TransferSlot slot) {
  const Transfer& transfer = state.transfer(slot);
  for_each_server(
      transfer, [&](std::uint32_t server, std::uint64_t side) { state.servers[server].leave(side); },
      [&](std::uint32_t server) { --state.servers[server].users; });
  state.scheduler.end_work(transfer.origin);
  state.remove_transfer(slot);
}

Fabric::Fabric(sim::Scheduler& scheduler, FabricOptions options)
    : implementation_(std::make_unique<Implementation>(scheduler, options)) {}

Fabric::~Fabric() = default;

void Fabric::reserve(std::size_t servers) {
  implementation_->state.servers.reserve(servers);
  implementation_->state.channels.reserve(servers);
}

ServerId Fabric::add_server(ServerSpec spec) {
  assert(spec.bandwidth.count() > 0 && spec.buffer > Bytes(0));
  std::vector<Server>& servers = implementation_->state.servers;
  implementation_->state.channels.emplace_back(spec);
  servers.emplace_back(std::move(spec));
  return ServerId{static_cast<std::uint32_t>(servers.size() - 1)};
}

std::size_t Fabric::server_count() const {
  return implementation_->state.servers.size();
}

const ServerSpec& Fabric::spec(ServerId server) const {
  return implementation_->state.servers[server.value].spec;
}

ServerCounters Fabric::counters(ServerId server) const {
  const fabric::FabricState& state = implementation_->state;
  const Server& at = state.servers[server.value];
  const Time now = state.scheduler.now();
  const fabric::Channel& channel = state.channels[server.value];
  ServerCounters total = implementation_->engine.plain_work_before_now(server.value);
  fabric::add(total, fabric::work_before(now, channel));
  if (at.plan != fabric::kNoTransfer) fabric::add(total, implementation_->coalescer.work_before_now(server.value));
  return total;
}

/// Remembers which ports the responses of a memory go to.
static void note_port(fabric::FabricState& state, std::span<const Stage> route) {
  Server& memory = state.servers[route[0].server.value];
  memory.group = route[0].group;
  const std::uint32_t port = route[1].server.value;
  if (std::ranges::find(memory.ports, port) == memory.ports.end()) memory.ports.push_back(port);
}

static std::string seconds_text(double picoseconds) {
  return fmt::format("{:.3g} s", picoseconds * 1e-12);
}

/// The longest that the rows of a transfer occupy a server, or one of `group` interleaved ones, in picoseconds.
static double longest_occupied(const ServerSpec& spec, std::uint16_t group, const TransferRequest& request) {
  double picoseconds = 0;
  for (const StridedRange& range : request.ranges.view()) {
    const auto row = static_cast<double>(range.row_bytes.count());
    // Of each `group` consecutive granules every server has one; rows may all begin on the same one.
    const double bytes = std::min(row, row / group + 2 * static_cast<double>(request.granule.count()));
    // A row has parts in granules and bursts; those at its ends are shorter than the access or packet that carries
    // them.
    const double parts =
        2 + bytes / static_cast<double>(request.granule.count()) + bytes / static_cast<double>(request.burst.count());
    const double packets =
        spec.packets.payload == Bytes(0) ? 0 : bytes / static_cast<double>(spec.packets.payload.count());
    const double on_wire = bytes + parts * static_cast<double>(spec.minimum.count()) +
                           (parts + packets) * static_cast<double>(spec.packets.overhead.count());
    picoseconds +=
        static_cast<double>(range.rows) * (on_wire * 1e12 / static_cast<double>(spec.bandwidth.count()) + parts);
  }
  return picoseconds;
}

/// Refuses a transfer that may take so long that times would no longer be exact.
static void check_duration(const fabric::FabricState& state, const Transfer& transfer) {
  const Time now = state.scheduler.now();
  double end = static_cast<double>(now.count()), longest = 0;
  const ServerSpec* slowest = nullptr;
  for (const Stage& stage : transfer.request.route) {
    const Server& at = state.servers[stage.server.value];
    const double occupied = longest_occupied(at.spec, stage.group, transfer.request);
    const Time behind = std::max(at.free_at, now) - now;
    end += occupied + static_cast<double>(behind.count()) + static_cast<double>(at.latency.count());
    if (occupied < longest) continue;
    longest = occupied;
    slowest = &at.spec;
  }
  if (end < static_cast<double>(Time::limit().count())) return;
  sim::raise_too_long("moving " + to_text(transfer.request.ranges.total()) + " over " + slowest->name + " at " +
                      to_text(slowest->bandwidth) + " may take " + seconds_text(longest) + " from " + to_text(now) +
                      " on");
}

void Fabric::start(const TransferRequest& request) {
  fabric::FabricState& state = implementation_->state;
  assert(!request.route.empty());
  if (state.watching) [[unlikely]] {
    const bool own = request.agent == state.watched && request.operation >= state.first_watched &&
                     request.operation < state.end_watched;
    if (!own) ++state.disturbances;
  }
  const TransferSlot slot = state.add_transfer();
  Transfer& transfer = state.transfer(slot);
  transfer.request = request;
  transfer.origin = state.scheduler.begin_work();
  transfer.start = state.scheduler.now();
  transfer.coalesced = transfer.own_laws = false;
  transfer.departed_event = transfer.delivered_event = sim::EventHandle{};

  if (TransferLog* const log = transfer.request.log) {
    log->hops.clear();
    log->hops.reserve(transfer.request.route.size());
    for (const Stage& stage : transfer.request.route) log->hops.push_back({stage.server, stage.group, {}, {}, {}});
  }
  assert(request.tree.empty() || (request.tree.size() == request.route.size() && !request.receivers.empty()));
  const Bytes total = transfer.request.ranges.total();
  if (total == Bytes(0) && !transfer.is_tree()) {
    transfer.request.route = {};
    transfer.departed = transfer.delivered = transfer.start;
    state.schedule_departed(transfer);
    state.schedule_delivered(transfer, slot);
    return;
  }

  bool alone = true, remarkable = false;
  const auto bytes = static_cast<double>(total.count());
  const auto come_to = [&](std::uint32_t server, bool between) {
    Server& at = state.servers[server];
    if (at.plan != fabric::kNoTransfer) implementation_->coalescer.dissolve(at.plan);
    if (at.users > 0) alone = false;  // also when the route comes by twice
    if (between && at.fed_by != nullptr && at.only_through_entry()) implementation_->engine.take_back(server);
    transfer.own_laws |= at.own_law;
    remarkable |= bytes > at.unremarkable_bytes;
  };
  for_each_server(
      transfer,
      [&](std::uint32_t server, std::uint64_t side) {
        come_to(server, side != state.servers[server].entry || fabric::is_responses(side));
        state.servers[server].enter(side);
      },
      [&](std::uint32_t server) {
        come_to(server, true);
        ++state.servers[server].users;  // from no side: what comes there otherwise has it not for itself
      });
  if (remarkable) [[unlikely]]
    check_duration(state, transfer);
  if (transfer.request.log != nullptr) {
    transfer.watches.clear();
    for (const Stage& stage : request.route) {
      transfer.watches.push_back({state.servers[stage.server.value].room_waits, false, {}, {}});
    }
  }
  if (transfer.has_response_buffer() && !transfer.is_tree()) note_port(state, transfer.request.route);
  const bool exact = implementation_->options.exact_events || state.observer != nullptr || transfer.is_tree();
  if (alone && !transfer.own_laws && !exact) {
    implementation_->coalescer.start(slot);
  } else {
    implementation_->engine.start(slot);
  }
}

fabric::Skipper& Fabric::skipper() {
  return implementation_->skipper;
}

std::size_t Fabric::in_flight() const {
  return implementation_->state.in_flight();
}

bool Fabric::idle() const {
  const fabric::FabricState& state = implementation_->state;
  if (state.in_flight() > 0) return false;
  return std::ranges::all_of(state.servers, [](const Server& server) {
    return server.arbiter.empty() && std::ranges::all_of(server.buffers, [&](const auto& buffer) {
             return buffer == nullptr || (buffer->queue.empty() && buffer->room.untaken());
           });
  });
}

}  // namespace kernbench::hardware
