// Reductions of what is first computed of each element: norms, and the logarithm of a sum of exponentials.
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/functions/device_kernels.h"
#include "runtime/functions/tensor_lines.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::Reduction;
using torch::Tensor;
using Tiles = std::vector<tl::Tile>;

namespace {

/// The largest element of a line, or 0 where it is infinite: what exponents are taken from.
tl::Tile finite(const tl::Tile& largest) {
  return tl::where(tl::abs(largest) == std::numeric_limits<float>::infinity(), 0.0F, largest);
}

}  // namespace

void SimulatedOperations::norm(const Tensor& x, std::span<const std::int64_t> dimensions, double p, const Tensor& out) {
  library::ReduceOptions options;
  options.reduced = flags_of(dimensions, x.dim());
  const auto each = [&options](auto function) {
    options.map = [function](const Tiles& tiles, const library::Box&) { return function(tiles.front()); };
  };
  const auto order = static_cast<float>(p);
  if (p == 2) {
    each([](const tl::Tile& tile) { return tile * tile; });
    options.finish = [](const tl::Tile& sum) { return tl::sqrt(sum); };
  } else if (p == 0) {
    each([](const tl::Tile& tile) { return tl::cast(tile != 0, DType::f32); });
  } else if (p == 1 || std::isinf(p)) {
    each([](const tl::Tile& tile) { return tl::abs(tile); });
    if (p != 1) options.reduction = p > 0 ? Reduction::maximum : Reduction::minimum;
  } else {
    each([order](const tl::Tile& tile) { return tl::pow(tl::abs(tile), order); });
    options.finish = [root = static_cast<float>(1 / p)](const tl::Tile& sum) { return tl::pow(sum, root); };
  }
  reduce("norm", x, {}, std::move(options), out);
}

void SimulatedOperations::logsumexp(const Tensor& x, std::span<const std::int64_t> dimensions, const Tensor& out) {
  library::ReduceOptions options;
  options.reduced = flags_of(dimensions, x.dim());
  const Tensor largest = line_statistic(x, options.reduced), sum = line_statistic(x, options.reduced);
  options.reduction = Reduction::maximum;
  reduce("logsumexp.max", x, {}, options, largest);
  options.reduction = Reduction::sum;
  options.map = [](const Tiles& tiles, const library::Box&) { return tl::exp(tiles[0] - finite(tiles[1])); };
  reduce("logsumexp.sum", x, {largest}, std::move(options), sum);
  map("logsumexp", {sum, largest}, out,
      [](const Tiles& tiles, const library::Box&) { return tl::log(tiles[0]) + finite(tiles[1]); });
}

}  // namespace kernbench::runtime
