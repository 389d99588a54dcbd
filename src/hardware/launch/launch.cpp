#include "hardware/launch/launch.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hardware/agents.h"
#include "hardware/launch/launch_path.h"

namespace kernbench::hardware {

using topology::Endpoint;

Launch::Launch(LaunchPath& path, LaunchRequest request, Time now, std::uint64_t number)
    : path_(path),
      sip_(request.sip),
      name_(std::move(request.name)),
      number_(number),
      owner_(request.owner),
      completed_(std::move(request.completed)),
      failed_(std::move(request.failed)) {
  assert(!request.programs.empty());
  times_.requested = now;
  times_.first_program = Time::max();
  programs_.reserve(request.programs.size());
  for (ProgramRequest& program : request.programs) {
    const CubeCoordinate cube{program.pe.sip, program.pe.cube};
    assert(cube.sip == sip_ && (programs_.empty() || programs_.back().request.pe <= program.pe));
    if (cubes_.empty() || cubes_.back().at != cube) cubes_.push_back({cube, programs_.size(), programs_.size(), 0});
    ++cubes_.back().end_program;
    ++cubes_.back().open;
    Program entry;
    entry.request = std::move(program);
    entry.owner = this;
    entry.index = cubes_.size() - 1;
    programs_.push_back(std::move(entry));
  }
  open_cubes_ = cubes_.size();
}

void Launch::send(std::uint64_t) {
  path_.transport().message({path_.layout().host_port_agent(sip_), message_key(number_)}, Endpoint::host(),
                            Endpoint::io_cpu(sip_), VirtualNetwork::control, event::call<&Launch::at_io_cpu>(this));
}

void Launch::at_io_cpu(std::uint64_t) {
  path_.io_cpu(sip_).receive(event::call<&Launch::send_to_cubes>(this));
}

void Launch::send_to_cubes(std::uint64_t) {
  for (std::uint64_t cube = 0; cube < cubes_.size(); ++cube) {
    path_.transport().message(path_.io_cpu(sip_).next_sender(), Endpoint::io_cpu(sip_),
                              Endpoint::m_cpu(cubes_[cube].at), VirtualNetwork::control,
                              event::call<&Launch::at_m_cpu>(this, cube));
  }
}

void Launch::at_m_cpu(std::uint64_t cube) {
  path_.m_cpu(cubes_[cube].at).receive(event::call<&Launch::send_to_pes>(this, cube));
}

void Launch::send_to_pes(std::uint64_t cube) {
  const CubeCoordinate at = cubes_[cube].at;
  for (std::uint64_t program = cubes_[cube].first_program; program < cubes_[cube].end_program; ++program) {
    path_.transport().message(path_.m_cpu(at).next_sender(), Endpoint::m_cpu(at),
                              Endpoint::pe_port(programs_[program].request.pe), VirtualNetwork::control,
                              event::call<&Launch::at_pe>(this, program));
  }
}

void Launch::at_pe(std::uint64_t program) {
  path_.control(programs_[program].request.pe).arrive(programs_[program]);
}

void Launch::cancel() {
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
  const PeCoordinate pe = program.request.pe;
  program.request.body = nullptr;
  path_.transport().message(path_.control_sender(pe), Endpoint::pe_port(pe), Endpoint::m_cpu({pe.sip, pe.cube}),
                            VirtualNetwork::control, event::call<&Launch::program_seen>(this, program.index));
}

void Launch::program_seen(std::uint64_t cube) {
  path_.m_cpu(cubes_[cube].at).receive(event::call<&Launch::program_counted>(this, cube));
}

void Launch::program_counted(std::uint64_t cube) {
  if (--cubes_[cube].open > 0) return;
  const CubeCoordinate at = cubes_[cube].at;
  path_.transport().message(path_.m_cpu(at).next_sender(), Endpoint::m_cpu(at), Endpoint::io_cpu(sip_),
                            VirtualNetwork::control, event::call<&Launch::cube_seen>(this));
}

void Launch::cube_seen(std::uint64_t) {
  path_.io_cpu(sip_).receive(event::call<&Launch::cube_counted>(this));
}

void Launch::cube_counted(std::uint64_t) {
  if (--open_cubes_ > 0) return;
  path_.transport().message(path_.io_cpu(sip_).next_sender(), Endpoint::io_cpu(sip_), Endpoint::host(),
                            VirtualNetwork::control, event::call<&Launch::at_host>(this));
}

void Launch::at_host(std::uint64_t) {
  const auto self = path_.complete(*this);
  times_.completed = path_.scheduler().now();
  if (completed_) completed_(times_);
}

void Launch::waits_for(std::vector<event::WaitEdge>& edges) const {
  for (const Program& program : programs_) {
    if (program.over) continue;
    edges.push_back({path_.control(program.request.pe).runner(program), "the end of " + program.request.name});
  }
}

}  // namespace kernbench::hardware
