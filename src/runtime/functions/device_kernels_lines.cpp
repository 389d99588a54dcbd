// Functions of a device whose results depend on whole lines: softmax and norms.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/functions/device_kernels.h"
#include "runtime/functions/tensor_lines.h"
#include "tensor/tensor_impl.h"
#include "tile/library/normalize.h"
#include "tile/library/reduce.h"
#include "topology/spec.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::Reduction;
using library::View;
using torch::Tensor;
using Tiles = std::vector<tl::Tile>;

namespace {

/// Elements of lines that each of their holders reads whole, where it has parts of several.
constexpr std::int64_t kFewLines = 32 * 1024;
/// Whether each holder has parts of few short lines, or of one: at most two boxes, as where one line ends and the next
/// begins, with kFewLines elements of lines together.
bool has_parts_of_few_lines(const View& out, const std::vector<bool>& along) {
  std::map<PeCoordinate, std::size_t> parts_of;
  for (const addressing::Shard& shard : out.tensor.descriptor().shards) {
    for (const library::Box& part : library::parts_in(out, shard.offset, shard.shape)) {
      std::int64_t lines = 1, elements = 1;
      for (std::size_t d = 0; d < along.size(); ++d) {
        if (!along[d]) lines *= part.shape[d];
        elements *= along[d] ? out.sizes[d] : part.shape[d];
      }
      if ((lines > 1 && elements > kFewLines) || ++parts_of[shard.owner] > 2) return false;
    }
  }
  return true;
}

/// Who reads which lines, where all holders work on their parts; none where a program has whole lines. One program for
/// a line would write a page of each holder: with 128 of them 1.9 us of TLB misses.
library::LineReaders readers_of_few_lines(const View& out, const std::vector<bool>& along, library::Share share) {
  if (share != library::Share::spread || !has_parts_of_few_lines(out, along)) return {};
  return library::line_readers(out, along);
}

/// Lines across the rows of memory that take the slices so long to read and write, column by column of a block, are put
/// together from statistics, which are read in rows. Measured on ahbm-1sip: softmax(0) of f16 [16384, 512], 61 us by
/// this rule, takes 27.1 us and not 65.1, of [4096, 4096], 30 us, 43.4 and not 47.2; of [2048, 2048], 4 us, 15.5 and
/// not 13.8, of [8192, 128], 4 us, 17.4 and not 16.4.
constexpr double kLongInColumnsSeconds = 20e-6;

/// How long the slices of `pes` take for that, with the blocks of library::softmax.
double seconds_in_columns(const View& out, std::size_t dimension, std::int64_t pes,
                          const topology::Topology& topology) {
  const auto row = library::fast_dimension(out);
  if (!row || *row == dimension) return 0;
  const std::int64_t columns =
      std::clamp<std::int64_t>(library::kLargestBlock / out.sizes[dimension], 1, out.sizes[*row]);
  const std::int64_t piece = std::max<std::int64_t>(columns * item_size(out.dtype()), topology.cube.hbm.access.count());
  const std::int64_t pieces = out.numel() / columns;
  const double bytes = 2.0 * static_cast<double>(pieces) * static_cast<double>(piece);
  return bytes / static_cast<double>(pes) / static_cast<double>(topology.cube.slice_bandwidth().count());
}

}  // namespace

std::optional<library::Share> SimulatedOperations::whole_lines(const Tensor& out, const std::vector<bool>& along,
                                                               std::int64_t tiles) const {
  const View view = kernel_view(out, true);
  const auto& pe = simulation_.topology().pe;
  const std::int64_t line = count_along(out, along);
  if (out.numel() == 0) return library::Share::held;
  if (!library::line_fits(line, pe.tcm.capacity.count() / std::max(pe.contexts, 1), tiles)) return std::nullopt;
  const auto lies_whole = [&](const addressing::Shard& shard) {
    return std::ranges::all_of(library::parts_in(view, shard.offset, shard.shape), [&](const library::Box& part) {
      for (std::size_t d = 0; d < along.size(); ++d)
        if (along[d] && part.shape[d] != view.sizes[d]) return false;
      return true;
    });
  };
  if (std::ranges::all_of(view.tensor.descriptor().shards, lies_whole)) return library::Share::held;
  const auto pes = static_cast<std::int64_t>(holders({&out, 1}).size());
  const bool few = 2 * (out.numel() / line) < pes && line > kShortLine;
  return few || is_replicated(out) ? std::nullopt : std::optional(library::Share::spread);
}

