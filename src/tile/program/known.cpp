#include "tile/program/known.h"

#include <cassert>
#include <cstring>
#include <span>
#include <vector>

#include "tile/program/conversion.h"
#include "tile/program/program.h"

namespace kernbench::tile {

const numerics::Value* known_value(const TileState& tile) {
  return tile.known.defined() ? &tile.known : nullptr;
}

std::optional<numerics::TileView> known_view(const TileState& tile) {
  if (!tile.known.defined()) return std::nullopt;
  return numerics::view(tile.program().environment().constants, tile.known);
}

namespace {

template <class T>
numerics::Value integers(TileState& state, const std::function<std::int64_t(std::int64_t lane)>& value) {
  const numerics::Shape shape = to_shape(state.shape());
  std::vector<T> elements;
  elements.reserve(static_cast<std::size_t>(shape.numel()));
  for (std::int64_t lane = 0; lane < shape.numel(); ++lane) elements.push_back(static_cast<T>(value(lane)));
  return numerics::from_bytes(state.program().environment().constants, state.dtype(), shape,
                              std::as_bytes(std::span<const T>(elements)));
}

}  // namespace

void assume(const tl::Tile& tile, const std::function<std::int64_t(std::int64_t lane)>& value) {
  TileState& state = *tile.state();
  if (state.program().environment().data_enabled) return;
  assert(state.dtype() == DType::i32 || state.dtype() == DType::i64);
  state.known =
      state.dtype() == DType::i32 ? integers<std::int32_t>(state, value) : integers<std::int64_t>(state, value);
  state.assumed = true;
}

}  // namespace kernbench::tile
