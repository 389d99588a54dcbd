#include "tile/program/known.h"

#include "tile/program/program.h"

namespace kernbench::tile {

const numerics::Value* known_value(const TileState& tile) {
  return tile.known.defined() ? &tile.known : nullptr;
}

std::optional<numerics::TileView> known_view(const TileState& tile) {
  if (!tile.known.defined()) return std::nullopt;
  return numerics::view(tile.program().environment().constants, tile.known);
}

}  // namespace kernbench::tile