void SimulatedOperations::softmax(const Tensor& x, std::int64_t dimension, bool logarithm, const Tensor& out) {
  const std::string name = logarithm ? "log_softmax" : "softmax";
  const std::vector<bool> along = flags_of(dimension, x.dim());
  const View target = kernel_view(out, true);
  const auto pes = static_cast<std::int64_t>(holders({&out, 1}).size());
  auto share = whole_lines(out, along, library::kLineTiles);
  if (share == library::Share::spread && seconds_in_columns(target, static_cast<std::size_t>(dimension), pes,
                                                            simulation_.topology()) > kLongInColumnsSeconds)
    share.reset();
  if (share) {
    const auto readers = readers_of_few_lines(target, along, *share);
    launch({.name = name,
            .written = {out},
            .read = {x},
            .pes = {},
            .body = [source = kernel_view(x, false), target, logarithm, axis = static_cast<std::size_t>(dimension),
                     share = *share, readers] {
              if (!readers.empty())
                library::softmax_parts(source, axis, logarithm, target, readers);
              else
                library::softmax(source, axis, logarithm, target, share);
            }});
    return;
  }
  const Tensor largest = line_statistic(x, along), sum = line_statistic(x, along);
  library::ReduceOptions options;
  options.reduced = along;
  options.reduction = Reduction::maximum;
  reduce(name + ".max", x, {}, options, largest);
  options.reduction = Reduction::sum;
  options.map = [](const Tiles& tiles, const library::Box&) { return tl::exp(tiles[0] - tiles[1]); };
  reduce(name + ".sum", x, {largest}, options, sum);
  map(name, {x, largest.expand(x.sizes()), sum.expand(x.sizes())}, out,
      [logarithm](const Tiles& tiles, const library::Box&) {
        const auto shifted = tl::cast(tiles[0], DType::f32) - tiles[1];
        return logarithm ? shifted - tl::log(tiles[2]) : tl::exp(shifted) * (1.0F / tiles[2]);
      });
}

namespace {

Tensor expanded(const Tensor& parameter, const Tensor& x) {
  return parameter.defined() ? parameter.expand(x.sizes()) : Tensor();
}

}  // namespace

void SimulatedOperations::normalize(const tensor::Norm& norm, const Tensor& out) {
  std::vector<bool> along(static_cast<std::size_t>(norm.x.dim()), false);
  std::fill(along.end() - norm.dimensions, along.end(), true);
  const bool adds = norm.residual.defined();
  if (const auto share = whole_lines(out, along, adds ? library::kLineTilesWithSum : library::kLineTiles))
    return normalize_lines(norm, along, *share, out);
  if (!adds) return normalize_by_statistics(norm, along, out);
  map("add", {norm.x, norm.residual}, norm.sum,
      [](const Tiles& tiles, const library::Box&) { return tiles[0] + tiles[1]; });
  tensor::Norm rest = norm;
  rest.x = norm.sum;
  rest.residual = {};
  normalize(rest, out);
}

void SimulatedOperations::normalize_lines(const tensor::Norm& norm, const std::vector<bool>& along,
                                          library::Share share, const Tensor& out) {
  const Tensor scale = expanded(norm.weight, norm.x), shift = expanded(norm.bias, norm.x);
  const auto view = [](const Tensor& tensor) {
    return tensor.defined() ? std::optional(kernel_view(tensor, false)) : std::nullopt;
  };
  const library::NormOperands operands{kernel_view(norm.x, false), view(norm.residual), view(scale), view(shift)};
  const library::NormOptions options{static_cast<std::size_t>(norm.dimensions), norm.epsilon, norm.centred};
  library::NormResults results{kernel_view(out, true)};
  std::vector<Tensor> read{norm.x}, written{out};
  for (const Tensor& more : {norm.residual, scale, shift})
    if (more.defined()) read.push_back(more);
  if (norm.residual.defined()) {
    written.push_back(norm.sum);
    results.sum = kernel_view(norm.sum, true);
  }
  const auto readers = readers_of_few_lines(results.out, along, share);
  launch({.name = norm.name(),
          .written = std::move(written),
          .read = std::move(read),
          .pes = {},
          .body = [operands, options, results, share, readers] {
            if (!readers.empty())
              library::normalize_parts(operands, options, results, readers);
            else
              library::normalize(operands, options, results, share);
          }});
}

