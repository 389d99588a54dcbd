// The extents of a tile: up to eight dimensions, stored in place.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

namespace kernbench::numerics {

/// Extents of a row-major contiguous tile, outermost first. Rank 0 is a single element.
class Shape {
 public:
  static constexpr std::size_t kMaximumRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents) : rank_(extents.size()) {
    assert(rank_ <= kMaximumRank);
    std::copy(extents.begin(), extents.end(), extents_.begin());
  }

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return rank_; }
  std::int64_t operator[](std::size_t dimension) const { return extents_[dimension]; }
  std::int64_t& operator[](std::size_t dimension) { return extents_[dimension]; }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }
  std::span<const std::int64_t> span() const { return {extents_.data(), rank_}; }

  /// Number of elements: the product of the extents.
  std::int64_t numel() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : span()) product *= extent;
    return product;
  }
  /// Appends a dimension on the right.
  void push_back(std::int64_t extent) {
    assert(rank_ < kMaximumRank);
    extents_[rank_++] = extent;
  }
  bool operator==(const Shape& other) const { return std::ranges::equal(span(), other.span()); }

 private:
  std::array<std::int64_t, kMaximumRank> extents_{};
  std::size_t rank_ = 0;
};

/// The shape that `a` and `b` broadcast to by numpy's rules (aligned on the right, 1 stretches); empty when they do
/// not.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace kernbench::numerics
