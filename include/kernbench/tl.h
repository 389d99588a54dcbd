// The tile language: what a kernel is written in. A kernel is an ordinary C++ function; one instance of it runs on each
// PE of a launch. Operations are issued in program order and run asynchronously on the PE's engines, each starting when
// its operands are ready and its engine is free.
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

#include "kernbench/dtype.h"

namespace kernbench::kernel {
struct TensorDescriptor;
class TileState;
}  // namespace kernbench::kernel

namespace kernbench::tl {

using Where = std::source_location;

/// Up to eight extents or offsets, one for each dimension.
class Extents {
 public:
  static constexpr std::size_t kMaximumRank = 8;
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values) : Extents(std::span(values.begin(), values.size())) {}
  explicit Extents(std::span<const std::int64_t> values);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t dimension) const { return values_[dimension]; }
  std::int64_t& operator[](std::size_t dimension) { return values_[dimension]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::span<const std::int64_t> span() const { return {values_.data(), size_}; }
  std::int64_t numel() const;
  bool operator==(const Extents& other) const;

 private:
  std::array<std::int64_t, kMaximumRank> values_{};
  std::size_t size_ = 0;
};

/// A device tensor as a kernel parameter. A launch counts as writing every tensor that the kernel takes as `Tensor`.
class Tensor {
 public:
  explicit Tensor(std::shared_ptr<const kernel::TensorDescriptor> descriptor) : descriptor_(std::move(descriptor)) {}
  DType dtype() const;
  std::int64_t dim() const;
  std::int64_t size(std::int64_t dimension) const;
  std::int64_t numel() const;
  Extents shape() const;
  const kernel::TensorDescriptor& descriptor() const { return *descriptor_; }
  /// False for a parameter of type In, however it is passed on: a store to it is an error.
  bool writable() const { return writable_; }

  /// The boxes of this tensor that live in the calling PE's own HBM slice (offset and shape, in elements).
  struct Box {
    Extents offset;
    Extents shape;
  };
  std::size_t local_shard_count() const;
  Box local_shard(std::size_t index = 0) const;

 protected:
  Tensor(std::shared_ptr<const kernel::TensorDescriptor> descriptor, bool writable)
      : descriptor_(std::move(descriptor)), writable_(writable) {}

 private:
  std::shared_ptr<const kernel::TensorDescriptor> descriptor_;
  bool writable_ = true;
};

/// A tensor that the kernel only reads: a host read of it need not wait for the launch. A store to it does not compile,
/// and is a ValueError when it was passed on as a Tensor.
class In : public Tensor {
 public:
  explicit In(std::shared_ptr<const kernel::TensorDescriptor> descriptor) : Tensor(std::move(descriptor), false) {}
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
  explicit Tile(std::shared_ptr<kernel::TileState> state) : state_(std::move(state)) {}
  DType dtype() const;
  Extents shape() const;
  std::int64_t numel() const;
  std::int64_t size(std::int64_t dimension) const;
  bool defined() const { return state_ != nullptr; }
  const std::shared_ptr<kernel::TileState>& state() const { return state_; }

  Tile& operator+=(const class Operand& other);
  Tile& operator-=(const class Operand& other);
  Tile& operator*=(const class Operand& other);
  Tile& operator/=(const class Operand& other);

