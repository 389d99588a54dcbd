// The parts of a machine: what each one is and where it stands, and their names.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/name.h"
#include "kernbench/coordinates.h"

namespace kernbench {

/// What a part is. The names of parts of one kind differ in their numbers only.
enum class PartKind : std::uint8_t {
  none,
  // links between the host, SIPs and a switch: the index is the SIP to which they lead
  host_to_sip,
  switch_to_sip,
  io_to_sip,
  io_to_switch,
  io_to_host,
  // links of an IO chiplet to and from the mesh: one, or one for each row of routers
  io_to_mesh,
  io_from_mesh,
  io_row_to_mesh,
  io_row_from_mesh,
  // links of a cube
  m_cpu_inject,
  m_cpu_eject,
  sram_out,
  sram_in,
  // links of a PE and of its router; the first two are of an SRAM with a port at every router
  sram_port_out,
  sram_port_in,
  pe_inject,
  pe_eject,
  hbm_out,
  hbm_in,
  router_east,
  router_west,
  router_north,
  router_south,
  // memories
  hbm_channel,
  tcm_port,
  sram,
  // engines
  dma_queue,
  gemm,
  vector,
  send_queue,
  receive_queue,
  window_queue,
  // processors and completion counters
  io_cpu,
  io_counter,
  m_cpu,
  m_cpu_counter,
  control,
  control_context,
};
inline constexpr std::size_t kPartKindCount = static_cast<std::size_t>(PartKind::control_context) + 1;

/// What a part belongs to.
enum class PartScope : std::uint8_t { machine, sip, cube, pe };
PartScope scope_of(PartKind kind);

/// A part of a machine.
struct PartId {
  PartKind kind = PartKind::none;
  PeCoordinate at;         // as far as its scope reaches; the rest is 0
  std::int32_t index = 0;  // where there are several in its scope

  constexpr PartId() = default;
  constexpr PartId(PartKind part, PeCoordinate pe, std::int32_t number = 0) : kind(part), at(pe), index(number) {}
  constexpr PartId(PartKind part, CubeCoordinate cube, std::int32_t number = 0)
      : PartId(part, PeCoordinate{cube.sip, cube.cube, {}}, number) {}
  constexpr PartId(PartKind part, SipId sip, std::int32_t number = 0)
      : PartId(part, PeCoordinate{sip, {}, {}}, number) {}
  /// A part of the machine itself.
  constexpr PartId(PartKind part, std::int32_t number) : kind(part), index(number) {}

  constexpr bool known() const { return kind != PartKind::none; }
  constexpr auto operator<=>(const PartId&) const = default;
};

/// "sip0.cube2.pe5.dma.queue1"; empty where it is not known.
std::string to_text(const PartId& part);
/// The same with slots for its numbers.
Name to_name(const PartId& part);
/// The same within what the part belongs to: "dma.queue1".
std::string local_name(const PartId& part);
/// The same of all of a kind: "dma.queue*".
std::string_view local_name(PartKind kind);
/// "sip*.cube*.pe*.dma.queue*"; empty for none.
std::string to_text(PartKind kind);
/// The kind of the part with this name, in which '*' may stand for any number. Nullopt where no part has such a name.
std::optional<PartKind> part_kind(std::string_view name);

}  // namespace kernbench
