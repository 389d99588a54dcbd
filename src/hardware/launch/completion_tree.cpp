#include "hardware/launch/completion_tree.h"

#include "hardware/launch/launch_path.h"

namespace kernbench::hardware {

using topology::Endpoint;

void CompletionTree::ended(std::size_t cube, PeCoordinate pe) {
  const std::uint64_t end = ends_.size();
  if (end == 0) ends_.reserve(all_ends_);
  MessageTimes& times = ends_.emplace_back(End{cube, pe, {}}).times;
  times.sent = path_.scheduler().now();
  path_.transport().message(path_.control_sender(pe), Endpoint::pe_port(pe), Endpoint::m_cpu(cubes_[cube].at),
                            VirtualNetwork::control, sim::call<&CompletionTree::at_cube>(this, end), &times.log);
}

void CompletionTree::at_cube(std::uint64_t end) {
  ends_[end].times.arrived = path_.scheduler().now();
  path_.cube_counter(cubes_[ends_[end].cube].at).receive(sim::call<&CompletionTree::count_end>(this, end));
}

void CompletionTree::count_end(std::uint64_t end) {
  ends_[end].times.handled = path_.scheduler().now();
  const std::uint64_t cube = ends_[end].cube;
  cubes_[cube].last = &ends_[end];
  if (--cubes_[cube].open > 0) return;
  path_.m_cpu(cubes_[cube].at).receive(sim::call<&CompletionTree::cube_ended>(this, cube));
}

void CompletionTree::cube_ended(std::uint64_t cube) {
  Cube& ended = cubes_[cube];
  ended.handled = ended.times.sent = path_.scheduler().now();
  path_.transport().message(path_.m_cpu(ended.at).next_sender(), Endpoint::m_cpu(ended.at), Endpoint::io_cpu(sip_),
                            VirtualNetwork::control, sim::call<&CompletionTree::at_io>(this, cube), &ended.times.log);
}

void CompletionTree::at_io(std::uint64_t cube) {
  cubes_[cube].times.arrived = path_.scheduler().now();
  path_.io_counter(sip_).receive(sim::call<&CompletionTree::count_cube>(this, cube));
}

void CompletionTree::count_cube(std::uint64_t cube) {
  cubes_[cube].times.handled = path_.scheduler().now();
  last_ = &cubes_[cube];
  if (--open_cubes_ > 0) return;
  path_.io_cpu(sip_).receive(sim::call<&CompletionTree::sip_ended>(this));
}

void CompletionTree::sip_ended(std::uint64_t) {
  tell_host();
  if (at_io_cpu_.function != nullptr) invoke(at_io_cpu_);
}

void CompletionTree::tell_host() {
  to_host_.sent = path_.scheduler().now();
  path_.transport().message(path_.io_cpu(sip_).next_sender(), Endpoint::io_cpu(sip_), Endpoint::host(),
                            VirtualNetwork::control, at_host_, &to_host_.log);
}

std::vector<WayStep> CompletionTree::way(Time start) const {
  const Cube& cube = *last_;
  const End& end = *cube.last;
  MessageTimes to_host = to_host_;
  to_host.arrived = path_.scheduler().now();
  Way way(path_.transport().fabric(), start);
  way.step({PartKind::control, end.pe}, "end", end.times.sent);
  way.message("message of pe", end.times);
  way.handling({PartKind::m_cpu_counter, cube.at}, path_.cube_counter(cube.at).latency(), end.times.handled);
  way.handling({PartKind::m_cpu, cube.at}, path_.m_cpu(cube.at).latency(), cube.handled);
  way.message("message of m_cpu", cube.times);
  way.handling({PartKind::io_counter, sip_}, path_.io_counter(sip_).latency(), cube.times.handled);
  way.handling({PartKind::io_cpu, sip_}, path_.io_cpu(sip_).latency(), to_host.sent);
  way.message("message of io.cpu", to_host);
  return way.take();
}

}  // namespace kernbench::hardware
