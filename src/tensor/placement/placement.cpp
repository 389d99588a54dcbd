// resolve_dp_policy of kernbench/placement.h.
#include "kernbench/placement.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "kernbench/error.h"

namespace kernbench {

namespace {

struct Box {
  std::vector<std::int64_t> offset, shape;
};

/// Part `index` of `parts` of one dimension, cut as torch::chunk cuts it. False when nothing is left for it.
bool cut(Box& box, std::size_t dimension, std::int64_t index, std::int64_t parts) {
  const std::int64_t extent = box.shape[dimension];
  const std::int64_t piece = extent / parts + (extent % parts == 0 ? 0 : 1);
  if (index > (extent - 1) / piece) return false;
  const std::int64_t start = piece * index;
  box.offset[dimension] += start;
  box.shape[dimension] = std::min(piece, extent - start);
  return true;
}

/// Cuts of each dimension, their product at most the number of parts.
using Cuts = std::vector<std::int64_t>;

/// The search for the cuts that leave the least to the fullest part.
class BalancedCuts {
 public:
  BalancedCuts(std::span<const std::int64_t> shape, std::int64_t itemsize, std::int64_t parts)
      : shape_(shape), cuts_(shape.size(), 1), best_(shape.size(), 1) {
    std::int64_t rows = 1;
    for (const std::int64_t extent : shape.first(shape.size() - 1))
      rows = std::min(rows * std::min(extent, parts), parts);
    dimensions_ = rows >= parts && shape.size() > 1 ? shape.size() - 1 : shape.size();
    most_.assign(shape.begin(), shape.end());
    if (shape.size() > 1)
      most_.back() = std::max<std::int64_t>(shape.back() / (kLeastPiece / std::min(itemsize, kLeastPiece)), 1);
    left_.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dimensions_));
    for (std::size_t d = dimensions_ - 1; d-- > 0;) left_[d] *= left_[d + 1];
    search(0, parts, 1);
  }

  const Cuts& best() const { return best_; }

 private:
  /// Of equally good cuts those of earlier dimensions are tried first.
  void search(std::size_t dimension, std::int64_t parts, std::int64_t fullest) {
    if (dimension == dimensions_) {
      if (least_ && fullest >= *least_) return;
      least_ = fullest;
      best_ = cuts_;
      return;
    }
    const std::int64_t extent = shape_[dimension];
    if (least_ && fullest * ((left_[dimension] - 1) / parts + 1) >= *least_) return;
    for (std::int64_t cuts = std::min(most_[dimension], parts); cuts >= 1; --cuts) {
      cuts_[dimension] = cuts;
      search(dimension + 1, parts / cuts, fullest * ((extent - 1) / cuts + 1));
    }
    cuts_[dimension] = 1;
  }

  /// Bytes of a part of a row at least: an access of the HBM of the shipped machines.
  static constexpr std::int64_t kLeastPiece = 64;

  std::span<const std::int64_t> shape_;
  std::vector<std::int64_t> most_;  // cuts of each dimension
  std::size_t dimensions_ = 0;      // the first ones, which may be cut
  std::vector<std::int64_t> left_;  // how much there is to cut in this dimension and those after it
  Cuts cuts_, best_;
  std::optional<std::int64_t> least_;
};

/// Part `index` of the grid, or nothing.
std::optional<Box> balanced_part(Box box, const Cuts& cuts, std::int64_t index) {
  for (std::size_t d = cuts.size(); d-- > 0;) {
    const std::int64_t place = index % cuts[d], piece = box.shape[d] / cuts[d], longer = box.shape[d] % cuts[d];
    index /= cuts[d];
    box.offset[d] += place * piece + std::min(place, longer);
    box.shape[d] = piece + (place < longer ? 1 : 0);
  }
  return index == 0 ? std::optional(std::move(box)) : std::nullopt;
}

/// Rows and columns of the most square grid of `parts` cells, not taller than wide.
std::pair<std::int64_t, std::int64_t> grid_of(std::int64_t parts) {
  std::int64_t rows = 1;
  for (std::int64_t candidate = 1; candidate * candidate <= parts; ++candidate)
    if (parts % candidate == 0) rows = candidate;
  return {rows, parts / rows};
}

/// The box of part `index`, or nothing; of a placement that cuts by number.
std::optional<Box> part_of(Placement placement, Box box, std::int64_t index, std::int64_t parts) {
  if (placement == Placement::replicate) return box;
  if (box.shape.empty()) return index == 0 ? std::optional(box) : std::nullopt;  // also of a grid
  const std::size_t last = box.shape.size() - 1;
  auto [rows, columns] = grid_of(parts);
  bool some = false;
  switch (placement) {
    case Placement::replicate:
    case Placement::balanced:
    case Placement::interleaved:
      break;
    case Placement::row_wise:
      some = cut(box, 0, index, parts);
      break;
    case Placement::column_wise:
      some = cut(box, last, index, parts);
      break;
    case Placement::tiled_row_major:
    case Placement::tiled_column_major: {
      if (last == 0) rows = 1, columns = parts;
      const bool by_row = placement == Placement::tiled_row_major;
      const std::int64_t row = by_row ? index / columns : index % rows;
      const std::int64_t column = by_row ? index % columns : index / rows;
      some = cut(box, last, column, columns) && (rows == 1 || cut(box, 0, row, rows));
      break;
    }
  }
  return some ? std::optional(std::move(box)) : std::nullopt;
}

