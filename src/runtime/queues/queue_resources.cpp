#include "runtime/queues/queue_resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/address.h"
#include "base/text.h"
#include "hardware/ipcq/ipcq.h"
#include "kernbench/error.h"
#include "runtime/queues/out_of_slots.h"

namespace kernbench::runtime {

namespace {

constexpr Bytes kSlotAlignment{64};  // assumption: one line of the memories

Bytes slot_bytes(const hardware::Channel& channel) {
  return channel.parameters.slot_size * channel.parameters.n_slots;
}

std::uint64_t slice_start(const topology::Topology& topology, PeId pe) {
  return static_cast<std::uint64_t>(topology.cube.hbm.capacity.count() / topology.cube.pes.count() * pe.value);
}

}  // namespace

std::int32_t QueueResources::take_entry(Entries& entries, PeCoordinate pe) {
  auto& [taken, count] = entries[pe];
  taken.resize(static_cast<std::size_t>(topology_.pe.ipcq.queues));
  const auto free = std::ranges::find(taken, false);
  const auto entry = static_cast<std::int32_t>(free - taken.begin());
  hardware::check_entry(pe, entry, topology_);
  *free = true;
  ++count;
  return entry;
}

void QueueResources::drop_entry(Entries& entries, PeCoordinate pe, std::int32_t entry) {
  Table& table = entries[pe];
  table.taken[static_cast<std::size_t>(entry)] = false;
  --table.count;
}

bool QueueResources::has_entries(const Entries& entries, PeCoordinate pe, std::int64_t channels) const {
  const auto table = entries.find(pe);
  return (table == entries.end() ? 0 : table->second.count) + channels <= topology_.pe.ipcq.queues;
}

bool QueueResources::can_receive(PeCoordinate pe, const QueueParameters& parameters, std::int64_t channels,
                                 std::int64_t pes) {
  if (!has_entries(receives_, pe, channels)) return false;
  const Bytes needed = parameters.slot_size * parameters.n_slots;
  const CubeCoordinate cube{pe.sip, pe.cube};
  switch (parameters.buffer_kind) {
    case BufferKind::hbm:
      return memory_.free_bytes(pe) >= needed * channels;
    case BufferKind::sram:
      return sram(cube).room_for(needed) >= channels * pes;
    case BufferKind::tcm:
      break;
  }
  return queue_memory(pe).room_for(needed) >= channels;
}

tensor::SliceAllocator& QueueResources::queue_memory(PeCoordinate pe) {
  return queue_memories_.try_emplace(pe, topology_.pe.ipcq.capacity, kSlotAlignment).first->second;
}

tensor::SliceAllocator& QueueResources::sram(CubeCoordinate cube) {
  return srams_.try_emplace(cube, topology_.cube.sram.capacity, kSlotAlignment).first->second;
}

tensor::SliceAllocator& QueueResources::signal_words(PeCoordinate pe) {
  const Bytes registers = hardware::kSignalWord * topology_.pe.ipcq.signals;
  return signal_words_.try_emplace(pe, registers, hardware::kSignalWord).first->second;
}

std::optional<PhysAddr> QueueResources::take(const Place& place, Bytes bytes) {
  const PeCoordinate at = place.owner;
  switch (place.buffer_kind) {
    case BufferKind::hbm: {
      const auto address = memory_.reserve(at, bytes);
      if (!address) return std::nullopt;
      return hbm_slice_address(at, memory_.slice_capacity(), *address);
    }
    case BufferKind::sram: {
      const auto address = sram({at.sip, at.cube}).allocate(bytes);
      if (!address) return std::nullopt;
      return sram_address({at.sip, at.cube}, *address);
    }
    case BufferKind::tcm:
      break;
  }
  const auto address = queue_memory(at).allocate(bytes);
  if (!address) return std::nullopt;
  return PhysAddr::encode(
      {.sip = at.sip, .cube = at.cube, .space = AddressSpace::ipcq, .pe = at.pe, .offset = *address});
}

void QueueResources::give_back(const Place& place, PhysAddr address, Bytes bytes) {
  const PeCoordinate at = place.owner;
  const std::uint64_t offset = address.decode().offset;
  switch (place.buffer_kind) {
    case BufferKind::hbm:
      return memory_.give_back(at, offset - slice_start(topology_, at.pe), bytes);
    case BufferKind::sram:
      return sram({at.sip, at.cube}).free(offset, bytes);
    case BufferKind::tcm:
      return queue_memory(at).free(offset, bytes);
  }
}

QueueResources::Room QueueResources::room(const Place& place) {
  const PeCoordinate at = place.owner;
  const CubeCoordinate cube{at.sip, at.cube};
  switch (place.buffer_kind) {
    case BufferKind::hbm:
      return {to_text(at) + ".hbm", memory_.free_bytes(at), memory_.slice_capacity()};
    case BufferKind::sram:
      return {to_text(cube) + ".sram", sram(cube).free_bytes(), sram(cube).capacity()};
    case BufferKind::tcm:
      break;
  }
  return {to_text(at) + ".ipcq", queue_memory(at).free_bytes(), queue_memory(at).capacity()};
}

void QueueResources::out_of_slots(const hardware::Channel& channel) {
  const Room left = room({channel.parameters.buffer_kind, channel.receiver});
  const std::int32_t slots = channel.parameters.n_slots;
  throw OutOfSlotsError(
      fmt::format("out of memory for queues in {}: the channel from {} to {} needs {} ({} slots of {}), and {} of {} "
                  "are free; use fewer or smaller slots, fewer channels, or another buffer_kind",
                  left.memory, to_text(channel.sender), to_text(channel.receiver), to_text(slot_bytes(channel)), slots,
                  to_text(channel.parameters.slot_size), to_text(left.free), to_text(left.capacity)),
      left.memory, slots);
}

void QueueResources::assign(tile::QueueRow& row) {
  hardware::Channel& channel = row.channel;
  channel.epoch = epochs_;
  channel.send_entry = take_entry(sends_, channel.sender);
  try {
    channel.receive_entry = take_entry(receives_, channel.receiver);
  } catch (...) {
    drop_entry(sends_, channel.sender, channel.send_entry);
    throw;
  }
  if (const auto slots = take({channel.parameters.buffer_kind, channel.receiver}, slot_bytes(channel))) {
    channel.slots = *slots;
    return;
  }
  drop_entry(sends_, channel.sender, channel.send_entry);
  drop_entry(receives_, channel.receiver, channel.receive_entry);
  out_of_slots(channel);
}

void QueueResources::assign(hardware::Window& window) {
  const Place place{window.buffer_kind, window.owner};
  window.epoch = epochs_;
  if (window.bytes > Bytes(0)) {
    const auto memory = take(place, window.bytes);
    if (!memory) {
      const Room left = room(place);
      throw OutOfMemoryError(fmt::format(
          "out of memory for windows in {}: the window of {} needs {}, and {} of {} are free; use a smaller window, or "
          "another buffer_kind",
          left.memory, to_text(window.owner), to_text(window.bytes), to_text(left.free), to_text(left.capacity)));
    }
    window.memory = *memory;
  }
  if (window.words == 0) return;
  tensor::SliceAllocator& registers = signal_words(window.owner);
  const auto words = registers.allocate(hardware::kSignalWord * window.words);
  if (!words) {
    if (window.bytes > Bytes(0)) give_back(place, window.memory, window.bytes);
    throw OutOfMemoryError(
        fmt::format("out of signal words on {}: a window needs {}, those of its barriers included, and {} of {} are "
                    "free; use fewer signals or raise pe.ipcq.signals",
                    to_text(window.owner), window.words, registers.free_bytes().count() / hardware::kSignalWord.count(),
                    registers.capacity().count() / hardware::kSignalWord.count()));
  }
  const PeCoordinate at = window.owner;
  window.signals = PhysAddr::encode(
      {.sip = at.sip, .cube = at.cube, .space = AddressSpace::registers, .pe = at.pe, .offset = *words});
}

void QueueResources::assign(std::vector<hardware::Window>& windows) {
  std::size_t done = 0;
  try {
    for (; done < windows.size(); ++done) assign(windows[done]);
  } catch (...) {
    while (done > 0) release(windows[--done]);
    throw;
  }
}

void QueueResources::release(const hardware::Window& window) {
  if (window.bytes > Bytes(0)) give_back({window.buffer_kind, window.owner}, window.memory, window.bytes);
  if (window.words == 0) return;
  signal_words(window.owner).free(window.signals.decode().offset, hardware::kSignalWord * window.words);
}

void QueueResources::assign(tile::QueueTable& table) {
  assign(table.rows());
  if (table.windows() == nullptr) return;
  try {
    assign(table.windows()->rows());
  } catch (...) {
    release(table.rows());
    throw;
  }
}

void QueueResources::release(tile::QueueTable& table) {
  release(table.rows());
  if (table.windows() == nullptr) return;
  for (const hardware::Window& window : table.windows()->rows()) release(window);
}

void QueueResources::assign(std::vector<tile::QueueRow>& rows) {
  ++epochs_;
  std::vector<tile::QueueRow> done;
  try {
    for (tile::QueueRow& row : rows) {
      assign(row);
      done.push_back(row);
    }
  } catch (...) {
    release(done);
    throw;
  }
}

void QueueResources::release(const std::vector<tile::QueueRow>& rows) {
  for (const tile::QueueRow& row : rows) {
    const hardware::Channel& channel = row.channel;
    drop_entry(sends_, channel.sender, channel.send_entry);
    drop_entry(receives_, channel.receiver, channel.receive_entry);
    give_back({channel.parameters.buffer_kind, channel.receiver}, channel.slots, slot_bytes(channel));
  }
}

}  // namespace kernbench::runtime
