// Lanes that meet each other: reversed, gathered, sorted and counted, reduced and scanned by a function of one's own.
// Triton's names. An axis may be counted from the end.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// The lanes along `dim` in reverse order.
Tile flip(const Tile& x, int dim = -1, Where where = Where::current());
/// result[…, i, …] = x[…, index[…, i, …], …] along `axis`: of the shape of `index`, which is that of `x` but for the
/// axis. Indices are integers; one outside of the axis makes its lane invalid.
Tile gather(const Tile& x, const Tile& index, int axis, Where where = Where::current());

/// The lanes along `dim`, of any number, in ascending or descending order. NaN counts as the largest number; equal
/// lanes keep their order. A result depends on all lanes of its line.
Tile sort(const Tile& x, int dim = -1, bool descending = false, Where where = Where::current());
/// The `k` largest along `dim`, descending.
Tile topk(const Tile& x, std::int64_t k, int dim = -1, Where where = Where::current());
/// How many lanes have each of the numbers 0 … bins - 1, as i32 of shape {bins}. Lanes where `mask` (if defined, of x's
/// shape, cast to bool) is false do not count. When one that counts has another number, the result is invalid.
Tile histogram(const Tile& x, std::int64_t bins, const Tile& mask = {}, Where where = Where::current());

namespace detail {
using CombineTiles = std::function<std::vector<Tile>(std::span<const Tile> left, std::span<const Tile> right)>;
std::vector<Tile> reduce(std::span<const Tile> tiles, std::optional<int> axis, const CombineTiles& combine,
                         bool keep_dims, const Where& where);
std::vector<Tile> associative_scan(std::span<const Tile> tiles, int axis, const CombineTiles& combine, bool reverse,
                                   const Where& where);

template <class Function>
CombineTiles combine_one(Function function) {
  return [function = std::move(function)](std::span<const Tile> left, std::span<const Tile> right) {
    return std::vector<Tile>{function(left[0], right[0])};
  };
}
template <std::size_t N>
std::array<Tile, N> array_of(std::span<const Tile> tiles) {
  std::array<Tile, N> result;
  for (std::size_t i = 0; i < N; ++i) result[i] = tiles[i];
  return result;
}
template <std::size_t N, class Function>
CombineTiles combine_several(Function function) {
  return [function = std::move(function)](std::span<const Tile> left, std::span<const Tile> right) {
    const std::array<Tile, N> result = function(array_of<N>(left), array_of<N>(right));
    return std::vector<Tile>(result.begin(), result.end());
  };
}
}  // namespace detail

/// A function of two tiles that makes one.
template <class Function>
concept Combines = std::is_invocable_r_v<Tile, Function, const Tile&, const Tile&>;
/// A function of two lots of `N` tiles that makes one.
template <class Function, std::size_t N>
concept CombinesSeveral =
    std::is_invocable_r_v<std::array<Tile, N>, Function, const std::array<Tile, N>&, const std::array<Tile, N>&>;

/// Reduces `axis`, or all lanes in row-major order when absent, by combine(earlier, later), which must be associative
/// and keep type and shape: neighbours in pairs, an odd one moving up, until one is left. One fused command of the
/// vector engine (tl::fuse): what `combine` computes for each level, and a copy of each half.
///
///     const auto all = tl::reduce(x, 0, [](const tl::Tile& a, const tl::Tile& b) { return a | b; });
template <Combines Function>
Tile reduce(const Tile& x, std::optional<int> axis, Function combine, bool keep_dims = false,
            Where where = Where::current()) {
  return detail::reduce(std::span(&x, 1), axis, detail::combine_one(std::move(combine)), keep_dims, where).front();
}
/// Likewise several tiles of one shape together, as a value and its index.
template <std::size_t N, CombinesSeveral<N> Function>
std::array<Tile, N> reduce(const std::array<Tile, N>& tiles, std::optional<int> axis, Function combine,
                           bool keep_dims = false, Where where = Where::current()) {
  return detail::array_of<N>(
      detail::reduce(tiles, axis, detail::combine_several<N>(std::move(combine)), keep_dims, where));
}

/// Running results along `axis`, from its first lane (its last, when `reverse`): lane i is what all lanes up to it
/// combine to. combine(earlier, later) as for reduce; ceil(log2(lanes)) steps, each of which combines every lane with
/// the one 1, 2, 4, … before it. One fused command.
template <Combines Function>
Tile associative_scan(const Tile& x, int axis, Function combine, bool reverse = false, Where where = Where::current()) {
  return detail::associative_scan(std::span(&x, 1), axis, detail::combine_one(std::move(combine)), reverse, where)
      .front();
}
template <std::size_t N, CombinesSeveral<N> Function>
std::array<Tile, N> associative_scan(const std::array<Tile, N>& tiles, int axis, Function combine, bool reverse = false,
                                     Where where = Where::current()) {
  return detail::array_of<N>(
      detail::associative_scan(tiles, axis, detail::combine_several<N>(std::move(combine)), reverse, where));
}

}  // namespace kernbench::tl
