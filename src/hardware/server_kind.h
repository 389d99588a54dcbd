// The kinds of servers of a machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/part.h"
#include "topology/network.h"

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
ServerKind server_kind(topology::LinkKind kind);
/// Of a server that is a memory or its port.
ServerKind server_kind(PartKind memory);

}  // namespace kernbench::hardware
