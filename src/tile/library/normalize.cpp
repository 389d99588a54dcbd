#include "tile/library/normalize.h"

#include <algorithm>

#include "tile/library/elementwise.h"

namespace kernbench::tile::library {

namespace {

/// Whole lines along `along`, as many as fit.
tl::Extents lines(const Box& box, const std::vector<bool>& along) {
  std::int64_t line = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) line *= box.shape[d];
  const std::int64_t budget = std::min(tcm_budget() / (4 * kLineTiles), std::max(kLargestBlock, line));
  std::int64_t left = std::max<std::int64_t>(budget / line, 1);
  tl::Extents block = box.shape;
  for (std::size_t d = along.size(); d-- > 0;) {
    if (along[d]) continue;
    block[d] = std::min(box.shape[d], left);
    left = std::max<std::int64_t>(left / block[d], 1);
  }
  return block;
}

/// Sum over the dimensions of a line, which stay with extent 1.
tl::Tile line_sum(tl::Tile tile, const std::vector<bool>& along) {
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d] && tile.shape()[d] != 1) tile = tl::sum(tile, static_cast<int>(d), true);
  return tile;
}

}  // namespace

bool line_fits(std::int64_t elements, std::int64_t budget) {
  return elements * 4 * kLineTiles <= budget;
}

void softmax(const View& x, std::size_t dimension, bool logarithm, const View& out, Share share) {
  std::vector<bool> along(x.rank(), false);
  along[dimension] = true;
  const auto axis = static_cast<int>(dimension);
  for (const Box& box : lines_of(out, along, share)) {
    for_each_block(box, lines(box, along), [&](const tl::Extents& at, const tl::Extents& shape) {
      const auto softmax_of = [&](const tl::Tile& loaded) {
        auto tile = tl::cast(fill_out(loaded, shape), DType::f32);
        tile = tile - tl::max(tile, axis, true);
        if (logarithm) {
          tile = tile - tl::log(tl::sum(tl::exp(tile), axis, true));
        } else {
          tile = tl::exp(tile);
          tile = tile * (1.0F / tl::sum(tile, axis, true));  // one division for each line
        }
        return tl::cast(tile, out.dtype());
      };
      store(out, at, tl::fuse(softmax_of, load(x, at, shape)));
    });
  }
}

namespace {

/// Which dimensions a line runs along.
std::vector<bool> last_dimensions(const View& x, std::size_t count) {
  std::vector<bool> along(x.rank(), false);
  for (std::size_t d = x.rank() - count; d < x.rank(); ++d) along[d] = true;
  return along;
}

/// Of whole lines, in f32: the mean (undefined where nothing is centred), and 1 / sqrt(mean of squares + epsilon).
struct LineStatistics {
  tl::Tile mean, factor;
};
LineStatistics statistics_of(tl::Tile lines, const std::vector<bool>& along, const NormOptions& options) {
  float count = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) count *= static_cast<float>(lines.shape()[d]);
  LineStatistics result;
  if (options.centred) {
    result.mean = line_sum(lines, along) / count;
    lines = lines - result.mean;
  }
  result.factor = tl::rsqrt(line_sum(lines * lines, along) / count + static_cast<float>(options.epsilon));
  return result;
}

/// What follows from the statistics, for a part of the lines. Undefined tiles: without.
tl::Tile normalized(const tl::Tile& x, const LineStatistics& statistics, const tl::Tile& weight, const tl::Tile& bias,
                    DType dtype) {
  tl::Tile tile = statistics.mean.defined() ? x - statistics.mean : x;
  tile = tile * statistics.factor;
  if (weight.defined()) tile = tile * tl::cast(weight, DType::f32);
  if (bias.defined()) tile = tile + tl::cast(bias, DType::f32);
  return tl::cast(tile, dtype);
}

tl::Tile load_if(const std::optional<View>& view, const tl::Extents& at, const tl::Extents& shape) {
  return view ? load(*view, at, shape) : tl::Tile();
}

}  // namespace

void normalize(const View& x, const std::optional<View>& weight, const std::optional<View>& bias,
               const NormOptions& options, const View& out, Share share) {
  const std::vector<bool> along = last_dimensions(x, options.dimensions);
  for (const Box& box : lines_of(out, along, share)) {
    for_each_block(box, lines(box, along), [&](const tl::Extents& at, const tl::Extents& shape) {
      const tl::Tile loaded = load(x, at, shape);
      const tl::Tile factors = load_if(weight, at, shape), offsets = load_if(bias, at, shape);
      store(out, at, tl::fuse([&] {
              const tl::Tile tile = fill_out(tl::cast(loaded, DType::f32), shape);
              return normalized(tile, statistics_of(tile, along, options), factors, offsets, out.dtype());
            }));
    });
  }
}

void normalize_parts(const View& x, const std::optional<View>& weight, const std::optional<View>& bias,
                     const NormOptions& options, const View& out) {
  const std::vector<bool> along = last_dimensions(x, options.dimensions);
  for (const Box& box : local_boxes(out)) {
    Box whole = box;
    for (std::size_t d = 0; d < along.size(); ++d)
      if (along[d]) whole.offset[d] = 0, whole.shape[d] = out.sizes[d];
    for_each_block(whole, lines(whole, along), [&](const tl::Extents& at, const tl::Extents& shape) {
      tl::Extents own_at = at, own_shape = shape;
      for (std::size_t d = 0; d < along.size(); ++d)
        if (along[d]) own_at[d] = box.offset[d], own_shape[d] = box.shape[d];
      const tl::Tile loaded = load(x, at, shape), own = load(x, own_at, own_shape);
      const tl::Tile factors = load_if(weight, own_at, own_shape), offsets = load_if(bias, own_at, own_shape);
      store(out, own_at, tl::fuse([&] {
              const tl::Tile lines = fill_out(tl::cast(loaded, DType::f32), shape);
              const tl::Tile part = fill_out(tl::cast(own, DType::f32), own_shape);
              return normalized(part, statistics_of(lines, along, options), factors, offsets, out.dtype());
            }));
    });
  }
}

}  // namespace kernbench::tile::library
