#include "tensor/dimensions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernbench/error.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::tensor {

namespace {
constexpr std::size_t kMaximumRank = 8;
}

std::size_t wrap_dimension(std::int64_t dimension, std::size_t rank, bool scalar_has_none) {
  if (rank == 0 && scalar_has_none)
    throw torch::IndexError(fmt::format("Dimension specified as {} but tensor has no dimensions", dimension));
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dimension < -count || dimension >= count) {
    throw torch::IndexError(fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                                        -count, count - 1, dimension));
  }
  return static_cast<std::size_t>(dimension < 0 ? dimension + count : dimension);
}

void check_sizes(torch::IntArrayRef sizes) {
  if (sizes.size() > kMaximumRank)
    throw ValueError(fmt::format("a tensor has at most {} dimensions, not {}", kMaximumRank, sizes.size()));
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw ValueError(fmt::format("Trying to create tensor with negative dimension {}: {}", size,
                                   text_of({sizes.begin(), sizes.size()})));
    }
  }
  checked_numel({sizes.begin(), sizes.size()});
}

std::string text_of(std::span<const std::int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

Extents infer_sizes(torch::IntArrayRef sizes, std::int64_t numel) {
  Extents result = sizes.vec();
  const std::string text = text_of(result);
  std::int64_t known = 1;
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] < -1) throw ValueError(fmt::format("invalid shape dimension {}", result[i]));
    if (result[i] == -1) {
      if (inferred) throw ValueError("only one dimension can be inferred");
      inferred = i;
    } else if (__builtin_mul_overflow(known, result[i], &known)) {
      known = INT64_MAX;
    }
  }
  if (inferred && known == 0 && numel == 0) {
    throw ValueError(
        fmt::format("cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size "
                    "-1 can be any value and is ambiguous",
                    text));
  }
  if (inferred ? known == 0 || numel % known != 0 : known != numel)
    throw ValueError(fmt::format("shape '{}' is invalid for input of size {}", text, numel));
  if (inferred) result[*inferred] = numel / known;
  check_sizes(result);
  return result;
}

std::optional<Extents> strides_of_view(std::span<const std::int64_t> old_sizes,
                                       std::span<const std::int64_t> old_strides, std::span<const std::int64_t> sizes) {
  if (is_dense(old_sizes, old_strides)) return dense_strides(sizes);
  // Runs of old dimensions that continue each other, innermost first; each must be filled by whole new dimensions.
  Extents strides(sizes.size(), 1);
  std::size_t next = sizes.size();
  for (std::size_t i = old_sizes.size(); i > 0;) {
    std::int64_t count = old_sizes[i - 1];
    const std::int64_t step = old_strides[i - 1];
    --i;
    while (i > 0 && (old_sizes[i - 1] == 1 || old_strides[i - 1] == count * step)) count *= old_sizes[--i];
    std::int64_t filled = 1;
    while (next > 0 && (filled < count || sizes[next - 1] == 1)) {
      strides[next - 1] = filled * step;
      filled *= sizes[--next];
    }
    if (filled != count) return std::nullopt;
  }
  return next == 0 ? std::optional(strides) : std::nullopt;
}

Extents broadcast_sizes(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Extents result(rank, 1);
  for (std::size_t from_end = 1; from_end <= rank; ++from_end) {
    const std::int64_t in_a = from_end <= a.size() ? a[a.size() - from_end] : 1;
    const std::int64_t in_b = from_end <= b.size() ? b[b.size() - from_end] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) {
      throw ValueError(
          fmt::format("The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton "
                      "dimension {}",
                      in_a, in_b, rank - from_end));
    }
    result[rank - from_end] = in_a == 1 ? in_b : in_a;
  }
  return result;
}

Extents expanded_strides(std::span<const std::int64_t> old_sizes, std::span<const std::int64_t> old_strides,
                         std::span<const std::int64_t> sizes) {
  Extents strides(sizes.size(), 0);
  const std::size_t added = sizes.size() - old_sizes.size();
  for (std::size_t i = 0; i < old_sizes.size(); ++i)
    if (old_sizes[i] == sizes[added + i]) strides[added + i] = old_strides[i];
  return strides;
}

}  // namespace kernbench::tensor
