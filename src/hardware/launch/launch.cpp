#include "hardware/launch/launch.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "hardware/agents.h"
#include "hardware/launch/launch_graph.h"
#include "hardware/launch/launch_path.h"

namespace kernbench::hardware {

using topology::Endpoint;

Launch::Launch(LaunchPath& path, LaunchRequest request, Time now, std::uint64_t number,
               std::shared_ptr<LaunchGraph> graph)
    : path_(path),
      sip_(request.sip),
      name_(std::move(request.name)),
      number_(number),
      owner_(request.owner),
      queue_(request.queue),
      graph_(std::move(graph)),
      given_(now),
      begins_(std::move(request.begins)),
      make_programs_(std::move(request.make_programs)),
      completed_(std::move(request.completed)),
      failed_(std::move(request.failed)),
      back_(path, request.sip, sim::call<&Launch::over_for_io_cpu>(this), sim::call<&Launch::at_host>(this)) {
  times_.requested = now;
  times_.first_program = Time::max();
  if (!make_programs_) add(std::move(request.programs));
}

void Launch::add(std::vector<ProgramRequest> programs) {
  assert(!programs.empty());
  programs_.reserve(programs.size());
  for (ProgramRequest& program : programs) {
    const CubeCoordinate cube{program.pe.sip, program.pe.cube};
    assert(cube.sip == sip_ && (programs_.empty() || programs_.back().request.pe <= program.pe));
    if (cubes_.empty() || cubes_.back().at != cube) cubes_.push_back({cube, programs_.size(), programs_.size()});
    ++cubes_.back().end_program;
    Program entry;
    entry.request = std::move(program);
    entry.owner = this;
    entry.index = cubes_.size() - 1;
    programs_.push_back(std::move(entry));
  }
  to_programs_.resize(programs_.size());
  for (const Cube& cube : cubes_) back_.add_cube(cube.at, cube.end_program - cube.first_program);
}

void Launch::send(std::uint64_t) {
  const auto launches = static_cast<std::int64_t>(graph_ ? graph_->size() : 1);
  path_.transport().message({path_.layout().host_port_agent(sip_), message_key(number_)}, Endpoint::host(),
                            Endpoint::io_cpu(sip_), VirtualNetwork::control,
                            Bytes(launches * path_.transport().header().count()), sim::call<&Launch::at_io_cpu>(this),
                            &to_io_.log);
}

void Launch::at_io_cpu(std::uint64_t) {
  to_io_.arrived = path_.scheduler().now();
  path_.io_cpu(sip_).receive(sim::call<&Launch::handled_by_io_cpu>(this));
}

void Launch::handled_by_io_cpu(std::uint64_t) {
  to_io_.handled = path_.scheduler().now();
  if (graph_) return graph_->handled(to_io_);
  has_come();
}

void Launch::handled(const MessageTimes& times) {
  if (&times != &to_io_) to_io_ = times;  // its first launch has received the message
  has_come();
}

void Launch::has_come() {
  at_io_cpu_ = true;
  if (has_turn_ && !go_out()) path_.over(*this);
}

bool Launch::turn_came() {
  has_turn_ = true;
  times_.requested = path_.scheduler().now();
  if (const auto begins = std::exchange(begins_, nullptr)) begins();
  if (make_programs_) add(std::exchange(make_programs_, nullptr)());
  return at_io_cpu_ && !go_out();
}

/// Its turn has come and its message was handled. False: it was taken back before, and goes no further.
bool Launch::go_out() {
  if (programs_.empty()) {
    back_.tell_host();
    return false;
  }
  send_to_cubes();
  return true;
}

void Launch::send_to_cubes() {
  dispatched_ = path_.scheduler().now();
  for (std::uint64_t cube = 0; cube < cubes_.size(); ++cube) {
    path_.transport().message(path_.io_cpu(sip_).next_sender(), Endpoint::io_cpu(sip_),
                              Endpoint::m_cpu(cubes_[cube].at), VirtualNetwork::control,
                              sim::call<&Launch::at_m_cpu>(this, cube), &cubes_[cube].times.log);
  }
}

void Launch::at_m_cpu(std::uint64_t cube) {
  cubes_[cube].times.arrived = path_.scheduler().now();
  path_.m_cpu(cubes_[cube].at).receive(sim::call<&Launch::send_to_pes>(this, cube));
}

void Launch::send_to_pes(std::uint64_t cube) {
  const CubeCoordinate at = cubes_[cube].at;
  cubes_[cube].times.handled = path_.scheduler().now();
  for (std::uint64_t program = cubes_[cube].first_program; program < cubes_[cube].end_program; ++program) {
    path_.transport().message(path_.m_cpu(at).next_sender(), Endpoint::m_cpu(at),
                              Endpoint::pe_port(programs_[program].request.pe), VirtualNetwork::control,
                              sim::call<&Launch::at_pe>(this, program), &to_programs_[program].log);
  }
}

void Launch::at_pe(std::uint64_t program) {
  to_programs_[program].arrived = path_.scheduler().now();
  path_.control(programs_[program].request.pe).arrive(programs_[program]);
}

void Launch::cancel() {
  begins_ = nullptr;
  if (make_programs_) {
    make_programs_ = nullptr;
    times_.cut = true;
  }
  for (Program& program : programs_) {
    if (program.over) continue;
    times_.cut = true;
    // A PE that no message has reached yet may not have been made.
    if (program.arrived) {
      path_.control(program.request.pe).cancel(program);
    } else {
      program.cancelled = true;
    }
  }
}

bool Launch::program_failed(const Program& /*program*/, const std::exception_ptr& error) {
  return failed_ && failed_(error);
}

void Launch::program_over(Program& program) {
  times_.first_program = std::min(times_.first_program, program.first);
  times_.last_program = std::max(times_.last_program, program.last);
  const bool ran = program.first > Time::zero();
  const bool later = last_ == nullptr || program.last > last_->last ||
                     (program.last == last_->last && program.request.pe < last_->request.pe);
  if (ran && later) last_ = &program;
  program.request.body = nullptr;
  back_.ended(program.index, program.request.pe);
}

void Launch::over_for_io_cpu(std::uint64_t) {
  path_.over(*this);
}

void Launch::at_host(std::uint64_t) {
  const auto self = path_.complete(*this);
  times_.completed = path_.scheduler().now();
  times_.launch = this;
  if (completed_) completed_(times_);
}

std::vector<WayStep> LaunchTimes::way_out() const {
  return launch->way_out();
}

std::vector<WayStep> LaunchTimes::way_back() const {
  return launch->way_back();
}

std::vector<WayStep> Launch::way_back() const {
  return last_ == nullptr ? std::vector<WayStep>() : back_.way(last_->last);
}

std::vector<WayStep> Launch::way_out() const {
  if (last_ == nullptr) return {};
  const Program& program = *last_;
  const Cube& cube = cubes_[program.index];
  Way way(path_.transport().fabric(), given_);
  way.message("message of host", to_io_);
  way.handling({PartKind::io_cpu, sip_}, path_.io_cpu(sip_).latency(), to_io_.handled);
  way.step({PartKind::io_cpu, sip_}, "waiting", dispatched_);
  way.message("message of io.cpu", cube.times);
  way.handling({PartKind::m_cpu, cube.at}, path_.m_cpu(cube.at).latency(), cube.times.handled);
  way.message("message of m_cpu", to_programs_[static_cast<std::size_t>(&program - programs_.data())]);
  way.handling({PartKind::control, program.request.pe}, path_.start_latency(), program.first);
  return way.take();
}

void Launch::waits_for(std::vector<sim::WaitEdge>& edges) const {
  if (!has_turn_) return path_.append_before(*this, edges);
  for (const Program& program : programs_) {
    if (program.over) continue;
    edges.push_back({path_.control(program.request.pe).runner(program), "its end"});
  }
}

}  // namespace kernbench::hardware
