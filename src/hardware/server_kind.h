// The kinds of servers of a machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "topology/spec.h"

namespace kernbench::hardware {

enum class ServerKind : std::uint8_t {
  host_link,  // PCIe, both directions
  sip_link,   // between IO chiplets of SIPs, or between one and a switch
  io_link,    // between an IO chiplet and the mesh
  cube_link,  // a lane between two cubes
  noc_link,   // between two routers of a cube
  port,       // between a router and its PE, HBM slice, SRAM or M_CPU
  hbm_channel,
  tcm_port,
  sram,
};
std::string_view name(ServerKind kind);

/// Of all servers of a machine, by ServerId.
std::vector<ServerKind> server_kinds(const topology::Topology& topology);

}  // namespace kernbench::hardware
