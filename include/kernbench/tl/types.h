// The value types of the tile language: extents, tensors and pointers into them, scalars, tiles.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernbench/dtype.h"

namespace kernbench::addressing {
struct TensorDescriptor;
}  // namespace kernbench::addressing

namespace kernbench::tile {
class TileState;
}  // namespace kernbench::tile

namespace kernbench::tl {

using Where = std::source_location;

/// Up to eight extents or offsets, one for each dimension.
class Extents {
 public:
  static constexpr std::size_t kMaximumRank = 8;
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values);
  explicit Extents(std::span<const std::int64_t> values);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t dimension) const { return values_[dimension]; }
  std::int64_t& operator[](std::size_t dimension) { return values_[dimension]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::span<const std::int64_t> span() const;
  std::int64_t numel() const;
  bool operator==(const Extents& other) const;

 private:
  std::array<std::int64_t, kMaximumRank> values_{};
  std::size_t size_ = 0;
};

class Pointer;

/// A device tensor as a kernel parameter. A launch counts as writing every tensor that the kernel takes as `Tensor`.
class Tensor {
 public:
  explicit Tensor(std::shared_ptr<const addressing::TensorDescriptor> descriptor)
      : descriptor_(std::move(descriptor)) {}
  DType dtype() const;
  std::int64_t dim() const;
  std::int64_t size(std::int64_t dimension) const;
  std::int64_t numel() const;
  Extents shape() const;
  const addressing::TensorDescriptor& descriptor() const { return *descriptor_; }
  /// False for a parameter of type In, however it is passed on: a store to it is an error.
  bool writable() const { return writable_; }
  /// The tensor's first element.
  Pointer data_ptr() const;

  /// The boxes of this tensor that live in the calling PE's own HBM slice (offset and shape, in elements). Of an
  /// interleaved tensor, which lies in many slices, the PE's share of the work.
  struct Box {
    Extents offset;
    Extents shape;
  };
  std::size_t local_shard_count() const;
  Box local_shard(std::size_t index = 0) const;

 protected:
  Tensor(std::shared_ptr<const addressing::TensorDescriptor> descriptor, bool writable)
      : descriptor_(std::move(descriptor)), writable_(writable) {}

 private:
  std::shared_ptr<const addressing::TensorDescriptor> descriptor_;
  bool writable_ = true;
};

/// A tensor that the kernel only reads: a host read of it need not wait for the launch. A store to it does not compile,
/// and is a ValueError when it was passed on as a Tensor.
class In : public Tensor {
 public:
  explicit In(std::shared_ptr<const addressing::TensorDescriptor> descriptor) : Tensor(std::move(descriptor), false) {}
};

/// A C++ scalar in tile arithmetic: weakly typed, so that `f16_tile * 2.0f` is f16.
class Scalar {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value)  // NOLINT(google-explicit-constructor): scalars mix freely with tiles
      : kind_(std::is_same_v<T, bool> ? Kind::boolean
              : std::is_integral_v<T> ? Kind::integer
                                      : Kind::floating) {
    if constexpr (std::is_integral_v<T>)
      integer_ = static_cast<std::int64_t>(value);
    else
      floating_ = static_cast<double>(value);
  }
  enum class Kind : std::uint8_t { boolean, integer, floating };
  Kind kind() const { return kind_; }
  double as_double() const { return kind_ == Kind::floating ? floating_ : static_cast<double>(integer_); }
  /// REQUIRES: kind() != Kind::floating.
  std::int64_t as_integer() const { return integer_; }

 private:
  double floating_ = 0;
  std::int64_t integer_ = 0;
  Kind kind_;
};

/// An immutable N-dimensional value and its reservation in the PE's TCM. Copies share both; the reservation is given
/// back when the last copy is gone and all operations that use it have finished.
class Tile {
 public:
  Tile() = default;
  explicit Tile(std::shared_ptr<tile::TileState> state) : state_(std::move(state)) {}
  DType dtype() const;
  Extents shape() const;
  std::int64_t numel() const;
  std::int64_t size(std::int64_t dimension) const;
  bool defined() const { return state_ != nullptr; }
  const std::shared_ptr<tile::TileState>& state() const { return state_; }

  Tile& operator+=(const class Operand& other);
  Tile& operator-=(const class Operand& other);
  Tile& operator*=(const class Operand& other);
  Tile& operator/=(const class Operand& other);
  Tile& operator%=(const class Operand& other);
  Tile& operator&=(const class Operand& other);
  Tile& operator|=(const class Operand& other);
  Tile& operator^=(const class Operand& other);

 private:
  std::shared_ptr<tile::TileState> state_;
};

/// Either side of an arithmetic operator, with the source line where it was written.
class Operand {
 public:
  Operand(const Tile& tile, Where where = Where::current()) : tile_(tile), where_(where) {}  // NOLINT
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value, Where where = Where::current()) : scalar_(Scalar(value)), where_(where) {}  // NOLINT
  Operand(Scalar value, Where where = Where::current()) : scalar_(value), where_(where) {}     // NOLINT
  bool is_scalar() const { return scalar_.has_value(); }
  const Tile& tile() const { return tile_; }
  Scalar scalar() const { return *scalar_; }
  Where where() const { return where_; }

 private:
  Tile tile_;
  std::optional<Scalar> scalar_;
  Where where_;
};

/// One element of a tensor: pointer arithmetic counts elements in row-major order, wherever the placement has put them,
/// so a kernel reads alike under every placement. A pointer may leave the tensor; only an access there is an error.
class Pointer {
 public:
  Pointer(Tensor tensor, std::int64_t offset) : tensor_(std::move(tensor)), offset_(offset) {}
  const Tensor& tensor() const { return tensor_; }
  /// In elements from the tensor's first.
  std::int64_t offset() const { return offset_; }
  DType dtype() const { return tensor_.dtype(); }
  Pointer& operator+=(std::int64_t elements) { return offset_ += elements, *this; }
  Pointer& operator-=(std::int64_t elements) { return offset_ -= elements, *this; }
  friend Pointer operator+(Pointer pointer, std::int64_t elements) { return pointer += elements; }
  friend Pointer operator+(std::int64_t elements, Pointer pointer) { return pointer += elements; }
  friend Pointer operator-(Pointer pointer, std::int64_t elements) { return pointer -= elements; }

 private:
  Tensor tensor_;
  std::int64_t offset_;
};

/// A tile of pointers: `base` plus the elements of an integer tile. Where each lane points must be known when it is
/// used: at once when the offsets come from arange, full and scalars only, else after waiting for their value.
class PointerTile {
 public:
  PointerTile(Pointer base, Tile offsets) : base_(std::move(base)), offsets_(std::move(offsets)) {}
  const Pointer& base() const { return base_; }
  const Tile& offsets() const { return offsets_; }
  DType dtype() const { return base_.dtype(); }
  Extents shape() const { return offsets_.shape(); }

 private:
  Pointer base_;
  Tile offsets_;
};

/// A tensor with elements added is a pointer into it, from its first element on, as a pointer argument in Triton is.
PointerTile operator+(const Tensor& base, const Tile& offsets);
Pointer operator+(const Tensor& base, std::int64_t elements);
PointerTile operator+(const Pointer& base, const Tile& offsets);
PointerTile operator+(const Tile& offsets, const Pointer& base);
PointerTile operator+(const PointerTile& pointers, const Operand& offsets);
PointerTile operator+(const Operand& offsets, const PointerTile& pointers);
PointerTile operator-(const PointerTile& pointers, const Operand& offsets);

}  // namespace kernbench::tl
