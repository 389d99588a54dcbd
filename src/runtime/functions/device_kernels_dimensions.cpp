// Operations of a device along dimensions: in one launch where lines lie whole on a PE, else put together from several.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "kernbench/error.h"
#include "runtime/functions/device_kernels.h"
#include "tensor/tensor_impl.h"
#include "tile/library/normalize.h"
#include "tile/library/reduce.h"
#include "tile/library/top_k.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::Reduction;
using library::View;
using torch::Tensor;
using Tiles = std::vector<tl::Tile>;

namespace {

/// Fewer elements are not worth a second launch.
constexpr std::int64_t kWorthTwoLaunches = 32 * 1024;
/// Lines of at most so many elements are not worth further launches, even where there are fewer of them than PEs.
/// Measured on ahbm-1sip: softmax of [2, 65536] takes 15.0 us in one launch, 19.3 in several.
constexpr std::int64_t kShortLine = 64 * 1024;
/// Nor are so many elements of x for each PE that holds results, where these are of columns. Measured on ahbm-1sip,
/// where a dozen functions gain: sum(0) of f16 [64, 2048] takes 3.5 us and not 5.5, of [1024, 512] 4.2 and not 6.5; of
/// [4096, 900], with 230,400 for each, 9.0 and not 6.6.
constexpr std::int64_t kShortColumns = 32 * 1024;
/// Where the placement cuts a reduced dimension, the PEs reduce what they hold first, when that is so many elements and
/// so many of a line: one launch would read lines from all of them in short pieces. Measured on ahbm-1sip: sum(0) of
/// f32 [4096, 4096] takes 10.2 us and not 18.7, of [8192, 8192] 22.4 and not 128; of [2048, 2048] 6.9 and not 6.1, of
/// [1000, 16777], whose PEs have 8 elements of a line, 21.5 and not 19.1.
constexpr std::int64_t kWorthLocalParts = 64 * 1024, kLongPart = 32;
/// Elements of lines that each of their holders reads whole, where it has parts of several.
constexpr std::int64_t kFewLines = 32 * 1024;
/// Running sums of so many chunks are added by each part that needs them: another launch takes as long. An
/// assumption.
constexpr std::int64_t kFewChunks = 4;
/// Results of fewer elements stay with the PEs that hold them.
constexpr std::int64_t kWorthSpreading = 1024;

std::vector<bool> flags_of(std::span<const std::int64_t> dimensions, std::int64_t rank) {
  std::vector<bool> flags(static_cast<std::size_t>(rank), false);
  for (const std::int64_t dimension : dimensions) flags[static_cast<std::size_t>(dimension)] = true;
  return flags;
}

std::int64_t count_along(const Tensor& x, const std::vector<bool>& along) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < along.size(); ++d)
    if (along[d]) count *= x.size(static_cast<std::int64_t>(d));
  return count;
}

DType wide(DType dtype) {
  return is_floating_point(dtype) && item_size(dtype) < 4 ? DType::f32 : dtype;
}

