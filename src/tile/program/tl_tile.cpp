// Handles of the tile language: extents, tensors, tiles.
#include <fmt/format.h>

#include <algorithm>

#include "addressing/tensor_descriptor.h"
#include "base/name_format.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "tile/program/conversion.h"
#include "tile/program/program.h"

namespace kernbench::tile {

std::string to_text(const tl::Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}
std::string valid_text(std::int64_t extent) {
  return extent > 0 ? fmt::format("valid are 0 to {}", extent - 1) : "it has none";
}

}  // namespace kernbench::tile

namespace kernbench::tl {

using tile::Program;

Extents::Extents(std::initializer_list<std::int64_t> values) : Extents(std::span(values.begin(), values.size())) {}
Extents::Extents(std::span<const std::int64_t> values) : size_(values.size()) {
  if (values.size() > kMaximumRank) {
    throw ValueError(
        fmt::format("{} dimensions were given; tiles and tensors have at most {}", values.size(), kMaximumRank));
  }
  std::copy(values.begin(), values.end(), values_.begin());
}

std::int64_t Extents::numel() const {
  // More than any memory holds, and still countable in bytes.
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  std::int64_t product = 1;
  for (const std::int64_t extent : span()) {
    if (extent == 0) return 0;
    product = extent > kMost / product ? kMost : product * extent;
  }
  return product;
}

std::span<const std::int64_t> Extents::span() const {
  return {values_.data(), size_};
}

bool Extents::operator==(const Extents& other) const {
  return std::ranges::equal(span(), other.span());
}

namespace {

std::size_t checked_dimension(std::int64_t dimension, std::size_t rank, const char* what) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const std::int64_t wrapped = dimension < 0 ? dimension + signed_rank : dimension;
  if (wrapped < 0 || wrapped >= signed_rank) {
    throw ValueError(fmt::format("dimension {} is out of range: {} has {} dimensions", dimension, what, rank));
  }
  return static_cast<std::size_t>(wrapped);
}

const tile::TileState& checked_state(const Tile& tile) {
  if (!tile.defined()) throw ValueError("an empty tile (default-constructed tl::Tile) was used; assign a value first");
  return *tile.state();
}

}  // namespace

DType Tensor::dtype() const {
  return descriptor_->dtype;
}
std::int64_t Tensor::dim() const {
  return static_cast<std::int64_t>(descriptor_->shape.size());
}
std::int64_t Tensor::size(std::int64_t dimension) const {
  return descriptor_->shape[checked_dimension(dimension, descriptor_->shape.size(), "the tensor")];
}
std::int64_t Tensor::numel() const {
  return descriptor_->numel();
}
Pointer Tensor::data_ptr() const {
  return {*this, 0};
}
Extents Tensor::shape() const {
  return Extents(std::span<const std::int64_t>(descriptor_->shape));
}

std::size_t Tensor::local_shard_count() const {
  const PeCoordinate here = Program::current("Tensor::local_shard_count").coordinate();
  return static_cast<std::size_t>(std::ranges::count(descriptor_->shards, here, &addressing::Shard::owner));
}

Tensor::Box Tensor::local_shard(std::size_t index) const {
  const PeCoordinate here = Program::current("Tensor::local_shard").coordinate();
  std::size_t seen = 0;
  for (const auto& shard : descriptor_->shards) {
    if (shard.owner == here && seen++ == index) {
      return {Extents(std::span<const std::int64_t>(shard.offset)),
              Extents(std::span<const std::int64_t>(shard.shape))};
    }
  }
  throw OutOfBoundsError(
      fmt::format("local shard {} of tensor {} does not exist: this PE holds {}", index, descriptor_->name, seen));
}

DType Tile::dtype() const {
  return checked_state(*this).dtype();
}
Extents Tile::shape() const {
  return checked_state(*this).shape();
}
std::int64_t Tile::numel() const {
  return checked_state(*this).shape().numel();
}
std::int64_t Tile::size(std::int64_t dimension) const {
  const auto& shape = checked_state(*this).shape();
  return shape[checked_dimension(dimension, shape.size(), "the tile")];
}

}  // namespace kernbench::tl
