#include "hardware/ipcq/installation.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "hardware/agents.h"
#include "hardware/ipcq/ipcq.h"

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

// What the callback of one end carries.
constexpr std::uint32_t kEndBits = 32;
constexpr std::uint64_t place_of(std::uint64_t table, std::uint64_t end) {
  return (table << kEndBits) | end;
}

}  // namespace

Installation::Installation(LaunchPath& path, IpcqOf ipcq_of, InstallRequest request, std::uint64_t number)
    : path_(path),
      ipcq_of_(std::move(ipcq_of)),
      request_(std::move(request)),
      number_(number),
      back_(path, request_.sip, {}, sim::call<&Installation::at_host>(this)) {
  add_tables();
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    const PeCoordinate pe = tables_[table].pe;
    const CubeCoordinate cube{pe.sip, pe.cube};
    if (cubes_.empty() || cubes_.back().at != cube) cubes_.push_back({cube, table, table});
    ++cubes_.back().end_table;
    tables_[table].open = tables_[table].ends.size() + (tables_[table].window != nullptr ? 1 : 0);
  }
  assert(!cubes_.empty());
  for (const Cube& cube : cubes_) back_.add_cube(cube.at, cube.end_table - cube.first_table);
}

void Installation::add_tables() {
  std::map<PeCoordinate, std::vector<End>> by_pe;
  for (std::size_t channel = 0; channel < request_.channels.size(); ++channel) {
    const Channel& each = request_.channels[channel];
    if (each.sender.sip == request_.sip) by_pe[each.sender].push_back({channel, false});
    if (each.receiver.sip == request_.sip) by_pe[each.receiver].push_back({channel, true});
  }
  std::map<PeCoordinate, const Window*> owners;
  for (const Window& window : request_.windows) {
    if (window.owner.sip != request_.sip) continue;
    owners[window.owner] = &window;
    by_pe[window.owner];
  }
  for (auto& [pe, ends] : by_pe) {
    const auto owner = owners.find(pe);
    tables_.push_back({pe, std::move(ends), owner == owners.end() ? nullptr : owner->second});
  }
}

std::size_t Installation::rows(const Table& table) const {
  return table.ends.size() + (table.window != nullptr ? request_.windows.size() : 0);
}

Bytes Installation::message_bytes(std::size_t rows) const {
  return path_.transport().header() + kTableRow * static_cast<std::int64_t>(rows);
}

std::size_t Installation::rows(std::size_t first_table, std::size_t end_table) const {
  std::size_t rows = 0;
  for (std::size_t table = first_table; table < end_table; ++table) rows += this->rows(tables_[table]);
  return rows;
}

std::size_t Installation::cube_of(std::size_t table) const {
  const auto after = std::ranges::upper_bound(cubes_, table, {}, &Cube::first_table);
  return static_cast<std::size_t>(after - cubes_.begin()) - 1;
}

void Installation::send(std::uint64_t) {
  path_.transport().message({path_.layout().host_port_agent(request_.sip), message_key(number_)}, Endpoint::host(),
                            Endpoint::io_cpu(request_.sip), VirtualNetwork::control,
                            message_bytes(rows(0, tables_.size())), sim::call<&Installation::at_io_cpu>(this));
}

void Installation::at_io_cpu(std::uint64_t) {
  path_.io_cpu(request_.sip).receive(sim::call<&Installation::send_to_cubes>(this));
}

void Installation::send_to_cubes(std::uint64_t) {
  for (std::uint64_t cube = 0; cube < cubes_.size(); ++cube) {
    const Cube& each = cubes_[cube];
    path_.transport().message(path_.io_cpu(request_.sip).next_sender(), Endpoint::io_cpu(request_.sip),
                              Endpoint::m_cpu(each.at), VirtualNetwork::control,
                              message_bytes(rows(each.first_table, each.end_table)),
                              sim::call<&Installation::at_m_cpu>(this, cube));
  }
}

void Installation::at_m_cpu(std::uint64_t cube) {
  path_.m_cpu(cubes_[cube].at).receive(sim::call<&Installation::send_to_pes>(this, cube));
}

void Installation::send_to_pes(std::uint64_t cube) {
  const Cube& each = cubes_[cube];
  for (std::uint64_t table = each.first_table; table < each.end_table; ++table) {
    path_.transport().message(path_.m_cpu(each.at).next_sender(), Endpoint::m_cpu(each.at),
                              Endpoint::pe_port(tables_[table].pe), VirtualNetwork::control,
                              message_bytes(rows(tables_[table])), sim::call<&Installation::at_pe>(this, table));
  }
}

void Installation::at_pe(std::uint64_t table) {
  const Table& at = tables_[table];
  Ipcq& ipcq = ipcq_of_(at.pe);
  if (at.window != nullptr) {
    ipcq.install(*at.window);
    one_installed(table);
  }
  for (std::uint64_t end = 0; end < at.ends.size(); ++end) {
    ipcq.install(request_.channels[at.ends[end].channel], at.ends[end].receives,
                 sim::call<&Installation::end_installed>(this, place_of(table, end)));
  }
}

void Installation::end_installed(std::uint64_t place) {
  const std::uint64_t table = place >> kEndBits;
  tables_[table].ends[place & ((std::uint64_t{1} << kEndBits) - 1)].installed = true;
  one_installed(table);
}

void Installation::one_installed(std::uint64_t table) {
  Table& at = tables_[table];
  if (--at.open > 0) return;
  back_.ended(cube_of(table), at.pe);
}

void Installation::at_host(std::uint64_t) {
  completed_ = true;
  const auto completed = std::exchange(request_.completed, nullptr);  // may end the life of this object
  if (completed) completed();
}

void Installation::waits_for(std::vector<sim::WaitEdge>& edges) const {
  for (const Table& table : tables_) {
    const Ipcq& ipcq = ipcq_of_(table.pe);
    for (const End& end : table.ends) {
      if (end.installed) continue;
      const Channel& channel = request_.channels[end.channel];
      const sim::WaitNode* before = ipcq.entry(end.receives ? channel.receive_entry : channel.send_entry, end.receives);
      if (before != nullptr) edges.push_back({before, "the credits of the channel before"});
    }
  }
}

}  // namespace kernbench::hardware
