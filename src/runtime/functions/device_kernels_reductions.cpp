// Reductions of a device along dimensions, and running sums: in one launch where lines lie whole on a PE, else put
// together from several.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "kernbench/error.h"
#include "runtime/functions/device_kernels.h"
#include "runtime/functions/tensor_lines.h"
#include "tensor/tensor_impl.h"
#include "tile/library/reduce.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::Reduction;
using library::View;
using torch::Tensor;
using Tiles = std::vector<tl::Tile>;

namespace {

/// Fewer elements are not worth a second launch.
constexpr std::int64_t kWorthTwoLaunches = 32 * 1024;
/// As kShortLine of columns: elements of x for each PE that holds results. Measured on ahbm-1sip, where a dozen
/// functions gain: sum(0) of f16 [64, 2048] takes 3.5 us and not 5.5, of [1024, 512] 4.2 and not 6.5; of [4096, 900],
/// with 230,400 for each, 9.0 and not 6.6.
constexpr std::int64_t kShortColumns = 32 * 1024;
/// Where the placement cuts a reduced dimension, the PEs reduce what they hold first, when that is so many elements and
/// so many of a line: one launch would read lines from all of them in short pieces. Measured on ahbm-1sip: sum(0) of
/// f32 [4096, 4096] takes 10.2 us and not 18.7, of [8192, 8192] 22.4 and not 128; of [2048, 2048] 6.9 and not 6.1, of
/// [1000, 16777], whose PEs have 8 elements of a line, 21.5 and not 19.1.
constexpr std::int64_t kWorthLocalParts = 64 * 1024, kLongPart = 32;
/// Running sums of so many chunks are added by each part that needs them: another launch takes as long. An
/// assumption.
constexpr std::int64_t kFewChunks = 4;

DType wide(DType dtype) {
  return is_floating_point(dtype) && item_size(dtype) < 4 ? DType::f32 : dtype;
}

/// The longest part of a view along a dimension that one shard holds.
std::int64_t longest_part(const View& view, std::size_t dimension) {
  std::int64_t longest = 0;
  for (const auto& shard : view.tensor.descriptor().shards)
    for (const auto& part : library::parts_in(view, shard.offset, shard.shape))
      longest = std::max(longest, part.shape[dimension]);
  return longest;
}

/// Whether no shard holds the whole of a dimension.
bool is_cut(const Tensor& x, std::size_t dimension) {
  const View view = kernel_view(x, false);
  return longest_part(view, dimension) < view.sizes[dimension];
}

struct Merged {
  Tensor x;
  std::vector<bool> reduced;
};

/// The view in which reduced dimensions that follow each other are one; nothing when there is nothing to merge.
std::optional<Merged> merge_reduced(const Tensor& x, const std::vector<bool>& reduced) {
  std::vector<std::int64_t> sizes;
  std::vector<bool> flags;
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    const std::int64_t extent = x.size(static_cast<std::int64_t>(d));
    if (d > 0 && reduced[d] && flags.back()) {
      sizes.back() *= extent;
    } else {
      sizes.push_back(extent);
      flags.push_back(reduced[d]);
    }
  }
  if (sizes.size() == reduced.size() || x.numel() == 0 || !x.is_contiguous()) return std::nullopt;
  return Merged{x.view(sizes), std::move(flags)};
}

/// The order of dimensions in which x is dense; nothing when it is as it stands, or in none.
std::optional<std::vector<std::int64_t>> dense_order(const Tensor& x) {
  if (x.is_contiguous()) return std::nullopt;
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::int64_t d) { return x.stride(d); });
  return x.permute(order).is_contiguous() ? std::optional(order) : std::nullopt;
}

std::vector<bool> permuted(const std::vector<bool>& flags, const std::vector<std::int64_t>& order) {
  std::vector<bool> result;
  for (const std::int64_t d : order) result.push_back(flags[static_cast<std::size_t>(d)]);
  return result;
}

/// Sizes with `dimension` first, so that the default placement cuts it before all others.
std::vector<std::int64_t> with_first(std::vector<std::int64_t> sizes, std::size_t dimension) {
  std::swap(sizes[0], sizes[dimension]);
  return sizes;
}

}  // namespace

