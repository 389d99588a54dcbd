// Fusion: several operations of the vector engine as one command, whose inner values pass registers.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "kernbench/tl/types.h"

namespace kernbench::tile {
class FusedCommand;
}  // namespace kernbench::tile

namespace kernbench::tl {

namespace detail {

/// The scope of one tl::fuse; within another one it does nothing.
class FuseScope {
 public:
  FuseScope();
  ~FuseScope();
  FuseScope(const FuseScope&) = delete;
  FuseScope& operator=(const FuseScope&) = delete;

  /// Takes a result of the scope.
  void add(Tile&& result);
  /// Issues the command, and returns a tile for each result, in the order of add.
  std::vector<Tile> close();

 private:
  std::shared_ptr<tile::FusedCommand> command_;  // null: within another scope
  std::vector<Tile> results_;
};

/// How the results of a fused function are taken apart and put together again.
template <class Result>
struct FuseResults;

template <>
struct FuseResults<Tile> {
  static void take(FuseScope& scope, Tile&& result) { scope.add(std::move(result)); }
  static Tile make(std::vector<Tile>&& tiles) { return std::move(tiles.front()); }
};
template <class Tuple, std::size_t... Index>
struct FuseTuple {
  static void take(FuseScope& scope, Tuple&& results) { (scope.add(std::move(std::get<Index>(results))), ...); }
  static Tuple make(std::vector<Tile>&& tiles) { return Tuple{std::move(tiles[Index])...}; }
};
template <class Tuple, class Sequence>
struct FuseTupleOf;
template <class Tuple, std::size_t... Index>
struct FuseTupleOf<Tuple, std::index_sequence<Index...>> : FuseTuple<Tuple, Index...> {};
template <class... Tiles>
struct FuseResults<std::tuple<Tiles...>> : FuseTupleOf<std::tuple<Tiles...>, std::index_sequence_for<Tiles...>> {};
template <>
struct FuseResults<std::pair<Tile, Tile>> : FuseTupleOf<std::pair<Tile, Tile>, std::index_sequence<0, 1>> {};
template <std::size_t N>
struct FuseResults<std::array<Tile, N>> : FuseTupleOf<std::array<Tile, N>, std::make_index_sequence<N>> {};
template <>
struct FuseResults<std::vector<Tile>> {
  static void take(FuseScope& scope, std::vector<Tile>&& results) {
    for (Tile& result : results) scope.add(std::move(result));
    results.clear();
  }
  static std::vector<Tile> make(std::vector<Tile>&& tiles) { return std::move(tiles); }
};

}  // namespace detail

/// Calls `function(tiles…)` and runs what it computes as one command of the vector engine. Its lanes work as long as
/// for the operations one by one, but the values between them pass registers: only what the function reads of tiles
/// from outside, each once, and what it returns passes the TCM port and takes room in the TCM. Values are those of the
/// operations one by one, to the bit. Law: src/hardware/vector/README.md.
///
///     auto y = tl::fuse([](const tl::Tile& x) { return x * tl::sigmoid(x); }, tl::load(x, {0}, {n}));
///
/// The function returns a Tile, or a pair, tuple, array or vector of them; it may use tiles that it captures. A fuse
/// within it belongs to it. Elementwise operations, reductions and changes of shape only: a ValueError for loads,
/// stores, messages, dot, item and all that waits, and for a value of the scope whose handle is kept outside of it.
template <class Function, class... Tiles>
auto fuse(Function&& function, const Tiles&... tiles) {
  static_assert((std::is_same_v<Tiles, Tile> && ...), "tl::fuse: the arguments of the function are tiles");
  using Result = std::decay_t<decltype(std::forward<Function>(function)(tiles...))>;
  detail::FuseScope scope;
  detail::FuseResults<Result>::take(scope, std::forward<Function>(function)(tiles...));
  return detail::FuseResults<Result>::make(scope.close());
}

}  // namespace kernbench::tl
