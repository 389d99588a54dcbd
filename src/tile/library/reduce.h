// Library kernels that work along dimensions: reductions, index of the largest, running sums.
//
// A result that few PEs hold, or that is made from a dimension that many PEs hold, takes two launches: the first one
// cuts one reduced dimension into chunks, a partial result for each; the second reduces the partial results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tile/library/elementwise.h"
#include "tile/library/view.h"

namespace kernbench::tile::library {

enum class Reduction : std::uint8_t { sum, product, maximum, minimum };

struct ReduceOptions {
  Reduction reduction = Reduction::sum;
  /// Dimensions of x that are reduced, by number; out has extent 1 there.
  std::vector<bool> reduced;
  /// In which elements are combined; floats that are not f32 are added in f32.
  DType compute = DType::f32;
  /// Applied to each block of x, cast to `compute` (16-bit and 8-bit floats: to f32) and of the operands in `more`;
  /// absent: the values themselves.
  TileFunction map;
  /// Applied to the result before it is converted; absent: nothing.
  std::function<tl::Tile(const tl::Tile&)> finish;
  /// Two launches: out[…, g, …] along this dimension is the reduction of chunk g of `chunk` elements.
  std::optional<std::size_t> chunked;
  std::int64_t chunk = 0;
  Share share = Share::held;
};

/// out = finish(reduction of map(x, more…) over the reduced dimensions). NaN wins maximum and minimum; of no elements
/// sum and maximum are 0, product and minimum 1 (as any and all want it). Each program
/// makes its share of `out`; it walks the reduced elements in row-major blocks of at most 16 Ki, reduces each on the
/// vector engine, and combines the blocks in order. TCM: ten f32 tiles of a block.
void reduce(const View& x, const std::vector<View>& more, const View& out, const ReduceOptions& options);

/// Each program reduces map(x) of what it holds of all tensors, which have no replicas, in f32, and stores the result,
/// 0 where it holds nothing, as its element of `out`, which has one for each program. Of the options it takes the
/// reduction, a sum or the maximum of what is not negative, and the map. Blocks as of `reduce`; the loads of three are
/// under way, also of tensors that follow each other.
void reduce_held(const std::vector<View>& tensors, const ReduceOptions& options, const View& out);

struct ArgReduceOptions {
  bool largest = true;
  std::size_t dimension = 0;
  /// Of the element at position 0, where positions count.
  std::int64_t first = 0;
  /// As in ReduceOptions, along `dimension`.
  std::int64_t chunk = 0;
  Share share = Share::held;
};
/// Index (into x, or what `indices` says of its elements) of the largest or smallest element along a dimension, the
/// first of equals; a NaN wins. `values`, when given, gets the element itself. TCM: twelve tiles of a block.
void arg_reduce(const View& x, const std::optional<View>& indices, const View& out, const std::optional<View>& values,
                const ArgReduceOptions& options);

/// What a program of cumulative_sum knows of the elements before its part.
struct ChunkTotals {
  View sums;               // […, g, …]: the sum of chunk g
  std::int64_t chunk = 1;  // elements of a chunk
  bool running = false;    // […, g, …]: the sum of the chunks up to g, as running_sums makes it
};

/// Running sums along a dimension, in f32 (integers: the type of `out`). A program whose part begins in the middle of
/// the dimension starts from the sum of what is before it: the sums of the chunks, added one after the other, and then
/// what is left. It reads one of `totals` that are running, else all before its part: the bits are the same.
/// TCM: eight tiles of a block of at most 16 Ki elements.
void cumulative_sum(const View& x, const std::optional<ChunkTotals>& totals, std::size_t dimension, const View& out);

/// Running sums along a dimension, the elements added one after the other, in f32 (integers: the type of `out`), of
/// whole lines, which the programs share evenly wherever they lie. `out` may be x. TCM: eight tiles of a block.
void running_sums(const View& x, std::size_t dimension, const View& out);

}  // namespace kernbench::tile::library
