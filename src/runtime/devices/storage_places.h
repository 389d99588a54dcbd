// The places of the bytes of a storage's boxes: for the copy engine, and for the values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "addressing/locate.h"
#include "hardware/command.h"
#include "hardware/copy/copy_engine.h"
#include "numerics/memory/memory.h"
#include "runtime/devices/simulated_storage.h"
#include "runtime/simulation.h"
#include "tensor/device_backend.h"

namespace kernbench::runtime {

/// A box of a storage: its number of elements, the places that hold them, and in between a copy's two ends the elements
/// themselves.
struct BoxTransfer {
  std::int64_t elements = 0;
  std::vector<numerics::Piece> pieces;
  numerics::Value value;
};

/// What a copy from or to a storage consists of.
struct StorageTransfer {
  std::vector<hardware::DmaLeg> legs;  // one for each slice
  std::vector<BoxTransfer> boxes;
};

/// Which of a box's replicas: that with the lowest coordinate, or every one.
enum class Replicas : std::uint8_t { lowest, all };

StorageTransfer locate(Simulation& simulation, const SimulatedStorage& storage,
                       std::span<const tensor::DeviceBox> boxes, Replicas replicas);

/// The place of one piece, and what a leg of its slice has to move.
void append_place(Simulation& simulation, const SimulatedStorage& storage, const addressing::ShardPiece& piece,
                  std::vector<hardware::DmaLeg>& legs, std::vector<numerics::Piece>& pieces);

}  // namespace kernbench::runtime