/// Of what is not added to anything: mean and mean square first, in launches of their own.
void SimulatedOperations::normalize_by_statistics(const tensor::Norm& norm, const std::vector<bool>& along,
                                                  const Tensor& out) {
  const Tensor& x = norm.x;
  const Tensor scale = expanded(norm.weight, x), shift = expanded(norm.bias, x);
  std::string name = norm.name();
  const bool centred = norm.centred;
  library::ReduceOptions options;
  options.reduced = along;
  const auto count = static_cast<float>(count_along(x, along));
  options.finish = [count](const tl::Tile& sum) { return sum / count; };
  std::vector<Tensor> statistics, operands{x};
  if (centred) {
    statistics.push_back(line_statistic(x, along));
    reduce(name + ".mean", x, {}, options, statistics.front());
    operands.push_back(statistics.front().expand(x.sizes()));
  }
  options.map = [centred](const Tiles& tiles, const library::Box&) {
    const auto difference = centred ? tiles[0] - tiles[1] : tiles[0];
    return difference * difference;
  };
  const Tensor square = line_statistic(x, along);
  reduce(name + ".square", x, statistics, options, square);
  operands.push_back(square.expand(x.sizes()));
  const bool scaled = scale.defined(), shifted = shift.defined();
  if (scaled) operands.push_back(scale);
  if (shifted) operands.push_back(shift);
  map(std::move(name), operands, out,
      [centred, scaled, shifted, epsilon = static_cast<float>(norm.epsilon)](const Tiles& tiles, const library::Box&) {
        std::size_t next = 0;
        auto tile = tl::cast(tiles[next++], DType::f32);
        if (centred) tile = tile - tiles[next++];
        tile = tile * tl::rsqrt(tiles[next++] + epsilon);
        if (scaled) tile = tile * tl::cast(tiles[next++], DType::f32);
        return shifted ? tile + tl::cast(tiles[next], DType::f32) : tile;
      });
}

void SimulatedOperations::normalize_backward(const tensor::NormBackward& norm) {
  const std::vector<bool> along = flags_of(norm.x.dim() - 1, norm.x.dim());
  if (const auto share = whole_lines(norm.input, along, library::kLineTilesOfBackward))
    normalize_backward_lines(norm, *share);
  else
    normalize_backward_by_statistics(norm, along);
}

void SimulatedOperations::normalize_backward_lines(const tensor::NormBackward& norm, library::Share share) {
  const Tensor weight = expanded(norm.weight, norm.x);
  library::NormBackwardOperands operands{kernel_view(norm.x, false), kernel_view(norm.grad, false)};
  std::vector<Tensor> read{norm.x, norm.grad}, written{norm.input};
  if (weight.defined()) {
    operands.weight = kernel_view(weight, false);
    read.push_back(weight);
  }
  library::NormBackwardResults results{kernel_view(norm.input, true)};
  const auto programs = static_cast<std::int64_t>(holders({&norm.input, 1}).size());
  const std::int64_t elements = norm.x.size(-1);
  std::vector<library::SumOfParts> sums;
  std::vector<Tensor> parts, of_parameters;
  const auto add_sum = [&](const Tensor& of_parameter, std::optional<View>& result) {
    if (!of_parameter.defined()) return;
    parts.push_back(temporary(norm.x, {{programs, elements}}, DType::f32));
    result = kernel_view(parts.back(), true);
    of_parameters.push_back(of_parameter);
    sums.push_back({kernel_view(parts.back(), false), kernel_view(of_parameter.view({1, elements}), true)});
  };
  add_sum(norm.of_weight, results.weight);
  add_sum(norm.of_bias, results.bias);
  written.insert(written.end(), parts.begin(), parts.end());
  const library::NormOptions options{1, norm.epsilon, norm.centred};
  launch({.name = norm.name(),
          .written = std::move(written),
          .read = std::move(read),
          .pes = {},
          .body = [operands, options, results, share, once = !is_replicated(norm.input)] {
            library::normalize_backward(operands, options, results, share, once);
          }});
  if (sums.empty()) return;
  const bool spread = std::ranges::none_of(of_parameters, is_replicated) && elements >= kWorthSpreading;
  const bool alike = std::ranges::all_of(of_parameters, [&](const Tensor& each) {
    return tensor::impl_of(each).policy == tensor::impl_of(of_parameters.front()).policy;
  });
  std::vector<Tensor> near = of_parameters;
  if (spread) near.push_back(norm.input);
  launch({.name = norm.name() + ".sum",
          .written = of_parameters,
          .read = std::move(parts),
          .pes = holders(near),
          .body = [sums = std::move(sums), spread, alike] {
            if (spread || alike)
              return library::add_parts(sums, spread ? library::Share::spread : library::Share::held);
            for (const library::SumOfParts& sum : sums) library::add_parts({sum}, library::Share::held);
          }});
}