/// Replicas are written by those that hold them.
library::Share share_of(const std::vector<Tensor>& results) {
  return std::ranges::any_of(results, is_replicated) ? library::Share::held : library::Share::spread;
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

namespace {

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

namespace {

/// Sizes with `dimension` first, so that the default placement cuts it before all others.
std::vector<std::int64_t> with_first(std::vector<std::int64_t> sizes, std::size_t dimension) {
  std::swap(sizes[0], sizes[dimension]);
  return sizes;
}

}  // namespace

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
  rest.reduced.assign(rest.reduced.size(), false);
  rest.reduced[chunks->dimension] = true;
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
  const bool largest = reduction.operation == tensor::ReduceOperation::argmax_nan;
  std::vector<bool> reduced(static_cast<std::size_t>(x.dim()), false);
  reduced[static_cast<std::size_t>(reduction.dimension)] = true;
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

void SimulatedOperations::top_k(const Tensor& x, std::int64_t dimension, bool largest, const Tensor& values,
                                const Tensor& indices) {
  const std::vector<Tensor> written{values, indices};
  if (is_floating_point(x.scalar_type()) || item_size(x.scalar_type()) <= 4) {
    const std::int64_t extent = x.size(dimension), lines = x.numel() / extent;
    const auto& pe = simulation_.topology().pe;
    const auto writers = static_cast<std::int64_t>(holders(written).size());
    const auto programs = std::max(writers, static_cast<std::int64_t>(holders({&x, 1}).size()));
    const std::int64_t k = values.size(dimension);
    const auto sorted = library::plan_sort(pe, lines, extent, programs);
    const auto first = library::plan_first(pe, lines, extent, k, programs);
    const double rounds = library::top_k_ns(pe, lines, extent, k, writers);
    SortCall call{"topk", dimension, {.descending = largest, .signed_zeros = true}, sorted};
    if (first.sort.ns < sorted.ns) {
      call.plan = first.sort;
      call.group = first.group;
    }
    if (call.plan.ns < rounds) return sort(call, x, values, indices);
  }
  const library::TopKOptions options{
      .largest = largest, .dimension = static_cast<std::size_t>(dimension), .share = share_of(written)};
  launch({.name = "topk",
          .written = written,
          .read = {x},
          .pes = holders(written),
          .body = [source = kernel_view(x, false), best = kernel_view(values, true), where = kernel_view(indices, true),
                   options] { library::top_k(source, best, where, options); }});
}

void SimulatedOperations::sort(const Tensor& x, std::int64_t dimension, bool descending, const Tensor& values,
                               const Tensor& indices) {
  const std::vector<Tensor> written{values, indices};
  const std::int64_t extent = x.size(dimension);
  const auto programs = static_cast<std::int64_t>(holders(written).size());
  const auto plan = library::plan_sort(simulation_.topology().pe, x.numel() / extent, extent, programs);
  sort({"sort", dimension, {.descending = descending}, plan}, x, values, indices);
}

void SimulatedOperations::sort(const SortCall& call, const Tensor& x, const Tensor& values, const Tensor& indices) {
  if (call.plan.blocks > 1) return sort_in_blocks(call, x, values, indices);
  const std::vector<Tensor> written{values, indices};
  const library::SortOptions options{
      .order = call.order, .dimension = static_cast<std::size_t>(call.dimension), .share = share_of(written)};
  launch({.name = call.name,
          .written = written,
          .read = {x},
          .pes = holders(written),
          .body = [source = kernel_view(x, false), sorted = kernel_view(values, true),
                   places = kernel_view(indices, true), options] { library::sort(source, sorted, places, options); }});
}

void SimulatedOperations::sort_in_blocks(const SortCall& call, const Tensor& x, const Tensor& values,
                                         const Tensor& indices) {
  const auto& [name, dimension, order, plan, group] = call;
  const std::int64_t k = values.size(dimension), extent = x.size(dimension), lines = x.numel() / extent;
  const std::vector<std::int64_t> rows{lines, extent}, padded{lines, plan.blocks * plan.block};
  const std::vector<std::int64_t> results{lines, k};
  const Tensor keys = temporary(x, padded, DType::i64), source = x.movedim(dimension, -1).reshape(rows);
  launch({.name = name,
          .written = {keys},
          .read = {source},
          .pes = {},
          .body = [from = kernel_view(source, false), to = kernel_view(keys, true), by = order, how = plan] {
            library::sort_blocks(from, by, how, to);
          }});
  const View all_keys = kernel_view(keys, true);
  const auto merge = [&](std::function<void()> body) {
    launch({.name = call.name, .written = {keys}, .read = {}, .pes = {}, .body = std::move(body)});
  };
  const library::FirstPlan first{plan, group};
  for (std::int64_t apart = 1; group > 0 && apart < plan.blocks; apart *= group)
    merge([all_keys, first, apart, k] { library::merge_first(all_keys, first, apart, k); });
  if (group == 0) {
    for (library::MergeLayer& layer : library::merge_layers(plan.blocks)) {
      merge([all_keys, how = plan, pairs = std::move(layer)] { library::merge_blocks(all_keys, how, pairs); });
    }
  }
  // Replicas are copies, and other orders of dimensions too.
  const auto as_rows = [&](const Tensor& result) {
    const Tensor moved = result.movedim(call.dimension, -1);
    return !is_replicated(result) && moved.is_contiguous() ? moved.view(results)
                                                           : temporary(result, results, result.scalar_type());
  };
  const Tensor sorted = as_rows(values), places = as_rows(indices);
  launch({.name = name,
          .written = {sorted, places},
          .read = {keys},
          .pes = {},
          .body = [from = kernel_view(keys, false), to = kernel_view(sorted, true), where = kernel_view(places, true),
                   by = order, how = plan] { library::read_keys(from, by, how, to, where); }});
  for (const auto& [made, result] : {std::pair(sorted, values), std::pair(places, indices)}) {
    const Tensor moved = result.movedim(dimension, -1);
    if (!made.is_alias_of(result)) copy(made.view(moved.sizes()), moved);
  }
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
    options.reduced.assign(static_cast<std::size_t>(x.dim()), false);
    options.reduced[along] = true;
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

void SimulatedOperations::softmax(const Tensor& x, std::int64_t dimension, bool logarithm, const Tensor& out) {
  const std::string name = logarithm ? "log_softmax" : "softmax";
  std::vector<bool> along(static_cast<std::size_t>(x.dim()), false);
  along[static_cast<std::size_t>(dimension)] = true;
  if (const auto share = whole_lines(out, along, library::kLineTiles)) {
    const View target = kernel_view(out, true);
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

void SimulatedOperations::normalize(const tensor::Norm& norm, const Tensor& out) {
  const Tensor& x = norm.x;
  std::vector<bool> along(static_cast<std::size_t>(x.dim()), false);
  for (std::int64_t d = x.dim() - norm.dimensions; d < x.dim(); ++d) along[static_cast<std::size_t>(d)] = true;
  const auto as_x = [&](const Tensor& parameter) {
    return parameter.defined() ? parameter.expand(x.sizes()) : Tensor();
  };
  const Tensor scale = as_x(norm.weight), shift = as_x(norm.bias);
  const bool adds = norm.residual.defined();
  if (const auto share = whole_lines(out, along, adds ? library::kLineTilesWithSum : library::kLineTiles)) {
    const auto view = [](const Tensor& tensor) {
      return tensor.defined() ? std::optional(kernel_view(tensor, false)) : std::nullopt;
    };
    const library::NormOperands operands{kernel_view(x, false), view(norm.residual), view(scale), view(shift)};
    const library::NormOptions options{static_cast<std::size_t>(norm.dimensions), norm.epsilon, norm.centred};
    library::NormResults results{kernel_view(out, true)};
    std::vector<Tensor> read{x}, written{out};
    for (const Tensor& more : {norm.residual, scale, shift})
      if (more.defined()) read.push_back(more);
    if (adds) {
      written.push_back(norm.sum);
      results.sum = kernel_view(norm.sum, true);
    }
    const auto readers = readers_of_few_lines(results.out, along, *share);
    launch({.name = norm.name(),
            .written = std::move(written),
            .read = std::move(read),
            .pes = {},
            .body = [operands, options, results, share = *share, readers] {
              if (!readers.empty())
                library::normalize_parts(operands, options, results, readers);
              else
                library::normalize(operands, options, results, share);
            }});
    return;
  }
  if (adds) {
    map("add", {x, norm.residual}, norm.sum,
        [](const Tiles& tiles, const library::Box&) { return tiles[0] + tiles[1]; });
    tensor::Norm rest = norm;
    rest.x = norm.sum;
    rest.residual = {};
    return normalize(rest, out);
  }
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

}  // namespace kernbench::runtime
