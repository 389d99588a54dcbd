// Entries of the PEs' neighbour tables, and memory for slots and for what programs share: who has which.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/coordinates.h"
#include "tensor/placement/device_memory.h"
#include "tensor/placement/slice_allocator.h"
#include "tile/messages/queue_table.h"
#include "tile/program/environment.h"
#include "topology/spec.h"

namespace kernbench::runtime {

class QueueResources final : public tile::SramRooms {
 public:
  /// The references must outlive it.
  QueueResources(const topology::Topology& topology, tensor::DeviceMemory& memory)
      : topology_(topology), memory_(memory) {}

  /// Gives every row the lowest free entries and a block of slots, every window its bytes and signal words, and all of
  /// them an epoch of their own. ValueError when a PE has no entry left, OutOfMemoryError when a memory has no room;
  /// nothing is taken then.
  void assign(tile::QueueTable& table);
  void release(tile::QueueTable& table);
  /// Whether so many channels from the PE find entries; and whether so many to it, and to each of `pes` PEs of its
  /// cube, find entries and memory for their slots.
  bool can_send(PeCoordinate pe, std::int64_t channels) const { return has_entries(sends_, pe, channels); }
  bool can_receive(PeCoordinate pe, const QueueParameters& parameters, std::int64_t channels, std::int64_t pes);

  std::optional<std::uint64_t> take_sram(CubeCoordinate cube, Bytes bytes) override {
    return sram(cube).allocate(bytes);
  }
  void give_back_sram(CubeCoordinate cube, std::uint64_t offset, Bytes bytes) override {
    sram(cube).free(offset, bytes);
  }
  Bytes free_sram(CubeCoordinate cube) override { return sram(cube).free_bytes(); }

 private:
  /// The entries of a PE's table.
  struct Table {
    std::vector<bool> taken;
    std::int32_t count = 0;  // of those
  };
  using Entries = std::map<PeCoordinate, Table>;
  std::int32_t take_entry(Entries& entries, PeCoordinate pe);
  static void drop_entry(Entries& entries, PeCoordinate pe, std::int32_t entry);
  bool has_entries(const Entries& entries, PeCoordinate pe, std::int64_t channels) const;
  void assign(tile::QueueRow& row);
  void assign(std::vector<tile::QueueRow>& rows);
  void release(const std::vector<tile::QueueRow>& rows);
  void assign(hardware::Window& window);
  void assign(std::vector<hardware::Window>& windows);
  void release(const hardware::Window& window);
  /// Memory of a PE for communication.
  struct Place {
    BufferKind buffer_kind;
    PeCoordinate owner;
  };
  std::optional<PhysAddr> take(const Place& place, Bytes bytes);
  void give_back(const Place& place, PhysAddr address, Bytes bytes);
  /// "sip0.cube0.sram", and what is free of it and there is.
  struct Room {
    std::string memory;
    Bytes free, capacity;
  };
  Room room(const Place& place);
  [[noreturn]] void out_of_slots(const hardware::Channel& channel);
  tensor::SliceAllocator& queue_memory(PeCoordinate pe);
  tensor::SliceAllocator& sram(CubeCoordinate cube);
  tensor::SliceAllocator& signal_words(PeCoordinate pe);

  const topology::Topology& topology_;
  tensor::DeviceMemory& memory_;
  std::uint32_t epochs_ = 0;
  Entries sends_, receives_;
  std::map<PeCoordinate, tensor::SliceAllocator> queue_memories_, signal_words_;
  std::map<CubeCoordinate, tensor::SliceAllocator> srams_;
};

}  // namespace kernbench::runtime
