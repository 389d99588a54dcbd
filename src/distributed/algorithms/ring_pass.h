// All-reduce over lines of ranks or PEs, one inside the other, each a ring: reduce-scatter along the first line, then
// along the second one of what that leaves, …, and back by all-gathers.
//
// A line of m cuts the elements that it is given into m chunks. Chunk c is folded to
//   ((x[c+1] ∘ x[c+2]) ∘ …) ∘ x[c]          (indices modulo m)
// from the left, in the tensor's own type, where x are the results of the lines before (AVG: of x over
// all contributions; of integers divided in the end). What a ring passes on is bounded as in ring_allreduce; the rings
// follow each other, and partial results are stored in the tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/neighbours.h"
#include "distributed/algorithms/shard_chunks.h"
#include "kernbench/distributed.h"

namespace kernbench::distributed {

/// A line as the one at one of its places sees it.
class RingOfParts {
 public:
  /// Of ranks of a group, in the opposite order with `backwards`.
  RingOfParts(const Line& line, const RankView& ranks, bool backwards = false);
  /// Of PEs of a device; slots and tiles as for `ranks`.
  RingOfParts(const Line& line, std::span<const PeCoordinate> pes, const RankView& ranks);
  RankView view() const { return backwards_ ? forwards().reversed() : forwards(); }
  std::int64_t size() const { return line_.count; }

 private:
  RankView forwards() const { return {line_.place, line_.count, parts_, tile_elements_, window_, machine_}; }

  Line line_;
  std::vector<std::optional<tensor::DevicePart>> parts_;
  std::int64_t tile_elements_, window_;
  const topology::Topology* machine_;
  bool backwards_ = false;
};

/// One ring, and a range of elements on it.
class RingPass {
 public:
  RingPass(RankView ring, const tl::Tensor& x, torch::distributed::ReduceOp op, Range range)
      : ring_(ring), x_(x), op_(op), range_(range), chunks_(range, ring) {}

  using Map = std::function<tl::Tile(const tl::Tile&)>;

  /// The own chunk := its fold over the ring of what `contribute` makes of the elements, through `finish`.
  void reduce_scatter(const Map& contribute, const Map& finish) const;
  /// The others' chunks := theirs.
  void all_gather() const;
  Range own_chunk() const;

 private:
  template <class Body>
  void for_each_tile_of(std::int64_t chunk, std::int64_t part, const Body& body) const {
    for_each_tile(chunks_.part_of(chunk, part), ring_.tile_elements, body);
  }
  tl::Tile folded(const tl::Tile& mine, std::int64_t elements) const;

  RankView ring_;
  const tl::Tensor& x_;
  torch::distributed::ReduceOp op_;
  Range range_;
  ShardChunks chunks_;
};

/// The range := its fold over the rings, the second one inside of the first, and so on. `contributions`: what AVG
/// divides by.
void reduce_over_rings(std::span<const RingOfParts> rings, const tl::Tensor& x, torch::distributed::ReduceOp op,
                       Range range, std::int64_t contributions);

}  // namespace kernbench::distributed
