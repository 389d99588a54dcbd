#include "hardware/server_kind.h"

#include <cassert>

namespace kernbench::hardware {

std::string_view name(ServerKind kind) {
  switch (kind) {
    case ServerKind::host_link:
      return "host link";
    case ServerKind::sip_link:
      return "SIP link";
    case ServerKind::io_link:
      return "IO link";
    case ServerKind::cube_link:
      return "cube link";
    case ServerKind::noc_link:
      return "NoC link";
    case ServerKind::port:
      return "port";
    case ServerKind::hbm_channel:
      return "HBM channel";
    case ServerKind::sram:
      return "SRAM";
    case ServerKind::tcm_port:
      break;
  }
  return "TCM port";
}

ServerKind server_kind(topology::LinkKind kind) {
  switch (kind) {
    case topology::LinkKind::host:
      return ServerKind::host_link;
    case topology::LinkKind::sip:
      return ServerKind::sip_link;
    case topology::LinkKind::io:
      return ServerKind::io_link;
    case topology::LinkKind::cube:
      return ServerKind::cube_link;
    case topology::LinkKind::noc:
      return ServerKind::noc_link;
    case topology::LinkKind::endpoint:
      break;
  }
  return ServerKind::port;
}

ServerKind server_kind(PartKind memory) {
  if (memory == PartKind::hbm_channel) return ServerKind::hbm_channel;
  assert(memory == PartKind::tcm_port || memory == PartKind::sram);
  return memory == PartKind::tcm_port ? ServerKind::tcm_port : ServerKind::sram;
}

}  // namespace kernbench::hardware