/// The chunks are the parts of x that the PEs hold, along the first reduced dimension that its placement cuts. Where it
/// cuts none, the longest one is cut.
SimulatedOperations::Chunks SimulatedOperations::chunks_as_held(const Tensor& x, const std::vector<bool>& reduced,
                                                                std::int64_t readers) {
  const View view = kernel_view(x, false);
  std::size_t longest = reduced.size();
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) continue;
    const std::int64_t part = longest_part(view, d);
    if (part < view.sizes[d]) {
      const std::int64_t count = tl::cdiv(view.sizes[d], part);
      return {.dimension = d, .count = count, .length = part, .one_each = 2 * count > readers};
    }
    if (longest == reduced.size() || view.sizes[d] > view.sizes[longest]) longest = d;
  }
  const std::int64_t extent = view.sizes[longest], length = tl::cdiv(extent, std::min(extent, readers));
  return {.dimension = longest, .count = tl::cdiv(extent, length), .length = length, .one_each = true};
}

/// How to cut x for a first launch; nothing when one launch is enough.
std::optional<SimulatedOperations::Chunks> SimulatedOperations::chunks_of(const Tensor& x,
                                                                          const std::vector<bool>& reduced,
                                                                          const Tensor& out) {
  const auto readers = static_cast<std::int64_t>(holders({&x, 1}).size());
  const auto writers = static_cast<std::int64_t>(holders({&out, 1}).size());
  if (x.numel() < kWorthTwoLaunches) return std::nullopt;
  if (readers < 2 * writers) {
    const bool large = !reduced.back() && x.numel() / readers >= kWorthLocalParts;
    const Chunks held = large ? chunks_as_held(x, reduced, readers) : Chunks{};
    const bool pays = held.count > 1 && held.length >= kLongPart && is_cut(x, held.dimension);
    return pays ? std::optional(held) : std::nullopt;
  }
  const std::int64_t short_enough = reduced.back() ? kShortLine : kShortColumns;
  if (x.numel() / writers <= short_enough && x.is_contiguous()) return std::nullopt;
  const Chunks chunks = chunks_as_held(x, reduced, readers);
  return chunks.count == 1 ? std::nullopt : std::optional(chunks);
}

Tensor SimulatedOperations::partial_results(const Tensor& out, const Chunks& chunks, DType dtype) {
  std::vector<std::int64_t> sizes = out.sizes().vec();
  sizes[chunks.dimension] = chunks.count;
  // As a line, which the default placement cuts element by element: each with the PE that has its chunk.
  if (!chunks.one_each) {
    const auto elements = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies{});
    return temporary(out, {{elements}}, dtype).view(sizes);
  }
  return temporary(out, with_first(sizes, chunks.dimension), dtype)
      .transpose(0, static_cast<std::int64_t>(chunks.dimension));
}

bool SimulatedOperations::reduce_merged(const std::string& name, const Tensor& x, const std::vector<Tensor>& more,
                                        const library::ReduceOptions& options, const Tensor& out) {
  const auto merged = merge_reduced(x, options.reduced);
  if (!merged || !out.is_contiguous()) return false;
  const auto is_statistic = [&](const Tensor& tensor) {
    return tensor.is_contiguous() && count_along(tensor, options.reduced) == 1;
  };
  if (!std::ranges::all_of(more, is_statistic)) return false;
  const auto readers = static_cast<std::int64_t>(holders({&x, 1}).size());
  if (chunks_as_held(merged->x, merged->reduced, readers).count > readers) return false;
  std::vector<std::int64_t> sizes = merged->x.sizes().vec();
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (merged->reduced[d]) sizes[d] = 1;
  library::ReduceOptions of_merged = options;
  of_merged.reduced = merged->reduced;
  std::vector<Tensor> beside;
  for (const Tensor& statistic : more) beside.push_back(statistic.view(sizes));
  reduce(name, merged->x, beside, of_merged, out.view(sizes));
  return true;
}

