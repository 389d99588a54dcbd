// Lines of a device in order, or the first of each.
#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/functions/device_kernels.h"
#include "tile/library/top_k.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::View;
using torch::Tensor;

namespace {

/// Replicas are written by those that hold them.
library::Share share_of(const std::vector<Tensor>& results) {
  return std::ranges::any_of(results, is_replicated) ? library::Share::held : library::Share::spread;
}

}  // namespace

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

}  // namespace kernbench::runtime
