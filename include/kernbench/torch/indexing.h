// torch::indexing: x.index({Slice(1, 3), "...", 0, None, mask}).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch::indexing {

/// A new dimension of one element; in a Slice, an end that is left out.
inline constexpr std::nullopt_t None = std::nullopt;

struct EllipsisIndexType {};
/// As many whole dimensions as are left.
inline constexpr EllipsisIndexType Ellipsis{};

/// start, start + step, … before stop. The step must be positive.
class Slice {
 public:
  Slice(std::optional<std::int64_t> start = {}, std::optional<std::int64_t> stop = {},  // NOLINT: as in libtorch
        std::optional<std::int64_t> step = {})
      : start_(start), stop_(stop), step_(step.value_or(1)) {
    if (step_ == 0) throw ValueError("slice step cannot be zero");
  }
  const std::optional<std::int64_t>& start() const { return start_; }
  const std::optional<std::int64_t>& stop() const { return stop_; }
  std::int64_t step() const { return step_; }

 private:
  std::optional<std::int64_t> start_, stop_;
  std::int64_t step_;
};

/// One index of several. Each constructor takes one kind, and converts without a word as in libtorch.
// NOLINTBEGIN(google-explicit-constructor)
class TensorIndex {
 public:
  enum class Kind : std::uint8_t { none, ellipsis, integer, boolean, slice, tensor };

  TensorIndex(std::nullopt_t) : kind_(Kind::none) {}
  TensorIndex(EllipsisIndexType) : kind_(Kind::ellipsis) {}
  /// "..."; anything else is a ValueError.
  TensorIndex(const char* text);
  TensorIndex(std::int64_t index) : kind_(Kind::integer), integer_(index) {}
  TensorIndex(int index) : TensorIndex(std::int64_t{index}) {}
  template <class T>
    requires std::is_same_v<T, bool>
  TensorIndex(T boolean) : kind_(Kind::boolean), integer_(boolean ? 1 : 0) {}
  TensorIndex(Slice slice) : kind_(Kind::slice), slice_(slice) {}
  TensorIndex(Tensor tensor) : kind_(Kind::tensor), tensor_(std::move(tensor)) {}

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};
// NOLINTEND(google-explicit-constructor)

}  // namespace kernbench::torch::indexing
