// The storage behind a Value, and how operations make new ones.
#pragma once

#include <cassert>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "base/aligned_bytes.h"
#include "numerics/value.h"

namespace kernbench::numerics {

/// The elements of a tile. Written by one task, read by tasks that depend on it.
struct TileContents {
  AlignedBytes bytes;
  std::vector<SourceId> sources;  // of each lane: kValid, or what made it invalid; empty: all are valid

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

struct TileStorage {
  DType dtype;
  Shape shape;
  TaskHandle producer;                     // used by the simulation thread only
  std::shared_ptr<TileContents> contents;  // null without data; shared by reshaped values
};

/// An operand as a task captures it: it keeps the elements alive, without the handle.
struct Operand {
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<const TileContents> contents;

  /// REQUIRES: value.defined().
  explicit Operand(const Value& value)
      : dtype(value.dtype()), shape(value.shape()), contents(value.storage()->contents) {}
  const std::byte* data() const { return contents->bytes.data(); }
  const std::vector<SourceId>& sources() const { return contents->sources; }
  bool has_mask() const { return !contents->sources.empty(); }
  /// What made the lane invalid; kValid when it is valid.
  SourceId source(std::int64_t lane) const {
    return has_mask() ? contents->sources[static_cast<std::size_t>(lane)] : kValid;
  }
};

using ComputeFunction = std::function<void(TileContents& out)>;

/// A new value whose elements `body` computes from `inputs` into a buffer that it finds allocated. The task does
/// nothing when by then nobody refers to the value any more. Undefined inputs do not count; one without data makes a
/// result without data.
Value compute(Executor& executor, DType dtype, const Shape& shape, std::initializer_list<const Value*> inputs,
              ComputeFunction body, const OperationKey& key = {}, std::vector<TaskHandle> dependencies = {},
              When when = When::soon);

/// Likewise for operations that calculate rather than move elements: those an executor may skip.
Value calculate(Executor& executor, DType dtype, const Shape& shape, std::initializer_list<const Value*> inputs,
                ComputeFunction body);
/// Whether `calculate` would yield a value without data.
bool left_out(const Executor& executor, DType dtype, std::initializer_list<const Value*> inputs);
/// A value that will never have elements.
Value without_data(DType dtype, const Shape& shape);
/// Whether one of the defined values has no data.
bool lacks_data(std::initializer_list<const Value*> values);

}  // namespace kernbench::numerics
