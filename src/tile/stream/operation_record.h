// One operation of a program as the consumers of the stream see it.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "hardware/command.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench::tile {

class KernelCommand;
class Program;

/// A memory whose bytes an operation touches.
enum class MemoryKind : std::uint8_t { hbm, window, buffer, sram };

/// Bytes that an operation reads or writes.
struct ByteRange {
  MemoryKind memory = MemoryKind::hbm;
  PeCoordinate owner;            // whose HBM slice or window; of a buffer the program's PE; of an SRAM PE 0 of its cube
  std::uint64_t buffer = 0;      // TCM buffers: its number among the objects of its program
  hardware::StridedRange range;  // local to the slice, the window, the buffer or the SRAM
  bool writes = false;           // an atomic writes, and so does what reads and writes
};

/// Something that was over before the operation began, so that what it did is seen.
struct HappensBefore {
  enum class Reason : std::uint8_t {
    operand,  // it made a tile that the operation reads
    order,    // both touch the same bytes, or a fence or memory order stands between them
    message,  // the send of the message that a receive took
    read,     // of a multicast the read of its first member, which brought the bytes to all
  };
  hardware::CommandName before;
  Reason reason = Reason::operand;
};

/// What is known of an operation that has finished. Refers to it: good during the call that shows it.
class OperationRecord {
 public:
  explicit OperationRecord(const KernelCommand& command) : command_(command) {}

  sim::AgentId agent() const;
  std::uint64_t number() const;  // in program order
  const char* kind() const;      // "load"
  hardware::EngineKind engine() const;
  const hardware::Work& work() const;
  const hardware::CommandQueue* queue() const;
  const Program& program() const;
  const std::source_location& where() const;  // the line of the kernel
  const hardware::Timeline& times() const;    // and what ended each wait
  /// It changes memory: HBM, SRAM, a window or a TCM buffer.
  bool writes() const;
  /// Numbers of the tiles that it reads, in the order of its operands; of the tile that it makes, or kNoTile.
  static constexpr std::uint64_t kNoTile = ~std::uint64_t{0};
  std::span<const std::uint64_t> reads_tiles() const;
  std::uint64_t makes_tile() const;
  /// Kept only for consumers that subscribe to Topic::edges.
  std::span<const HappensBefore> happens_before() const;

  /// Calls visit(const ByteRange&) for each.
  template <class Visit>
  void for_each_range(Visit visit) const {
    struct Adapter final : RangeVisitor {
      explicit Adapter(Visit& to) : visit(to) {}
      void on_range(const ByteRange& range) override { visit(range); }
      Visit& visit;
    } adapter(visit);
    visit_ranges(adapter);
  }

  const KernelCommand& command() const { return command_; }

 private:
  struct RangeVisitor {
    virtual void on_range(const ByteRange& range) = 0;

   protected:
    ~RangeVisitor() = default;
  };
  void visit_ranges(RangeVisitor& visitor) const;

  const KernelCommand& command_;
};

/// " tcm:tile0 tcm:tile1 -> tcm:tile2", for logs; of an atomic with its scope.
std::string operand_text(const OperationRecord& operation);

}  // namespace kernbench::tile
