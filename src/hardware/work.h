// What a command has an engine do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "base/address.h"
#include "hardware/fabric/fabric.h"
#include "hardware/mmu/page_range.h"
#include "kernbench/coordinates.h"
#include "kernbench/dtype.h"
#include "kernbench/queues.h"
#include "kernbench/units.h"
#include "topology/engine_operations.h"

namespace kernbench::hardware {

inline Bytes bytes_of(std::span<const StridedRange> ranges) {
  Bytes sum;
  for (const StridedRange& range : ranges) sum += range.total();
  return sum;
}

/// The part of a DMA command that touches one memory: an HBM slice, or the SRAM of a cube.
struct DmaLeg {
  PeCoordinate slice;                       // of the SRAM: the PE by whose port its bytes go
  std::vector<StridedRange> ranges;         // addresses local to the slice, or to the SRAM
  AddressSpace memory = AddressSpace::hbm;  // or sram
  Bytes total() const { return bytes_of(ranges); }
  bool in_sram() const { return memory == AddressSpace::sram; }
  /// Whether both touch one memory.
  bool meets(const DmaLeg& other) const {
    if (memory != other.memory) return false;
    if (in_sram()) return slice.sip == other.slice.sip && slice.cube == other.slice.cube;
    return slice == other.slice;
  }
};

inline Bytes bytes_of(std::span<const DmaLeg> legs) {
  Bytes sum;
  for (const DmaLeg& leg : legs) sum += leg.total();
  return sum;
}

enum class DmaKind : std::uint8_t {
  read,       // HBM or SRAM to TCM
  write,      // TCM to HBM or SRAM
  atomic,     // a write that brings the old values back
  multicast,  // a read, together with other PEs
};

class Multicast;

/// The work of a DMA descriptor.
struct DmaWork {
  DmaKind kind = DmaKind::read;
  std::vector<DmaLeg> legs;
  std::vector<PageRange> pages = {};  // what the MMU translates for it; empty: its addresses are physical
  /// Of a multicast: which one, and which of its members the command is. The first one stands for the read.
  std::shared_ptr<Multicast> multicast = {};
  std::size_t member = 0;
  bool writes() const { return kind == DmaKind::write || kind == DmaKind::atomic; }
  /// Whether its bytes leave (or enter) the memory for this command: of a multicast for one of them.
  bool accesses_memory() const { return kind != DmaKind::multicast || member == 0; }
};

/// The work of a GEMM command: C[m,n] += A[m,k] B[k,n].
struct GemmWork {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  topology::GemmOperand operand = topology::GemmOperand::f16;
  std::int64_t fold_rows = 0, fold_columns = 0;  // of the array that a fold takes at most; 0: as many as there are
};

/// One operation of a fused vector command.
struct VectorStep {
  std::int64_t elements = 0;
  topology::VectorOperation operation = topology::VectorOperation::add;
  std::int64_t item_bytes = 4;
  std::int64_t reduced = 1;
  DType widest = DType::f32;
};

/// The work of a vector command: one operation on each of `elements` elements, or several operations whose inner values
/// pass registers.
struct VectorWork {
  std::int64_t elements = 0;
  topology::VectorOperation operation = topology::VectorOperation::add;
  std::int64_t item_bytes = 4;         // of the widest element type among operands and result
  std::int64_t reduced = 1;            // of a reduction: elements that become one
  Bytes operand_bytes{0};              // read and written in TCM
  std::vector<VectorStep> fused = {};  // instead of the first four: operations, in their order
  Bytes kept{0};                       // of these: what they would read and write besides, one by one

  /// Calls `visit` for each operation, in order; `widest` is that of an unfused one.
  template <typename Visit>
  void each(DType widest, Visit visit) const {
    if (fused.empty()) return visit(VectorStep{elements, operation, item_bytes, reduced, widest});
    for (const VectorStep& step : fused) visit(step);
  }
};

/// The work of a queue command: one message, sent or received.
struct MessageWork {
  bool sends = false;
  std::int32_t entry = 0;  // of the PE's table of channels to send, or to receive
  PhysAddr channel;        // its first slot
  std::uint32_t epoch = 0;
  std::uint64_t tag = 0;
  Bytes bytes;
};

/// What a signal does to its word.
enum class SignalUpdate : std::uint8_t { set, add };

/// The work of a one-sided command: bytes to or from the window of a PE, an update of one of its signal words, or bytes
/// and then an update.
struct WindowWork {
  PeCoordinate target;                       // whose window it is
  BufferKind buffer_kind = BufferKind::tcm;  // of its memory
  PhysAddr memory;                           // the first byte
  Bytes bytes;
  Bytes chunk;           // largest unit on the way
  bool reads = false;    // a get
  bool signals = false;  // it ends with an update of a word
  PhysAddr word;
  std::uint32_t epoch = 0;  // of the window's installation
  SignalUpdate update = SignalUpdate::set;
  std::int64_t value = 0;
};

/// In the order of EngineKind, but that both kinds of queue commands are of one.
using Work = std::variant<DmaWork, GemmWork, VectorWork, MessageWork, WindowWork>;

enum class EngineKind : std::uint8_t { dma, gemm, vector, ipcq };

}  // namespace kernbench::hardware
