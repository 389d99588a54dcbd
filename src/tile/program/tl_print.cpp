// tl::device_print: values as text, in simulated order.
#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/tl.h"
#include "tile/program/conversion.h"
#include "tile/program/program.h"

namespace kernbench::tl {

using tile::Program;
using tile::to_text;

namespace {

// As numpy prints: above so many lanes only the ends of each dimension.
constexpr std::int64_t kMostLanes = 1000;
constexpr std::int64_t kEnds = 3;

void append_lane(fmt::memory_buffer& text, const numerics::TileView& view, std::int64_t lane) {
  auto out = std::back_inserter(text);
  if (!view.valid(lane)) {
    fmt::format_to(out, "?");
    return;
  }
  const numerics::Scalar scalar = view.element(lane);
  if (view.dtype == DType::boolean)
    fmt::format_to(out, "{}", scalar.as_boolean());
  else if (!is_floating_point(view.dtype))
    fmt::format_to(out, "{}", scalar.as_integer());
  else if (view.dtype == DType::f64)
    fmt::format_to(out, "{}", scalar.as_double());
  else
    fmt::format_to(out, "{}", static_cast<float>(scalar.as_double()));
}

void append_lanes(fmt::memory_buffer& text, const numerics::TileView& view, std::size_t dimension, std::int64_t first) {
  if (dimension == view.shape.rank()) return append_lane(text, view, first);
  std::int64_t stride = 1;
  for (std::size_t i = dimension + 1; i < view.shape.rank(); ++i) stride *= view.shape[i];
  const std::int64_t extent = view.shape[dimension];
  const bool shorten = view.shape.numel() > kMostLanes && extent > 2 * kEnds;
  text.push_back('[');
  for (std::int64_t i = 0; i < extent; ++i) {
    if (i > 0) text.append(std::string_view(", "));
    if (shorten && i == kEnds) {
      text.append(std::string_view("..., "));
      i = extent - kEnds;
    }
    append_lanes(text, view, dimension + 1, first + i * stride);
  }
  text.push_back(']');
}

/// A print that waits for its tiles; it happens at the instant at which the last of them has its value.
struct PendingPrint {
  std::string text;  // what comes before the tiles
  std::vector<std::shared_ptr<tile::TileValue>> values;
  std::size_t missing = 0;

  void one_is_there(const tile::Environment& environment) {
    if (--missing > 0) return;
    fmt::memory_buffer line;
    line.append(text);
    for (const auto& tile : values) {
      line.push_back(' ');
      const auto& shape = tile->value.shape();
      fmt::format_to(std::back_inserter(line), "{}{}", name(tile->value.dtype()), to_text(tile::to_extents(shape)));
      if (!tile->value.has_data()) continue;
      line.push_back(' ');
      try {
        append_lanes(line, numerics::view(environment.executor, tile->value), 0, 0);
      } catch (...) {
        // The error belongs to what made the value, and ends the run under that name.
        line.append(std::string_view("(not computed because of an error)"));
      }
    }
    line.push_back('\n');
    environment.print({line.data(), line.size()});
  }
};

}  // namespace

void device_print(std::string_view prefix, std::initializer_list<Tile> tiles, Where where) {
  auto& program = Program::current("device_print", where);
  auto print = std::make_shared<PendingPrint>();
  print->text =
      fmt::format("{} on {} (program {}): {}", program.launch().name, program.pe().name(), program.id(), prefix);
  for (const Tile& tile : tiles) print->values.push_back(program.own(tile, "device_print", where)->value());
  const auto& environment = program.environment();
  // One more than the tiles, so that nothing happens before all of them are counted.
  print->missing = print->values.size() + 1;
  for (const auto& value : print->values) {
    value->on_bound([print, &environment](const numerics::Value&) { print->one_is_there(environment); });
  }
  print->one_is_there(environment);
}

}  // namespace kernbench::tl