/// Lines too long for the TCM, or too few for the PEs: what is known of each line first, in launches of its own.
void SimulatedOperations::normalize_backward_by_statistics(const tensor::NormBackward& norm,
                                                           const std::vector<bool>& along) {
  const Tensor &x = norm.x, &grad = norm.grad;
  const Tensor weight = expanded(norm.weight, x);
  const std::string name = norm.name();
  const bool centred = norm.centred, scaled = weight.defined();
  const auto mean_of_lines = [&](const char* what, const Tensor& from, const std::vector<Tensor>& more,
                                 library::TileFunction map) {
    library::ReduceOptions options;
    options.reduced = along;
    options.map = std::move(map);
    options.finish = [count = static_cast<float>(count_along(x, along))](const tl::Tile& sum) { return sum / count; };
    const Tensor statistic = line_statistic(x, along);
    reduce(name + what, from, more, std::move(options), statistic);
    return statistic;
  };
  const auto epsilon = static_cast<float>(norm.epsilon);
  // Of tiles that begin with the square, and the mean where there is one.
  const auto factor = [epsilon](const Tiles& known) { return tl::rsqrt(known[0] + epsilon); };
  const auto normed = [centred, factor](const tl::Tile& tile, const Tiles& known) {
    return (centred ? tile - known[1] : tile) * factor(known);
  };
  std::vector<Tensor> known(centred ? 2 : 1);
  if (centred) known[1] = mean_of_lines(".mean", x, {}, {});
  known[0] = mean_of_lines(".square", x, centred ? std::vector{known[1]} : std::vector<Tensor>{},
                           [centred](const Tiles& tiles, const library::Box&) {
                             const auto difference = centred ? tiles[0] - tiles[1] : tiles[0];
                             return difference * difference;
                           });
  // x, the gradient, what is known, and the weight where there is one.
  const std::size_t end = 2 + known.size();
  std::vector<Tensor> more{grad};
  more.insert(more.end(), known.begin(), known.end());
  if (norm.of_weight.defined()) {
    sum_lines(
        name + ".weight", x, more,
        [normed](const Tiles& tiles, const library::Box&) {
          return tiles[1] * normed(tiles[0], {tiles.begin() + 2, tiles.end()});
        },
        norm.of_weight);
  }
  if (norm.of_bias.defined()) sum_lines(name + ".bias", grad, {}, {}, norm.of_bias);
  if (scaled) more.push_back(weight);
  const auto inner = [scaled](const tl::Tile& above, const tl::Tile& times) {
    return scaled ? above * tl::cast(times, DType::f32) : tl::cast(above, DType::f32);
  };
  std::vector<Tensor> means{
      mean_of_lines(".product", x, more, [inner, normed, end](const Tiles& tiles, const library::Box&) {
        return inner(tiles[1], tiles.back()) *
               normed(tiles[0], {tiles.begin() + 2, tiles.begin() + static_cast<std::ptrdiff_t>(end)});
      })};
  if (centred) {
    means.push_back(
        mean_of_lines(".gradient", grad, scaled ? std::vector{weight} : std::vector<Tensor>{},
                      [inner](const Tiles& tiles, const library::Box&) { return inner(tiles[0], tiles.back()); }));
  }
  std::vector<Tensor> operands{x, grad};
  for (const auto* statistics : {&known, &means})
    for (const Tensor& each : *statistics) operands.push_back(each.expand(x.sizes()));
  if (scaled) operands.push_back(weight);
  map(name, operands, norm.input, [=](const Tiles& tiles, const library::Box&) {
    const Tiles of_x(tiles.begin() + 2, tiles.begin() + static_cast<std::ptrdiff_t>(end));
    const tl::Tile h = normed(tl::cast(tiles[0], DType::f32), of_x), times = factor(of_x);
    const tl::Tile above = inner(tiles[1], tiles.back());
    const tl::Tile rest = centred ? tl::fma(above, times, -(tiles[end + 1] * times)) : above * times;
    return tl::fma(h, -(tiles[end] * times), rest);
  });
}

void SimulatedOperations::sum_lines(std::string name, const Tensor& x, const std::vector<Tensor>& more,
                                    library::TileFunction function, const Tensor& out) {
  library::ReduceOptions options;
  options.reduced = std::vector<bool>(static_cast<std::size_t>(x.dim()), true);
  options.reduced.back() = false;
  options.map = std::move(function);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes.back() = x.size(-1);
  reduce(std::move(name), x, more, std::move(options), out.view(sizes));
}

}  // namespace kernbench::runtime
