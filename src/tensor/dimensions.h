// Checks of dimensions and shapes that many tensor functions share, in PyTorch's words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernbench/torch/types.h"
#include "tensor/strided.h"

namespace kernbench::tensor {

/// A dimension counted from the end when negative. IndexError when it is not in [-rank, rank); a scalar counts as rank
/// 1 unless `scalar_has_none`.
std::size_t wrap_dimension(std::int64_t dimension, std::size_t rank, bool scalar_has_none = false);

/// ValueError when an extent is negative, or when there are too many elements or dimensions.
void check_sizes(torch::IntArrayRef sizes);

/// "[2, 3]"
std::string text_of(std::span<const std::int64_t> values);

/// Replaces a -1 in `sizes` by what makes `numel` elements. ValueError when the shape is not one of `numel` elements.
Extents infer_sizes(torch::IntArrayRef sizes, std::int64_t numel);

/// Strides of a view of `sizes` on a tensor of `old_sizes` and `old_strides`; nothing when it needs a copy.
std::optional<Extents> strides_of_view(std::span<const std::int64_t> old_sizes,
                                       std::span<const std::int64_t> old_strides, std::span<const std::int64_t> sizes);

/// numpy's rules; ValueError "The size of tensor a (3) must match …".
Extents broadcast_sizes(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

/// Strides with which a tensor appears expanded to `sizes`, to which it must be broadcastable.
Extents expanded_strides(std::span<const std::int64_t> old_sizes, std::span<const std::int64_t> old_strides,
                         std::span<const std::int64_t> sizes);

}  // namespace kernbench::tensor
