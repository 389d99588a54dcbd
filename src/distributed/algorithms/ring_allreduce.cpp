#include "distributed/algorithms/ring_allreduce.h"

#include <algorithm>

namespace kernbench::distributed {

using torch::distributed::ReduceOp;

tl::Tile reduce(ReduceOp op, const tl::Tile& a, const tl::Tile& b) {
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return tl::minimum(a, b, tl::PropagateNan::all);
    case ReduceOp::MAX:
      return tl::maximum(a, b, tl::PropagateNan::all);
    case ReduceOp::BAND:
      return a & b;
    case ReduceOp::BOR:
      return a | b;
    case ReduceOp::BXOR:
      return a ^ b;
    default:
      return a + b;
  }
}

bool can_reduce(ReduceOp op, DType dtype) {
  const bool floating = is_floating_point(dtype) && !is_float8(dtype);
  switch (op) {
    case ReduceOp::AVG:
      return floating;
    case ReduceOp::BAND:
    case ReduceOp::BOR:
    case ReduceOp::BXOR:
      return is_integer(dtype) || dtype == DType::boolean;
    case ReduceOp::PREMUL_SUM:
      return false;
    default:
      return floating || is_integer(dtype);
  }
}

namespace {

/// One shard of one rank. In each step a part of one chunk comes in and one goes out.
class ShardReduction {
 public:
  ShardReduction(const RingPlace& ring, const tl::Tensor& x, ReduceOp op, Range shard)
      : ring_(ring), x_(x), op_(op), shard_(shard), chunk_(tl::cdiv(shard.end - shard.begin, ring.size)) {}

  void run() {
    const std::int64_t part = ring_.tile_elements * ring_.window;
    for (std::int64_t begin = 0; begin < chunk_; begin += part) {
      part_ = {begin, std::min(begin + part, chunk_)};
      reduce_scatter();
      all_gather();
    }
  }

 private:
  /// The present part of a chunk, in the tensor.
  Range part_of(std::int64_t chunk) const {
    const std::int64_t begin = shard_.begin + chunk * chunk_;
    return {begin + part_.begin, std::min(begin + part_.end, shard_.end)};
  }
  template <class Body>
  void for_each_tile_of(std::int64_t chunk, const Body& body) const {
    for_each_tile(part_of(chunk), ring_.tile_elements, body);
  }
  tl::Tile reduced(std::int64_t at, std::int64_t elements) const {
    const tl::Tile mine = tl::load(x_, {at}, {elements});
    return reduce(op_, receive_from(ring_.previous, elements, x_.dtype()), mine);
  }

  void reduce_scatter() const {
    for_each_tile_of(ring_.before(1), [&](std::int64_t at, std::int64_t elements) {
      send_to(ring_.next, tl::load(x_, {at}, {elements}), ring_.window);
    });
    for (std::int64_t step = 2; step < ring_.size; ++step) {
      for_each_tile_of(ring_.before(step), [&](std::int64_t at, std::int64_t elements) {
        send_to(ring_.next, reduced(at, elements), ring_.window);
      });
    }
    for_each_tile_of(ring_.rank, [&](std::int64_t at, std::int64_t elements) {
      tl::Tile result = reduced(at, elements);
      if (op_ == ReduceOp::AVG) result = tl::cast(result / static_cast<double>(ring_.size), x_.dtype());
      tl::store(x_, {at}, result);
      send_to(ring_.next, result, ring_.window);
    });
  }

  void all_gather() const {
    for (std::int64_t step = 1; step < ring_.size; ++step) {
      const bool last = step + 1 == ring_.size;
      for_each_tile_of(ring_.before(step), [&](std::int64_t at, std::int64_t elements) {
        const tl::Tile result = receive_from(ring_.previous, elements, x_.dtype());
        tl::store(x_, {at}, result);
        if (!last) send_to(ring_.next, result, ring_.window);
      });
    }
  }

  const RingPlace& ring_;
  const tl::Tensor& x_;
  ReduceOp op_;
  Range shard_;
  std::int64_t chunk_;
  Range part_;  // of every chunk, from its beginning
};

}  // namespace

void ring_allreduce(const RingPlace& ring, const tl::Tensor& x, ReduceOp op) {
  if (ring.size == 1) return;
  for (std::size_t shard = 0; shard < x.local_shard_count(); ++shard) {
    const auto box = x.local_shard(shard);
    ShardReduction(ring, x, op, {box.offset[0], box.offset[0] + box.shape[0]}).run();
  }
  finish_sending();
}

}  // namespace kernbench::distributed
