#include "tile/library/index_check.h"

#include <fmt/format.h>

#include <string>

#include "kernbench/error.h"
#include "numerics/value.h"
#include "tile/explain/explanation.h"
#include "tile/program/program.h"

namespace kernbench::tile::library {
namespace {

/// Throws for the first lane of `given` that lies outside.
void look_at(const numerics::TileView& given, std::int64_t extent, bool from_end, const std::string& place) {
  for (std::int64_t lane = 0; lane < given.shape.numel(); ++lane) {
    if (!given.valid(lane)) {
      throw InvalidValueError(fmt::format("an index (lane {}) is invalid: {}", lane, explanation(given.source(lane))),
                              place);
    }
    const std::int64_t index = given.element(lane).as_integer();
    if (index >= (from_end ? -extent : 0) && index < extent) continue;
    throw ProgramError("DeviceAssertionError",
                       fmt::format("index {} is out of bounds for a dimension of size {}", index, extent), place);
  }
}

}  // namespace

void check_indices(const tl::Tile& given, const tl::Tile& index, std::int64_t extent) {
  const auto where = tl::Where::current();
  (index >= 0) & (index < extent);  // what the check takes
  auto& program = Program::current("index", where);
  const bool from_end = given.state() != index.state();
  program.inspect(given, "index", where,
                  [extent, from_end, place = program.place(where)](const numerics::TileView& view) {
                    look_at(view, extent, from_end, place);
                  });
}

}  // namespace kernbench::tile::library
