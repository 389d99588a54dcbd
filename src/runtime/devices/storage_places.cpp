#include "runtime/devices/storage_places.h"

#include "tile/memory/access.h"

namespace kernbench::runtime {

void append_place(Simulation& simulation, const SimulatedStorage& storage, const addressing::ShardPiece& piece,
                  std::vector<hardware::DmaLeg>& legs, std::vector<numerics::Piece>& pieces) {
  const auto target =
      simulation.environment().addresses.translate(piece.slice, piece.va, Bytes(addressing::span_bytes(piece)));
  tile::append_leg(legs, piece, target);
  tile::append_data(pieces, simulation.environment(), piece, target, item_size(storage.descriptor()->dtype));
}

StorageTransfer locate(Simulation& simulation, const SimulatedStorage& storage,
                       std::span<const tensor::DeviceBox> boxes, Replicas replicas) {
  StorageTransfer transfer;
  for (const tensor::DeviceBox& box : boxes) {
    const auto located = replicas == Replicas::all
                             ? addressing::locate_all_copies(*storage.descriptor(), box.offset, box.shape)
                             : addressing::locate_box(*storage.descriptor(), box.offset, box.shape);
    transfer.boxes.push_back({box.numel(), {}, {}});
    for (const auto& piece : located) {
      append_place(simulation, storage, piece, transfer.legs, transfer.boxes.back().pieces);
    }
  }
  return transfer;
}

}  // namespace kernbench::runtime
