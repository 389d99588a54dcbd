// The state behind a tl::Buffer: bytes of the TCM with an address each, and their reservation.
#pragma once

#include <cstdint>
#include <memory>

#include "addressing/tensor_descriptor.h"
#include "numerics/memory/memory.h"
#include "tile/program/tcm_object.h"

namespace kernbench::tile {

/// The bytes of a buffer; operations under way hold them without holding the buffer.
struct BufferBytes {
  BufferBytes(numerics::Executor& executor, addressing::TensorDescriptor box)
      : memory(executor), layout(std::move(box)) {}
  numerics::Memory memory;
  addressing::TensorDescriptor layout;  // one shard, at address 0 of `memory`
};

/// The layout of a dense buffer at address 0.
addressing::TensorDescriptor buffer_layout(const tl::Extents& shape, DType dtype, PeCoordinate owner);

/// The shared state behind tl::Buffer. Its lifetime is that of the handles.
class BufferState final : public TcmObject {
 public:
  BufferState(Program& program, const TcmObjectInfo& info, ReservationRef reservation);
  const std::shared_ptr<BufferBytes>& bytes() const { return bytes_; }

 private:
  std::shared_ptr<BufferBytes> bytes_;
};

/// The box of a buffer that an operation reads or writes.
struct BufferAccess {
  std::shared_ptr<BufferBytes> bytes;
  tl::Extents offsets, shape;
  std::uint64_t number = 0;  // of the buffer, among the objects of its program
  bool writes = false;
};

/// Whether two accesses touch a common byte.
bool overlap(const BufferAccess& a, const BufferAccess& b);

}  // namespace kernbench::tile
