#include "runtime/storage_places.h"

#include "kernel/access.h"

namespace kernbench::runtime {

void append_place(Simulation& simulation, const SimulatedStorage& storage, const kernel::ShardPiece& piece,
                  std::vector<hardware::DmaLeg>& legs, std::vector<data::Piece>& pieces) {
  const auto target =
      simulation.environment().addresses.translate(piece.slice, piece.va, Bytes(kernel::span_bytes(piece)));
  kernel::append_leg(legs, piece, target);
  pieces.push_back(kernel::data_piece(simulation.environment(), piece, target, item_size(storage.descriptor()->dtype)));
}

StorageTransfer locate(Simulation& simulation, const SimulatedStorage& storage, std::span<const DeviceBox> boxes,
                       Replicas replicas) {
  StorageTransfer transfer;
  for (const DeviceBox& box : boxes) {
    const auto located = replicas == Replicas::all
                             ? kernel::locate_all_copies(*storage.descriptor(), box.offset, box.shape)
                             : kernel::locate_box(*storage.descriptor(), box.offset, box.shape);
    transfer.boxes.push_back({box.numel(), {}, {}});
    for (const auto& piece : located) {
      append_place(simulation, storage, piece, transfer.legs, transfer.boxes.back().pieces);
    }
  }
  return transfer;
}

}  // namespace kernbench::runtime
