// Ids of all parts of a machine: dense indices, server ids, agent ids; all computed, nothing stored per part.
#pragma once

#include <cstdint>

#include "hardware/agents.h"
#include "hardware/fabric/fabric.h"
#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Servers are numbered: all links in LinkId order, then for each PE its HBM channels and its TCM port,
/// then for each cube its SRAM.
///
/// Where devices are alike, SIP 0 alone is built, and the ids of a part of another SIP are those of SIP 0's.
class Layout {
 public:
  /// Throws ConfigurationError when the machine is too large for its ids or a count does not divide as it must.
  Layout(const topology::Topology& topology, std::size_t links, bool alike = false);

  std::int64_t sip_count() const { return sips_; }
  std::int64_t built_sips() const { return alike_ ? 1 : sips_; }
  std::int64_t cube_count() const { return built_sips() * cubes_per_sip_; }  // of those that are built
  std::int64_t pe_count() const { return cube_count() * pes_per_cube_; }     // likewise
  std::int32_t channels() const { return channels_; }                        // of one PE's slice
  std::int64_t server_count() const { return links_ + pe_count() * (channels_ + 1) + cube_count(); }
  bool contains(PeCoordinate at) const;

  SipId built(SipId sip) const { return alike_ ? SipId{0} : sip; }
  std::int64_t cube_index(CubeCoordinate at) const { return built(at.sip).value * cubes_per_sip_ + at.cube.value; }
  std::int64_t pe_index(PeCoordinate at) const { return cube_index({at.sip, at.cube}) * pes_per_cube_ + at.pe.value; }
  /// One for each PE, whether it is built or not.
  std::int64_t place(PeCoordinate at) const {
    return (at.sip.value * cubes_per_sip_ + at.cube.value) * pes_per_cube_ + at.pe.value;
  }
  CubeCoordinate cube_at(std::int64_t index) const;
  PeCoordinate pe_at(std::int64_t index) const;

  ServerId channel(PeCoordinate slice, std::int32_t channel) const;
  ServerId tcm_port(PeCoordinate pe) const { return channel(pe, channels_); }
  ServerId sram(CubeCoordinate cube) const;

  static sim::AgentId server_agent(ServerId server) { return make_agent(AgentKind::server, server.value); }
  sim::AgentId program_agent(PeCoordinate pe, std::int32_t context) const;
  sim::AgentId io_cpu_agent(SipId sip) const { return make_agent(AgentKind::cpu, 2 * sip.value); }
  sim::AgentId copy_agent(SipId sip) const { return make_agent(AgentKind::cpu, 2 * sip.value + 1); }
  sim::AgentId m_cpu_agent(CubeCoordinate cube) const;
  sim::AgentId control_agent(PeCoordinate pe) const;
  sim::AgentId scheduler_agent(PeCoordinate pe) const;
  sim::AgentId ipcq_agent(PeCoordinate pe, std::int32_t entry, bool receives) const;
  sim::AgentId window_agent(PeCoordinate pe) const;
  /// Host workers by rank; -1 is the main program, which precedes all ranks. Throws ValueError beyond 2^22 - 2.
  sim::AgentId host_agent(std::int32_t rank) const;
  sim::AgentId host_port_agent(SipId sip) const { return make_agent(AgentKind::host, kHostPorts + sip.value); }

 private:
  static constexpr std::int64_t kHostPorts = kAgentIndexLimit / 2;

  bool alike_;
  std::int64_t sips_, cubes_per_sip_, pes_per_cube_, links_;
  std::int32_t channels_, contexts_, queues_;
};

}  // namespace kernbench::hardware
