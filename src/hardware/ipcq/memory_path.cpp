#include "hardware/ipcq/memory_path.h"

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

/// One port of a TCM serves both ends.
bool is_local(PeCoordinate pe, const MemoryPlace& place) {
  return place.buffer_kind == BufferKind::tcm && place.owner == pe;
}

}  // namespace

TransferEnd MemoryPath::end_of(BufferKind buffer_kind, PeCoordinate owner) const {
  switch (buffer_kind) {
    case BufferKind::hbm:
      return transport_.slice(owner);
    case BufferKind::sram:
      return transport_.sram(owner);
    case BufferKind::tcm:
      break;
  }
  return transport_.tcm(owner);
}

// Addresses are local to the bytes where one server serves the whole memory, and to the slice where the address selects
// a channel.
void MemoryPath::move(const Sender& sender, std::span<const Stage> route, const MemoryPlace& place,
                      sim::Callback departed, sim::Callback delivered, TransferLog* log) {
  std::uint64_t address = 0;
  if (place.buffer_kind == BufferKind::hbm) {
    const std::int64_t slice = topology_.cube.hbm.capacity.count() / topology_.cube.pes.count();
    address = place.address.decode().offset - static_cast<std::uint64_t>(slice * place.owner.pe.value);
  }
  transport_.transfer_in_bursts(sender, route, Ranges(StridedRange{address, 1, place.bytes, 0}), place.chunk, departed,
                                delivered, log);
}

std::span<const Stage> MemoryPath::way(PeCoordinate writer, const MemoryPlace& place) const {
  const TransferEnd from = transport_.tcm(writer), to = end_of(place);
  return transport_.route(from, is_local(writer, place) ? Transport::end(to.at) : to, VirtualNetwork::request);
}

void MemoryPath::write(const Sender& sender, PeCoordinate writer, const MemoryPlace& place, sim::Callback departed,
                       sim::Callback delivered, TransferLog* log) {
  move(sender, way(writer, place), place, departed, delivered, log);
}

void MemoryPath::request(const Sender& sender, PeCoordinate reader, const MemoryPlace& place, sim::Callback delivered) {
  transport_.message(sender, Endpoint::pe_port(reader), end_of(place).at, VirtualNetwork::request, delivered);
}

std::span<const Stage> MemoryPath::read(const Sender& sender, PeCoordinate reader, const MemoryPlace& place,
                                        sim::Callback departed, sim::Callback delivered) {
  const TransferEnd from = end_of(place), to = transport_.tcm(reader);
  const auto route =
      transport_.route(is_local(reader, place) ? Transport::end(from.at) : from, to, VirtualNetwork::response);
  move(sender, route, place, departed, delivered, nullptr);
  return route;
}

}  // namespace kernbench::hardware
