#include "hardware/ipcq/memory_path.h"

#include <algorithm>
#include <utility>

namespace kernbench::hardware {

using topology::Endpoint;

namespace {

/// One port of a TCM serves both ends.
bool is_local(PeCoordinate pe, const MemoryPlace& place) {
  return place.buffer_kind == BufferKind::tcm && place.owner == pe;
}

}  // namespace

Endpoint memory_of(BufferKind buffer_kind, PeCoordinate owner) {
  switch (buffer_kind) {
    case BufferKind::hbm:
      return Endpoint::hbm_slice(owner);
    case BufferKind::sram:
      return Endpoint::sram({owner.sip, owner.cube});
    case BufferKind::tcm:
      break;
  }
  return Endpoint::pe_port(owner);
}

Stage MemoryPath::stage_of(const MemoryPlace& place, VirtualNetwork network) const {
  switch (place.buffer_kind) {
    case BufferKind::hbm:
      return transport_.channels(place.owner, network);
    case BufferKind::sram:
      return transport_.sram({place.owner.sip, place.owner.cube}, network);
    case BufferKind::tcm:
      break;
  }
  return transport_.tcm_port(place.owner, network);
}

// Addresses are local to the bytes where one server serves the whole memory, and to the slice where the address selects
// a channel. Chunks never cross a granule of the channels; whoever set the memory up has checked that they divide it.
void MemoryPath::move(const Sender& sender, std::vector<Stage> route, const MemoryPlace& place, sim::Callback departed,
                      sim::Callback delivered, TransferLog* log) {
  std::uint64_t address = 0;
  Bytes chunk = place.chunk;
  if (place.buffer_kind == BufferKind::hbm) {
    const std::int64_t slice = topology_.cube.hbm.capacity.count() / topology_.cube.pes.count();
    address = place.address.decode().offset - static_cast<std::uint64_t>(slice * place.owner.pe.value);
    chunk = std::min(chunk, topology_.cube.hbm.interleave);
  }
  transport_.transfer_in_chunks(sender, std::move(route), {{address, 1, place.bytes, 0}}, chunk, departed, delivered,
                                log);
}

void MemoryPath::write(const Sender& sender, PeCoordinate writer, const MemoryPlace& place, sim::Callback departed,
                       sim::Callback delivered, TransferLog* log) {
  const auto network = VirtualNetwork::request;
  std::vector<Stage> route{transport_.tcm_port(writer, network)};
  transport_.append_links(route, Endpoint::pe_port(writer), memory_of(place.buffer_kind, place.owner), network);
  if (!is_local(writer, place)) route.push_back(stage_of(place, network));
  move(sender, std::move(route), place, departed, delivered, log);
}

void MemoryPath::request(const Sender& sender, PeCoordinate reader, const MemoryPlace& place, sim::Callback delivered) {
  transport_.message(sender, Endpoint::pe_port(reader), memory_of(place.buffer_kind, place.owner),
                     VirtualNetwork::request, delivered);
}

void MemoryPath::read(const Sender& sender, PeCoordinate reader, const MemoryPlace& place, sim::Callback departed,
                      sim::Callback delivered) {
  const auto network = VirtualNetwork::response;
  std::vector<Stage> route;
  if (!is_local(reader, place)) route.push_back(stage_of(place, network));
  transport_.append_links(route, memory_of(place.buffer_kind, place.owner), Endpoint::pe_port(reader), network);
  route.push_back(transport_.tcm_port(reader, network));
  move(sender, std::move(route), place, departed, delivered, nullptr);
}

}  // namespace kernbench::hardware
