#include "kernel/known.h"

#include "kernel/program.h"

namespace kernbench::kernel {

const data::Value* known_value(const TileState& tile) {
  return tile.known.defined() ? &tile.known : nullptr;
}

std::optional<data::TileView> known_view(const TileState& tile) {
  if (!tile.known.defined()) return std::nullopt;
  return data::view(tile.program().environment().constants, tile.known);
}

}  // namespace kernbench::kernel
