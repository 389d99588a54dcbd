// Byte memories with shadow validity: the contents of an HBM slice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "numerics/memory/executor.h"
#include "numerics/value.h"

namespace kernbench::numerics {

class Region;

/// The byte contents of one memory (an HBM slice, say), with shadow validity for each byte. Only mapped ranges exist.
///
/// All calls are made by the simulation thread in simulated order, and results are as if each took effect at the call:
/// tasks bind to the contents at that instant, however late they run. Under --no-data no bytes are held.
class Memory {
 public:
  explicit Memory(Executor& executor) : executor_(executor) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Makes [address, address + bytes) exist, with invalid contents, or with zeros. `start` names its first byte.
  /// REQUIRES: it overlaps nothing mapped.
  void map(std::uint64_t address, std::int64_t bytes, bool zeros = false, NamedPlace start = {});
  /// Ends the existence of the ranges mapped within [address, address + bytes). Values gathered before stay good.
  /// REQUIRES: it holds whole mapped ranges.
  void unmap(std::uint64_t address, std::int64_t bytes);
  bool mapped(std::uint64_t address, std::int64_t bytes) const;

  struct Contents {
    std::vector<std::byte> bytes;
    /// One byte for each byte, 1 when valid; empty when all are valid.
    std::vector<std::uint8_t> validity;
  };
  /// Reads bytes for the host: waits (on the host) for the tasks that write them. Where a value without data was
  /// written it reads what was there before. REQUIRES: mapped, executor enabled.
  Contents read(std::uint64_t address, std::int64_t bytes);
  /// Writes bytes from the host, all valid unless `validity` says otherwise (one byte for each byte).
  void write(std::uint64_t address, std::span<const std::byte> bytes, std::span<const std::uint8_t> validity = {});

  /// The mapped range at this address has its bytes together with another one, which one scatter has filled alike; for
  /// tests. REQUIRES: mapped; what was written before has been computed.
  bool shares_bytes(std::uint64_t address) const;

  Executor& executor() const { return executor_; }

 private:
  friend class AccessPlan;
  std::shared_ptr<Region> find(std::uint64_t address) const;

  Executor& executor_;
  std::map<std::uint64_t, std::shared_ptr<Region>> regions_;  // by first address
};

/// A strided block of one memory and its place in a tile: row r is `row_bytes` bytes at `address + r * stride`, and
/// goes to (or comes from) the elements from `offset + r * row_stride` of the tile, in row-major order. row_bytes is a
/// multiple of the element size.
struct Piece {
  Memory* memory = nullptr;
  std::uint64_t address = 0;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t stride = 0;      // bytes between rows in memory
  std::int64_t offset = 0;      // elements
  std::int64_t row_stride = 0;  // elements between rows in the tile
};

/// Reads a tile from memory. Lanes that no piece covers are `other` when given, else invalid for the reason
/// `uncovered`. A lane with an invalid byte is invalid. A byte of a value without data makes a value without data.
/// Throws OutOfBoundsError when a piece leaves mapped memory.
Value gather(Executor& executor, const OperationKey& key, DType dtype, const Shape& shape,
             std::span<const Piece> pieces, std::optional<Scalar> other = std::nullopt,
             Cause uncovered = Cause::outside, When when = When::soon);

/// Writes a tile to memory; invalid lanes make their bytes invalid, lanes that no piece covers are dropped. Where
/// pieces overlap in memory, the later piece wins. Throws OutOfBoundsError when a piece leaves mapped memory.
/// With a `mask` (boolean, of the value's shape) lanes that are false leave their bytes as they were; a lane whose mask
/// is invalid makes them invalid. A value or mask without data leaves all bytes of the pieces without data; a write of
/// some lanes (with a mask) does not end that.
void scatter(Executor& executor, const OperationKey& key, const Value& value, std::span<const Piece> pieces,
             const Value& mask = {});

enum class AtomicOperation : std::uint8_t {
  add,      // floats round once; integers wrap; booleans: or
  maximum,  // of floats: the other one when one is NaN; -0 < +0
  minimum,
  bit_and,  // bits: of integers and booleans
  bit_or,
  bit_xor,
  exchange,
  compare_exchange,  // writes the operand where memory has the bits of `compare`
};

/// Reads, modifies and writes elements of memory; yields what was there before. Lane by lane in row-major order, so
/// that lanes which name one element act one after the other (pieces may overlap in memory). `operand`, and `compare`
/// for compare_exchange, have the shape and element type of the result; the operation is done in the element type (f8,
/// f16 and bf16 in f32, rounded once). Lanes that no piece covers, or whose mask (boolean, of the shape; undefined: all
/// true) is false, change nothing and yield invalid 0. A lane whose mask is invalid yields the old element, invalid,
/// and makes its bytes invalid. Otherwise the bytes that are left are valid when those that they depend on were:
/// exchange needs the operand, the others the old element too (compare_exchange also `compare`). The result's lane is
/// as valid as the old element. Throws OutOfBoundsError when a piece leaves mapped memory.
Value atomic(Executor& executor, const OperationKey& key, AtomicOperation operation, std::span<const Piece> pieces,
             const Value& operand, const Value& compare, const Value& mask, DType dtype, const Shape& shape);

}  // namespace kernbench::numerics
