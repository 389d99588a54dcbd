// What ranges of memories held at one instant, to be put back when what was written since must not count.
#pragma once

#include <memory>
#include <span>

#include "numerics/memory/memory.h"

namespace kernbench::numerics {

/// Contents of pieces of memories, with their validity. Calls are made by the simulation thread in simulated order, and
/// are as if each took effect at the call. A range that fills what one call of Memory::map has made costs nothing until
/// somebody writes it. Memory that has been unmapped meanwhile is not touched. Empty under --no-data.
class KeptContents {
 public:
  /// Keeps what the pieces hold now. They may overlap. Throws OutOfBoundsError when one leaves mapped memory.
  KeptContents(Executor& executor, const OperationKey& key, std::span<const Piece> pieces);
  ~KeptContents();
  KeptContents(const KeptContents&) = delete;
  KeptContents& operator=(const KeptContents&) = delete;

  /// The pieces hold that again.
  void put_back(const OperationKey& key) const;

 private:
  struct Parts;
  Executor& executor_;
  std::shared_ptr<Parts> parts_;
};

}  // namespace kernbench::numerics
