// Runs many cases of tile operations in one kernel on `tiny`: operands are windows of random tensors in HBM, some with
// lanes past the end or masked, which are invalid; results are looked at where they are made.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "reference.h"
#include "support/elementwise_references.h"

namespace kernbench::tile_test {

/// Which numbers an operand has: of every size, with infinities, NaN and the edges of its type; or small whole ones
/// (-8 … 8, not negative in unsigned types), whose sums and products are exact.
enum class Numbers { all, small };

/// An operand of a case: the tile, and what must be in it.
struct Drawn {
  tl::Tile tile;
  HostTile host;
};

class Bench {
 public:
  Bench(std::vector<tl::In> pools, const std::vector<std::vector<Real>>& values, std::mt19937& random)
      : pools_(std::move(pools)), values_(values), random_(random) {}

  std::mt19937& random() { return random_; }
  /// 0 … count - 1.
  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(count)); }
  bool chance(int one_in) { return below(one_in) == 0; }
  template <class Range>
  auto any_of(const Range& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(choices))))];
  }
  /// Rank 0 to 4; extents of 1, primes and others, with at most `most` elements.
  Sizes shape(std::int64_t most = 200);
  /// A shape that broadcasts with the given one.
  Sizes partner(Sizes shape);

  /// A tile of random numbers; with `invalid`, now and then its last lanes lie outside of memory, or some are masked.
  Drawn draw(DType dtype, const Sizes& shape, Numbers numbers = Numbers::all, bool invalid = true);

 private:
  std::vector<tl::In> pools_;
  const std::vector<std::vector<Real>>& values_;
  std::mt19937& random_;
};

/// Runs `cases` in a kernel on one PE. A failed expectation in it counts as in any test.
void run_cases(unsigned seed, const std::function<void(Bench&)>& cases);

/// What a tile of the running kernel holds, after waiting for it.
HostTile look_at(const tl::Tile& tile);

/// Lane i of the result from the i-th lanes of the broadcast operands; invalid when one of them is, or the result is.
using LaneFunction = std::function<Lane(const std::vector<Real>&)>;
HostTile elementwise(const std::vector<const HostTile*>& operands, DType dtype, const LaneFunction& function);

/// tl::`name`, a function of one operand of kernbench/elementwise/unary.def; null when there is none.
using TileFunction = tl::Tile (*)(const tl::Tile&);
TileFunction tile_function(const std::string& name);

/// Expects type, shape, validity and, of valid lanes, the same numbers.
void expect_same(const tl::Tile& got, const HostTile& expected, const std::string& what);
void expect_same(const HostTile& got, const HostTile& expected, const std::string& what);

/// Of a [.., m, k] and b [.., k, n]: one chain over k from `start`, if any, for each element, rounded once to `dtype`.
HostTile product(const HostTile& a, const HostTile& b, const HostTile* start, DType dtype);

tl::Extents extents(const Sizes& sizes);

/// The type and text of the error that ends a kernel which gets f32 tiles a [2, 3] and b [3, 4].
std::string kernel_error(const std::function<void(tl::Tile a, tl::Tile b)>& body);

SimulateOptions tiny();
torch::TensorOptions one_pe(DType dtype);

}  // namespace kernbench::tile_test