 private:
  std::shared_ptr<kernel::TileState> state_;
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

// ---- identity --------------------------------------------------------------------------------------------------

/// This instance's index in the launch, counting its PEs cube by cube, PE by PE. Only axis 0 has more than one.
std::int64_t program_id(int axis = 0, Where where = Where::current());
/// Number of instances of the launch.
std::int64_t num_programs(int axis = 0, Where where = Where::current());
/// Where this instance runs.
std::int64_t device_id(Where where = Where::current());
std::int64_t cube_id(Where where = Where::current());
std::int64_t pe_id(Where where = Where::current());

// ---- memory ----------------------------------------------------------------------------------------------------

struct LoadOptions {
  /// Value of the lanes outside of the tensor. Without it they are invalid: using one in an address, a branch, a host
  /// read or a check is an error.
  std::optional<Scalar> other = std::nullopt;
};

/// Loads the box of `shape` elements at `offsets` into a tile: HBM to TCM by DMA. Lanes past the end are masked
/// (see LoadOptions::other); a negative offset or an offset beyond the end is an OutOfBoundsError.
/// Rank of offsets and shape is that of the tensor.
Tile load(const Tensor& tensor, Extents offsets, Extents shape, LoadOptions options = {},
          Where where = Where::current());

/// Stores `value` at `offsets`; lanes past the end are dropped. The value is cast to the tensor's element type.
/// Operations of one instance on overlapping bytes take effect in program order.
void store(const Tensor& tensor, Extents offsets, const Tile& value, Where where = Where::current());
void store(const In& tensor, Extents offsets, const Tile& value, Where where = Where::current()) = delete;

// ---- making tiles ----------------------------------------------------------------------------------------------

/// A tile of one value (vector engine).
Tile full(Extents shape, Scalar value, DType dtype, Where where = Where::current());
Tile zeros(Extents shape, DType dtype, Where where = Where::current());

// ---- arithmetic (vector engine; numpy broadcasting, Triton's promotion) ----------------------------------------

Tile operator+(const Operand& a, const Operand& b);
Tile operator-(const Operand& a, const Operand& b);
Tile operator*(const Operand& a, const Operand& b);
/// True division; integers promote to f32.
Tile operator/(const Operand& a, const Operand& b);
Tile operator-(const Operand& a);
Tile operator<(const Operand& a, const Operand& b);
Tile operator<=(const Operand& a, const Operand& b);
Tile operator>(const Operand& a, const Operand& b);
Tile operator>=(const Operand& a, const Operand& b);
Tile operator==(const Operand& a, const Operand& b);
Tile operator!=(const Operand& a, const Operand& b);
Tile maximum(const Operand& a, const Operand& b);
Tile minimum(const Operand& a, const Operand& b);
/// e to the power of each lane; f16 and bf16 are computed in f32 and rounded once. Integers promote to f32.
Tile exp(const Tile& x, Where where = Where::current());
/// Converts the element type; to a narrower float round to nearest, ties to even.
Tile cast(const Tile& x, DType dtype, Where where = Where::current());

/// Sum or maximum over one axis, or over all lanes when `axis` is absent (a tile of shape {}).
/// The order of the sum is documented in docs/model-numerics.md.
Tile sum(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false, Where where = Where::current());
Tile max(const Tile& x, std::optional<int> axis = std::nullopt, bool keep_dims = false, Where where = Where::current());

// ---- matrix multiply (GEMM engine) -----------------------------------------------------------------------------

/// a [m,k] times b [k,n], plus `accumulator` [m,n] when given. Products are exact and accumulated in f32 in the order
/// of k, one fused multiply-add each, starting from the accumulator. The result has `out_dtype` (f32 by default, i32
/// for i32 operands).
Tile dot(const Tile& a, const Tile& b, const Tile& accumulator = {}, std::optional<DType> out_dtype = std::nullopt,
         Where where = Where::current());

// ---- reading a value back --------------------------------------------------------------------------------------

namespace detail {
double item_as_double(const Tile& x, std::optional<double> assumed, const Where& where);
std::int64_t item_as_integer(const Tile& x, std::optional<std::int64_t> assumed, const Where& where);
}  // namespace detail

/// The value of a one-element tile; suspends until it has been computed. An error under --no-data.
template <class T = float>
T item(const Tile& x, Where where = Where::current()) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(detail::item_as_integer(x, std::nullopt, where));
  else
    return static_cast<T>(detail::item_as_double(x, std::nullopt, where));
}
/// Like item, but yields `assumed` under --no-data.
template <class T>
T item_or(const Tile& x, T assumed, Where where = Where::current()) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(detail::item_as_integer(x, static_cast<std::int64_t>(assumed), where));
  else
    return static_cast<T>(detail::item_as_double(x, static_cast<double>(assumed), where));
}

/// Fails the program when a lane of `condition` is false or invalid; the check is made when the values are known and
/// costs no simulated time beyond its operands'.
void device_assert(const Tile& condition, std::string_view message, Where where = Where::current());
/// Fails the program at once when `condition` is false.
void device_assert(bool condition, std::string_view message, Where where = Where::current());

}  // namespace kernbench::tl