void SimulatedOperations::reduce(std::string name, const Tensor& x, const std::vector<Tensor>& more,
                                 library::ReduceOptions options, const Tensor& out) {
  // Which dimensions the placement cuts, and what is read in long rows, follows from the order in memory.
  if (const auto order = dense_order(x)) {
    options.reduced = permuted(options.reduced, *order);
    std::vector<Tensor> beside;
    for (const Tensor& statistic : more) beside.push_back(statistic.permute(*order));
    return reduce(std::move(name), x.permute(*order), beside, std::move(options), out.permute(*order));
  }
  if (reduce_merged(name, x, more, options, out)) return;
  const auto reduce_launch = [this, &name](const Tensor& from, const std::vector<Tensor>& beside,
                                           const library::ReduceOptions& how, const Tensor& to,
                                           std::vector<PeCoordinate> pes) {
    std::vector<View> views;
    std::vector<Tensor> read{from};
    for (const Tensor& tensor : beside) {
      views.push_back(kernel_view(tensor.expand(from.sizes()), false));
      read.push_back(tensor);
    }
    launch({.name = name,
            .written = {to},
            .read = std::move(read),
            .pes = std::move(pes),
            .body = [source = kernel_view(from, false), views = std::move(views), target = kernel_view(to, true), how] {
              library::reduce(source, views, target, how);
            }});
  };
  const auto chunks = chunks_of(x, options.reduced, out);
  if (!chunks) return reduce_launch(x, more, options, out, {});

  const Tensor partial = partial_results(out, *chunks, wide(options.compute));
  library::ReduceOptions part = options;
  part.finish = nullptr;
  part.chunked = chunks->dimension;
  part.chunk = chunks->length;
  reduce_launch(x, more, part, partial, {});

  library::ReduceOptions rest = std::move(options);
  rest.map = nullptr;
  rest.compute = wide(rest.compute);
  rest.reduced = flags_of(static_cast<std::int64_t>(chunks->dimension), x.dim());
  const bool spread = !is_replicated(out) && out.numel() >= kWorthSpreading;
  rest.share = spread ? library::Share::spread : library::Share::held;
  const std::vector<Tensor> both{x, out};
  reduce_launch(partial, {}, rest, out, spread ? holders(both) : std::vector<PeCoordinate>{});
}

void SimulatedOperations::reduce(tensor::ReduceOperation operation, const Tensor& x,
                                 std::span<const std::int64_t> dimensions, DType compute, const Tensor& out) {
  library::ReduceOptions options;
  options.reduced = flags_of(dimensions, x.dim());
  options.compute = compute;
  const bool boolean =
      operation == tensor::ReduceOperation::logical_and || operation == tensor::ReduceOperation::logical_or;
  if (boolean) {
    options.compute = x.scalar_type();
    options.map = [](const Tiles& tiles, const library::Box&) { return tl::cast(tiles.front() != 0, DType::i32); };
  } else if (compute == DType::boolean) {
    options.map = [](const Tiles& tiles, const library::Box&) { return tl::cast(tiles.front(), DType::i32); };
  }
  switch (operation) {
    case tensor::ReduceOperation::sum:
      break;
    case tensor::ReduceOperation::mean: {
      const auto count = static_cast<float>(count_along(x, options.reduced));
      options.finish = [count](const tl::Tile& sum) { return sum / count; };
      break;
    }
    case tensor::ReduceOperation::product:
      options.reduction = Reduction::product;
      break;
    case tensor::ReduceOperation::maximum_nan:
    case tensor::ReduceOperation::logical_or:
      options.reduction = Reduction::maximum;
      break;
    case tensor::ReduceOperation::minimum_nan:
    case tensor::ReduceOperation::logical_and:
      options.reduction = Reduction::minimum;
      break;
    default:  // numerics' own: indices, and extremes that ignore NaN
      throw ValueError(std::string(tensor::name(operation)) + ": no reduction of device tensors");
  }
  reduce(tensor::name(operation), x, {}, std::move(options), out);
}

Tensor SimulatedOperations::line_statistic(const Tensor& x, const std::vector<bool>& along) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) sizes[d] = 1;
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(sizes) - sizes.begin());
  return temporary(x, with_first(sizes, longest), DType::f32).transpose(0, static_cast<std::int64_t>(longest));
}

void SimulatedOperations::variance(const Tensor& x, std::span<const std::int64_t> dimensions, std::int64_t correction,
                                   const Tensor& out) {
  library::ReduceOptions options;
  options.reduced = flags_of(dimensions, x.dim());
  const std::int64_t count = count_along(x, options.reduced);
  const Tensor mean = line_statistic(x, options.reduced);
  options.finish = [divisor = static_cast<float>(count)](const tl::Tile& sum) { return sum / divisor; };
  reduce("mean", x, {}, options, mean);
  options.map = [](const Tiles& tiles, const library::Box&) {
    const auto difference = tiles[0] - tiles[1];
    return difference * difference;
  };
  const auto divisor = static_cast<float>(std::max<std::int64_t>(count - correction, 0));
  options.finish = [divisor](const tl::Tile& sum) { return sum / divisor; };
  reduce("var", x, {mean}, std::move(options), out);
}

