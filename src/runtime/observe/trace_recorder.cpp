#include "runtime/observe/trace_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "hardware/pe/command_queue.h"
#include "tile/program/program.h"
#include "tile/program/program_step.h"

namespace kernbench::runtime {
namespace {

using hardware::AgentKind;
using hardware::EngineKind;
using trace::Arguments;
using trace::Verbatim;

// Siblings: control contexts, engines, then servers in their own order.
constexpr std::int32_t kEngineRank = 1 << 8, kServerRank = 1 << 16, kProcessorRank = 0;
constexpr std::int32_t kMostLanes = 1 << 8;  // of one DMA queue, in the order of ranks

AgentKind kind_of(sim::AgentId agent) {
  return static_cast<AgentKind>(agent.value >> hardware::kAgentIndexBits);
}
std::int64_t index_of(sim::AgentId agent) {
  return agent.value & (static_cast<std::uint32_t>(hardware::kAgentIndexLimit) - 1);
}

std::uint64_t key_of(sim::AgentId agent, std::uint64_t number) {
  return (static_cast<std::uint64_t>(agent.value) << 32) ^ number;
}

std::int32_t engine_rank(const PartId& engine) {
  if (engine.kind == PartKind::gemm) return kServerRank - 2;
  if (engine.kind == PartKind::vector) return kServerRank - 1;
  if (engine.kind != PartKind::dma_queue) return kServerRank - 3;
  return kEngineRank + std::min(engine.index, 127) * kMostLanes;
}

void add_wait(Arguments& arguments, std::string_view name, Time from, Time to) {
  if (from < to) arguments.push_back({name, (to - from).count()});
}

void add_work(Arguments& arguments, const hardware::Command& command) {
  if (const auto* dma = std::get_if<hardware::DmaWork>(&command.work)) {
    arguments.push_back({"bytes", hardware::bytes_of(dma->legs).count()});
    arguments.push_back({"slices", static_cast<std::int64_t>(dma->legs.size())});
  } else if (const auto* gemm = std::get_if<hardware::GemmWork>(&command.work)) {
    arguments.push_back({"batch", gemm->batch});
    arguments.push_back({"m", gemm->m});
    arguments.push_back({"n", gemm->n});
    arguments.push_back({"k", gemm->k});
  } else if (const auto* vector = std::get_if<hardware::VectorWork>(&command.work)) {
    if (vector->fused.empty()) {
      arguments.push_back({"elements", vector->elements});
    } else {
      arguments.push_back({"operations", static_cast<std::int64_t>(vector->fused.size())});
      arguments.push_back({"bytes kept", vector->kept.count()});
    }
  } else {
    const auto* message = std::get_if<hardware::MessageWork>(&command.work);
    arguments.push_back({"bytes", command.queue_bytes().count()});
    arguments.push_back({"tag", message != nullptr ? static_cast<std::int64_t>(message->tag) : 0});
    add_wait(arguments, command.sends() ? "credit" : "message", Time::zero(), command.times.waited);
  }
}

}  // namespace

TraceRecorder::TraceRecorder(const std::string& path, const topology::Topology& topology, const Arguments& facts)
    : writer_(path),
      tracks_(writer_),
      layout_(topology, 0),
      contexts_(topology.pe.contexts),
      sips_(topology.system.sips) {
  facts_.emplace_back("time", "1 ns shown here is 1 ps of simulated time");
  for (const trace::Argument& fact : facts) facts_.emplace_back(fact.name, std::get<std::string_view>(fact.value));
  write_facts();
}

void TraceRecorder::write_facts() {
  Arguments all;
  for (const auto& [name, text] : facts_) all.push_back({name, std::string_view(text)});
  writer_.instant(tracks_.of_host("KernBench", -1), Time::zero(), "1 ns shown is 1 ps simulated", all);
}

// ---- programs and their operations

trace::TrackId TraceRecorder::control_track(const tile::Program& program) {
  const auto context = static_cast<std::int32_t>(index_of(program.agent()) % contexts_);
  return tracks_.of({PartKind::control_context, layout_.pe_at(index_of(program.agent()) / contexts_), context},
                    context);
}

void TraceRecorder::subscribe_to(tile::OperationStream& stream) {
  using enum tile::Topic;
  stream.subscribe(*this, {operations, programs, issues, steps, waypoints});
}

void TraceRecorder::on_program_begin(tile::Program& program) {
  const trace::TrackId track = control_track(program);
  const OpenSlice& open = open_programs_[program.agent().value] = {track, program.launch().name, program.id(), {}};
  begin_open(open, machine_->scheduler().now());
}

void TraceRecorder::begin_open(const OpenSlice& slice, Time now) {
  Arguments arguments;
  if (slice.program >= 0) arguments.push_back({"program", slice.program});
  if (!slice.source.empty()) arguments.push_back({"source", std::string_view(slice.source)});
  writer_.begin(slice.track, now, slice.name, arguments);
}

void TraceRecorder::on_program_end(tile::Program& program, bool /*stands*/) {
  if (open_programs_.erase(program.agent().value) == 0) return;  // cut between two programs of a grid
  writer_.end(control_track(program), machine_->scheduler().now());
}

void TraceRecorder::on_step_begun(tile::Program& program, const tile::ProgramStep& step) {
  open_steps_.insert_or_assign(program.agent().value, OpenStep{control_track(program), program.agent(), step});
}

void TraceRecorder::on_step(tile::Program& program, const tile::ProgramStep& step, const hardware::Command* /*cause*/) {
  open_steps_.erase(program.agent().value);
  write_step({control_track(program), program.agent(), step}, step.end);
}

void TraceRecorder::write_step(const OpenStep& open, Time until) {
  const Time start = std::max(open.step.start, recording_since_);
  if (!recording_ || start >= until) return;
  Arguments arguments{{"source", std::string_view()}};
  const std::string source = tile::place(open.step.where), cause = cause_text(open.step.cause, open.agent);
  arguments.front().value = std::string_view(source);
  if (!cause.empty()) arguments.push_back({"waits for", Verbatim{cause}});
  writer_.slice(open.track, start, until, tile::name(open.step.activity, EngineKind::dma), arguments);
}

void TraceRecorder::on_waypoint(const tile::Program& program, std::uint64_t number, std::string_view name, Time time,
                                const std::source_location& where) {
  const std::string source = tile::place(where);
  writer_.instant(control_track(program), time, name,
                  {{"operation", static_cast<std::int64_t>(number)}, {"source", std::string_view(source)}});
}

void TraceRecorder::on_issue(tile::KernelCommand& command) {
  under_way_[key_of(command.agent, command.number)] = tile::KernelCommandRef(&command);
}

// Commands come in the order of their ends. Giving each the lane that fell free last before its start takes no more
// lanes than there were ever commands under way at a time.
trace::TrackId TraceRecorder::lane_for(const tile::OperationRecord& operation, Time start, Time until) {
  const PartId& engine = operation.queue()->id();
  std::vector<Lane>& lanes = lanes_[operation.queue()];
  Lane* best = nullptr;
  for (Lane& lane : lanes) {
    if (lane.free <= start && (best == nullptr || lane.free > best->free)) best = &lane;
  }
  if (best == nullptr) {
    const std::size_t index = lanes.size();
    const std::int32_t rank = engine_rank(engine) + static_cast<std::int32_t>(index % kMostLanes);
    lanes.push_back({tracks_.of(engine, rank, index), Time::zero()});
    best = &lanes.back();
  }
  best->free = until;
  return best->track;
}

void TraceRecorder::on_operation(const tile::OperationRecord& operation) {
  under_way_.erase(key_of(operation.agent(), operation.number()));
  if (operation.queue() != nullptr && recording_) write_operation(operation, operation.times().finished);
}

void TraceRecorder::write_operation(const tile::OperationRecord& operation, Time until) {
  const tile::Program& program = operation.program();
  const hardware::Timeline& times = operation.times();
  const std::string source = tile::place(operation.where()), operands = tile::operand_text(operation);
  Arguments arguments{{"kernel", std::string_view(program.launch().name)},
                      {"program", program.id_of(operation.number())},
                      {"operation", static_cast<std::int64_t>(operation.number())},
                      {"source", std::string_view(source)}};
  if (!operands.empty()) arguments.push_back({"operands", Verbatim{operands}});
  add_work(arguments, operation.command());
  arguments.push_back({"requested (ps)", times.requested.count()});
  add_wait(arguments, "waited: TCM full (ps)", times.requested, times.granted);
  add_wait(arguments, "waited: queue full (ps)", times.granted, times.placed);
  add_wait(arguments, "waited: issue (ps)", times.placed, times.issued);
  add_wait(arguments, times.ready_in_order ? "waited: memory order (ps)" : "waited: operand (ps)", times.issued,
           times.ready);
  add_wait(arguments, "waited: engine busy (ps)", times.ready, times.started);
  add_wait(arguments, "TLB miss (ps)", Time::zero(), times.translation);
  const std::string granted_by = cause_text(times.granted_by, operation.agent()),
                    placed_by = cause_text(times.placed_by, operation.agent()),
                    ready_by = cause_text(times.ready_by, operation.agent()),
                    started_by = cause_text(times.started_by, operation.agent());
  if (!granted_by.empty()) arguments.push_back({"TCM room by", Verbatim{granted_by}});
  if (!placed_by.empty()) arguments.push_back({"queue place by", Verbatim{placed_by}});
  if (!ready_by.empty()) arguments.push_back({"ready by", Verbatim{ready_by}});
  if (!started_by.empty()) arguments.push_back({"engine free by", Verbatim{started_by}});
  if (operation.command().under_way) {
    arguments.push_back({"ends", std::string_view("later")});
  } else {
    arguments.push_back({"effect (ps)", times.effect.count()});
  }
  const Time start = std::max(times.started, recording_since_);
  writer_.slice(lane_for(operation, start, until), start, until, operation.kind(), arguments);
}

void TraceRecorder::write_operations_under_way(Time now) {
  std::vector<const tile::KernelCommand*> open;
  for (const auto& [key, command] : under_way_) {
    if (command->under_way && command->queue != nullptr && std::max(command->times.started, recording_since_) < now) {
      open.push_back(command.get());
    }
  }
  std::ranges::sort(open, {}, [](const tile::KernelCommand* command) {
    return std::tuple(command->times.started, command->agent.value, command->number);
  });
  for (const tile::KernelCommand* command : open) write_operation(tile::OperationRecord(*command), now);
}

std::string TraceRecorder::cause_text(const hardware::Cause& cause, sim::AgentId asking) const {
  if (!cause.known()) return "";
  if (cause.name.agent == asking) return fmt::format("operation {}", cause.name.number);
  return fmt::format("operation {} of {}", cause.name.number, agent_name(cause.name.agent));
}

// ---- servers and processors

std::string TraceRecorder::agent_name(sim::AgentId agent) const {
  const std::int64_t index = index_of(agent);
  if (kind_of(agent) != AgentKind::program) return "host";
  const std::string pe = to_text(layout_.pe_at(index / contexts_));
  return index % contexts_ == 0 ? pe : fmt::format("{} (context {})", pe, index % contexts_);
}

void TraceRecorder::name_service(Service& service) const {
  if (kind_of(service.agent) == AgentKind::program) {
    const auto found = under_way_.find(key_of(service.agent, service.operation >> (hardware::kLegBits + 1)));
    const tile::KernelCommand* of = found == under_way_.end() ? nullptr : found->second.get();
    service.name = fmt::format("{} {}", agent_name(service.agent), of == nullptr ? "" : of->kind);
    service.kernel = of == nullptr || !of->program ? "" : of->program->launch().name;
  } else if (kind_of(service.agent) == AgentKind::cpu && index_of(service.agent) < 2 * sips_ &&
             index_of(service.agent) % 2 == 1) {
    service.name = "copy";
  } else {
    service.name = "command";
  }
}

void TraceRecorder::on_service(hardware::ServerId server, sim::AgentId agent, std::uint64_t operation, Time start,
                               Time end, Bytes bytes) {
  if (server.value >= servers_.size()) servers_.resize(machine_->fabric().server_count());
  ServerTrack& at = servers_[server.value];
  if (!at.services.empty()) {
    Service& last = at.services.back();
    if (last.end == start && last.agent == agent && last.operation == operation) {
      last.end = end;
      last.bytes += bytes;
      ++last.chunks;
      return;
    }
  }
  leave_services(at, server, machine_->scheduler().now());
  name_service(at.services.emplace_back(Service{start, end, agent, operation, bytes, 1, {}, {}}));
}

void TraceRecorder::leave_services(ServerTrack& at, hardware::ServerId server, Time now) {
  const auto open = std::ranges::find_if(at.services, [now](const Service& each) { return each.end > now; });
  for (auto over = at.services.begin(); over != open; ++over) write_service(at, server, *over, over->end);
  at.services.erase(at.services.begin(), open);
}

// The bytes of a burst count where it begins, as those of the counters do.
void TraceRecorder::cut_services(Time now) {
  for (std::uint32_t i = 0; i < servers_.size(); ++i) {
    ServerTrack& at = servers_[i];
    leave_services(at, {i}, now);
    for (Service& open : at.services) {
      write_service(at, {i}, open, now);
      open.start = std::max(open.start, now);
      open.bytes = Bytes(0);
      open.chunks = 0;
    }
  }
}

void TraceRecorder::write_service(ServerTrack& at, hardware::ServerId server, const Service& service, Time until) {
  if (!recording_ || service.start >= until) return;
  if (at.track.value == 0) {
    at.track = tracks_.of(machine_->fabric().spec(server).part, kServerRank + static_cast<std::int32_t>(server.value));
  }
  Arguments arguments{{"bytes", service.bytes.count()}, {"chunks", service.chunks}};
  if (!service.kernel.empty()) {
    arguments.push_back({"kernel", std::string_view(service.kernel)});
    const std::uint64_t leg = service.operation >> 1;
    arguments.push_back({"operation", static_cast<std::int64_t>(leg >> hardware::kLegBits)});
  }
  writer_.slice(at.track, service.start, until, service.name, arguments);
}

void TraceRecorder::on_message(sim::AgentId processor, Time start, Time end) {
  const std::int64_t index = index_of(processor);
  const PartId part = index < 2 * sips_ ? PartId(PartKind::io_cpu, SipId{static_cast<std::int32_t>(index / 2)})
                                        : PartId(PartKind::m_cpu, layout_.cube_at(index - 2 * sips_));
  writer_.slice(tracks_.of(part, kProcessorRank), std::max(start, recording_since_), end, "message");
}

// ---- the host

void TraceRecorder::begin_command(const std::string& stream, const std::string& command, std::string_view place,
                                  Time now) {
  const OpenSlice& open = open_commands_[stream] = {tracks_.of_host(stream, 1), command, -1, std::string(place)};
  begin_open(open, now);
}

void TraceRecorder::end_command(const std::string& stream, Time now) {
  writer_.end(tracks_.of_host(stream, 1), now);
  open_commands_.erase(stream);
}

void TraceRecorder::host_call(const std::string& worker, std::string_view call, std::string_view subject,
                              std::string_view place, Time start, Time end) {
  if (start >= end) return;
  Time& last = last_calls_[worker];
  if (start < last) return;
  last = end;
  Arguments arguments;
  if (!subject.empty()) arguments.push_back({"of", subject});
  if (!place.empty()) arguments.push_back({"source", place});
  writer_.slice(tracks_.of_host(worker, 0), std::max(start, recording_since_), end, call, arguments);
}

void TraceRecorder::host_range(const std::string& worker, int depth, std::string_view name, Time start, Time end) {
  const std::string track = depth == 0 ? worker + " ranges" : fmt::format("{} ranges ({})", worker, depth + 1);
  writer_.slice(tracks_.of_host(track, 0), start, end, name);
}

void TraceRecorder::region(bool begins, Time now) {
  if (begins) {
    cut_services(now);
    if (!regional_) {
      writer_.restart();
      write_facts();
    }
    regional_ = recording_ = true;
    recording_since_ = now;
    writer_.resume();
    for (const auto& [agent, slice] : open_programs_) begin_open(slice, now);
    for (const auto& [stream, slice] : open_commands_) begin_open(slice, now);
    return;
  }
  finish_open(now);
  recording_ = false;
  writer_.pause();
}

void TraceRecorder::finish_open(Time now) {
  cut_services(now);
  write_operations_under_way(now);
  for (const auto& [agent, open] : open_steps_) write_step(open, now);
  for (const auto& [agent, slice] : open_programs_) writer_.end(slice.track, now);
  for (const auto& [stream, slice] : open_commands_) writer_.end(slice.track, now);
}

void TraceRecorder::finish(Time now) {
  if (recording_) finish_open(now);
  recording_ = false;
  writer_.pause();
  under_way_.clear();
  open_steps_.clear();
  open_programs_.clear();
  open_commands_.clear();
  writer_.flush();
}

}  // namespace kernbench::runtime
