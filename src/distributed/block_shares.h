// Which PE moves which elements of the blocks of a collective.
//
// The PE that holds an element of the result receives it, where all ranks can tell which one that is; else the PEs
// share the elements of a block out evenly. What a PE does not hold itself it loads from or stores to another PE of its
// SIP, by DMA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "distributed/algorithms/blocks.h"
#include "kernbench/coordinates.h"

namespace kernbench::distributed {

/// Elements of a device tensor in row-major order: a block, as the host sees it.
struct BlockPlace {
  const addressing::TensorDescriptor* tensor = nullptr;
  std::int64_t offset = 0, elements = 0;
};

/// The shares of all PEs of a rank in all blocks.
class BlockShares {
 public:
  explicit BlockShares(std::size_t blocks = 0) : none_(blocks) {}

  /// Each PE has what it holds of the block; of replicas each.
  void add_held(std::size_t block, const BlockPlace& place);
  /// Each of the PEs has an equal part of the block, the last ones less or nothing.
  void add_even(std::size_t block, std::span<const PeCoordinate> pes, std::int64_t elements);
  /// Of a PE: one for each block, empty where it has no share.
  std::span<const Pieces> of(PeCoordinate pe) const;
  /// Those that have a share of some block, ascending.
  std::vector<PeCoordinate> pes() const;
  /// Equal for equal shares, on whatever SIP; with one PE for each rank on whatever PE.
  std::uint64_t fingerprint(bool pes) const;

 private:
  Pieces& share(PeCoordinate pe, std::size_t block);

  std::vector<Pieces> none_;
  std::map<PeCoordinate, std::vector<Pieces>> shares_;
};

/// Whether some elements of a tensor lie on more than one PE.
bool has_replicas(const addressing::TensorDescriptor& tensor);

}  // namespace kernbench::distributed