void SimulatedOperations::arg_reduce(const tensor::ArgReduction& reduction, const Tensor& x, const Tensor& out,
                                     const Tensor& values) {
  if (const auto order = dense_order(x)) {
    const auto turned = [&](const Tensor& tensor) { return tensor.defined() ? tensor.permute(*order) : tensor; };
    tensor::ArgReduction same = reduction;
    same.dimension = std::ranges::find(*order, reduction.dimension) - order->begin();
    same.known = turned(reduction.known);
    return arg_reduce(same, turned(x), turned(out), turned(values));
  }
  const bool largest = reduction.operation == tensor::ReduceOperation::argmax_nan;
  const std::vector<bool> reduced = flags_of(reduction.dimension, x.dim());
  library::ArgReduceOptions options{
      .largest = largest, .dimension = static_cast<std::size_t>(reduction.dimension), .first = reduction.first};
  /// One launch; `known` may be undefined, and so may `best`.
  const auto reduce = [&](const Tensor& from, const Tensor& known, const Tensor& indices, const Tensor& best,
                          std::vector<PeCoordinate> pes = {}) {
    const auto view = [](const Tensor& tensor, bool written) {
      return tensor.defined() ? std::optional(kernel_view(tensor, written)) : std::nullopt;
    };
    std::vector<Tensor> written{indices}, read{from};
    if (best.defined()) written.push_back(best);
    if (known.defined()) read.push_back(known);
    launch({.name = largest ? "argmax" : "argmin",
            .written = std::move(written),
            .read = std::move(read),
            .pes = std::move(pes),
            .body = [source = kernel_view(from, false), positions = view(known, false),
                     target = kernel_view(indices, true), elements = view(best, true),
                     options] { library::arg_reduce(source, positions, target, elements, options); }});
  };
  const auto chunks = chunks_of(x, reduced, out);
  if (!chunks) return reduce(x, reduction.known, out, values);
  const Tensor part_values = partial_results(out, *chunks, x.scalar_type());
  const Tensor part_indices = partial_results(out, *chunks, DType::i32);
  options.chunk = chunks->length;
  reduce(x, reduction.known, part_indices, part_values);
  options.chunk = 0;
  const bool spread = !is_replicated(out) && out.numel() >= kWorthSpreading;
  options.share = spread ? library::Share::spread : library::Share::held;
  const std::vector<Tensor> both{x, out};
  reduce(part_values, part_indices, out, values, spread ? holders(both) : std::vector<PeCoordinate>{});
}

void SimulatedOperations::cumulative_sum(const Tensor& x, std::int64_t dimension, const Tensor& out) {
  const auto along = static_cast<std::size_t>(dimension);
  const View target = kernel_view(out, true);
  const std::int64_t extent = out.size(dimension), chunk = longest_part(target, along);
  const std::int64_t count = tl::cdiv(extent, chunk);
  const auto add_up = [&](const Tensor& terms, const Tensor& sums, std::vector<PeCoordinate> pes) {
    std::vector<Tensor> read;
    if (!terms.is_alias_of(sums)) read.push_back(terms);
    launch({.name = "cumsum",
            .written = {sums},
            .read = std::move(read),
            .pes = std::move(pes),
            .body = [from = kernel_view(terms, terms.is_alias_of(sums)), to = kernel_view(sums, true), along] {
              library::running_sums(from, along, to);
            }});
  };
  // Each PE has one element of a line: its sum is all there is to do.
  if (chunk == 1 && extent > kFewChunks && !is_replicated(out) && !x.is_alias_of(out)) return add_up(x, out, {});
  std::vector<Tensor> read{x};
  std::optional<library::ChunkTotals> totals;
  if (chunk < extent) {
    // Parts that begin in the middle need the sums of the chunks before them.
    const std::vector<Tensor> both{x, out};
    const auto pes = holders(both);
    const DType dtype = wide(out.scalar_type());
    const bool one_each = 2 * count > static_cast<std::int64_t>(pes.size());
    const Tensor sums =
        partial_results(out, {.dimension = along, .count = count, .length = chunk, .one_each = one_each}, dtype);
    library::ReduceOptions options;
    options.reduced = flags_of(dimension, x.dim());
    options.compute = dtype;
    options.chunked = along;
    options.chunk = chunk;
    launch({.name = "cumsum",
            .written = {sums},
            .read = {x},
            .pes = {},
            .body = [source = kernel_view(x, false), partial = kernel_view(sums, true), options] {
              library::reduce(source, {}, partial, options);
            }});
    const bool running = count > kFewChunks;
    if (running) add_up(sums, sums, pes);
    totals = library::ChunkTotals{.sums = kernel_view(sums, false), .chunk = chunk, .running = running};
    read.push_back(sums);
  }
  launch({.name = "cumsum",
          .written = {out},
          .read = std::move(read),
          .pes = {},
          .body = [source = kernel_view(x, false), totals, along, target] {
            library::cumulative_sum(source, totals, along, target);
          }});
}

}  // namespace kernbench::runtime
