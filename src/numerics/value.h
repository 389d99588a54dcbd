// Tiles as immutable values that are computed lazily.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_bytes.h"
#include "kernbench/dtype.h"
#include "numerics/memory/executor.h"
#include "numerics/scalar.h"
#include "numerics/shape.h"

namespace kernbench::numerics {

struct TileStorage;

/// A shared handle to an immutable N-dimensional tile, row-major and contiguous. Copying is cheap. Element type and
/// shape are known at once; the elements, and which of them are valid, once the value's task has run.
/// A value without data carries element type and shape only: every value under --no-data, and with an executor that
/// skips floating-point operations their results and what derives from them.
class Value {
 public:
  Value() = default;
  explicit Value(std::shared_ptr<TileStorage> storage) : storage_(std::move(storage)) {}

  bool defined() const { return storage_ != nullptr; }
  /// REQUIRES for all below: defined().
  DType dtype() const;
  const Shape& shape() const;
  std::int64_t numel() const { return shape().numel(); }
  std::int64_t bytes() const { return numel() * item_size(dtype()); }
  /// When false there will never be elements to read.
  bool has_data() const;
  /// The task that computes the elements; null when they are there.
  const TaskHandle& producer() const;

  const std::shared_ptr<TileStorage>& storage() const { return storage_; }

 private:
  std::shared_ptr<TileStorage> storage_;
};

/// The elements of a computed value. Good as long as a Value refers to the tile.
struct TileView {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
  /// For each lane kValid, or what made it invalid; empty when all lanes are valid.
  std::span<const SourceId> sources;
  const SourceTable* table = nullptr;

  bool valid(std::int64_t lane) const { return sources.empty() || sources[static_cast<std::size_t>(lane)] == kValid; }
  /// What made the lane invalid. REQUIRES: !valid(lane).
  Source source(std::int64_t lane) const { return table->at(sources[static_cast<std::size_t>(lane)]); }
  bool all_valid() const;
  /// The lane's value, valid or not.
  Scalar element(std::int64_t lane) const;
};

/// A value with the given elements (row-major, numel * item_size bytes). `validity`: one byte for each lane, 0 when it
/// is invalid; empty when all are valid.
/// Without data (executor disabled) the elements are dropped.
Value from_bytes(Executor& executor, DType dtype, const Shape& shape, std::span<const std::byte> bytes,
                 std::span<const std::uint8_t> validity = {});
/// Likewise, all valid, of bytes that need no copy.
Value from_bytes(Executor& executor, DType dtype, const Shape& shape, AlignedBytes bytes);

/// Computes `value` and what it needs, and shows it. REQUIRES: value.has_data(). Rethrows a task's error.
TileView view(Executor& executor, const Value& value);

struct Item {
  Scalar value;
  bool valid = true;
  Source source = {};  // when it is not valid
};
/// Computes and reads a one-element value. REQUIRES: value.has_data(), value.numel() == 1.
Item item(Executor& executor, const Value& value);

/// The bytes of a computed value, which has none from then on. REQUIRES: view() has shown it; nobody else has it.
AlignedBytes take_bytes(const Value& value);

/// Submits `look`, to be called with the computed value on any thread; what it throws becomes an error of the run under
/// `key` (assertions on values, checks). Nothing happens for a value without data.
TaskHandle inspect(Executor& executor, const OperationKey& key, const Value& value,
                   std::function<void(const TileView&)> look);

}  // namespace kernbench::numerics