/// One level of the machine, which cuts one box after the other.
class Level {
 public:
  Level(Placement placement, std::int64_t itemsize, std::int32_t parts)
      : placement_(placement), itemsize_(itemsize), parts_(parts) {}

  /// The box of part `index` of `box`, or nothing.
  std::optional<Box> part(const Box& box, std::int64_t index) {
    const bool by_grid = placement_ == Placement::balanced || placement_ == Placement::interleaved;
    if (!by_grid || box.shape.empty()) return part_of(placement_, box, index, parts_);
    if (box.shape != shape_) {
      shape_ = box.shape;
      cuts_ = BalancedCuts(shape_, itemsize_, parts_).best();
    }
    return balanced_part(box, cuts_, index);
  }

 private:
  Placement placement_;
  std::int64_t itemsize_, parts_;
  std::vector<std::int64_t> shape_;  // of the box that was cut last
  Cuts cuts_;
};

std::int32_t count_of(const char* what, int wanted, std::int32_t available) {
  if (wanted < 0 || wanted > available) {
    throw ValueError(fmt::format("DPPolicy: {} is {}, but the machine has {}; give 1 to {}, or 0 for all", what, wanted,
                                 available, available));
  }
  return wanted == 0 ? available : wanted;
}

/// Sizes whose bytes can be counted.
void check_sizes(std::span<const std::int64_t> shape, std::int64_t itemsize) {
  const auto fail = [&](const char* what) {
    throw ValueError(fmt::format("resolve_dp_policy: a tensor of shape [{}] with elements of {} bytes {}",
                                 fmt::join(shape, ", "), itemsize, what));
  };
  if (itemsize < 1) fail("does not exist: elements have at least 1 byte");
  for (const std::int64_t extent : shape)
    if (extent < 0) fail("does not exist: sizes are not negative");
  if (std::ranges::find(shape, 0) != shape.end()) return;
  std::int64_t bytes = itemsize;
  for (const std::int64_t extent : shape) {
    if (bytes > std::numeric_limits<std::int64_t>::max() / extent) fail("has more than 2^63 - 1 bytes");
    bytes *= extent;
  }
}

void check_interleaving(const DPPolicy& policy) {
  if (policy.cube == Placement::interleaved && policy.pe != Placement::interleaved) {
    throw ValueError(
        "DPPolicy: cube is interleaved, but pe is not: granules go to the slices of PEs. Interleave both (over all "
        "slices of the SIP), or pe alone (over those of each cube)");
  }
  if (policy.granule != Bytes(0) && policy.pe != Placement::interleaved) {
    throw ValueError(
        fmt::format("DPPolicy: granule is {} bytes, but pe is not interleaved; only interleaved tensors have granules",
                    policy.granule.count()));
  }
}

void check_machine(std::int32_t num_pe, std::int32_t num_cubes, SipId sip) {
  if (num_pe >= 1 && num_cubes >= 1 && sip.value >= 0) return;
  throw ValueError(
      fmt::format("resolve_dp_policy: SIP {} with {} cubes of {} PEs does not exist: SIPs count from 0, and "
                  "each has at least one cube and one PE",
                  sip.value, num_cubes, num_pe));
}

}  // namespace

std::vector<ShardSpec> resolve_dp_policy(const DPPolicy& policy, std::span<const std::int64_t> shape,
                                         std::int64_t itemsize, std::int32_t num_pe, std::int32_t num_cubes,
                                         SipId target_sip) {
  check_machine(num_pe, num_cubes, target_sip);
  check_sizes(shape, itemsize);
  check_interleaving(policy);
  const std::int32_t cubes = count_of("num_cubes", policy.num_cubes, num_cubes);
  const std::int32_t pes = count_of("num_pes", policy.num_pes, num_pe);
  const Box whole{.offset = std::vector<std::int64_t>(shape.size(), 0), .shape = {shape.begin(), shape.end()}};
  std::vector<ShardSpec> shards;
  if (std::ranges::find(shape, 0) != shape.end()) return shards;
  Level sip(policy.cube, itemsize, cubes), each_cube(policy.pe, itemsize, pes);
  for (std::int32_t cube = 0; cube < cubes; ++cube) {
    const auto of_cube = sip.part(whole, cube);
    if (!of_cube) continue;
    for (std::int32_t pe = 0; pe < pes; ++pe) {
      auto of_pe = each_cube.part(*of_cube, pe);
      if (!of_pe) continue;
      const std::int64_t bytes =
          std::accumulate(of_pe->shape.begin(), of_pe->shape.end(), itemsize, std::multiplies<>());
      shards.push_back({.sip = target_sip,
                        .cube = {cube},
                        .pe = {pe},
                        .offset = std::move(of_pe->offset),
                        .shape = std::move(of_pe->shape),
                        .bytes = bytes});
    }
  }
  return shards;
}

}  // namespace kernbench
