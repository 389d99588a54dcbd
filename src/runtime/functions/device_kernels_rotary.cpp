// Rotary embeddings of a device.
#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/functions/device_kernels.h"
#include "tile/library/rotary.h"

namespace kernbench::runtime {

namespace library = tile::library;
using library::View;
using torch::Tensor;

namespace {

/// Whether each line along the last dimension lies in one shard.
bool has_whole_lines(const View& view) {
  return std::ranges::all_of(view.tensor.descriptor().shards, [&](const addressing::Shard& shard) {
    return std::ranges::all_of(library::parts_in(view, shard.offset, shard.shape), [&](const library::Box& part) {
      return part.shape[view.rank() - 1] == view.sizes[view.rank() - 1];
    });
  });
}

library::Rotary how_of(const tensor::RotaryPairs& pairs) {
  return {.token = pairs.token,
          .offset = pairs.offset,
          .batched = pairs.batched,
          .interleaved = pairs.interleaved,
          .backward = pairs.backward,
          .in_place = pairs.in_place};
}

/// Of positions that may not be given, which are read then.
std::optional<View> numbers_of(const Tensor& positions, std::vector<Tensor>& read) {
  if (!positions.defined()) return {};
  read.push_back(positions);
  return kernel_view(positions, false);
}

}  // namespace

void SimulatedOperations::rotary(const Tensor& x, const Tensor& frequencies, const Tensor& positions,
                                 const tensor::RotaryPairs& pairs, const Tensor& out) {
  const View target = kernel_view(out, true);
  const bool whole = has_whole_lines(target);
  if (!whole && is_replicated(out)) {
    // Who holds a part of a pair has to write the same into each replica: made once instead, and then copied to all.
    const Tensor once = temporary(out, out.sizes().vec(), out.scalar_type());
    tensor::RotaryPairs apart = pairs;
    apart.in_place = false;
    rotary(x, frequencies, positions, apart, once);
    copy(once, out);
    return;
  }
  std::vector<Tensor> read{x, frequencies};
  const auto numbers = numbers_of(positions, read);
  launch({.name = pairs.backward ? "rotary_embedding_backward" : "rotary_embedding",
          .written = {out},
          .read = std::move(read),
          .pes = {},
          .body = [source = kernel_view(x, false), turns = kernel_view(frequencies, false), numbers,
                   how = how_of(pairs), target, share = whole ? library::Share::held : library::Share::spread] {
            library::rotary(source, turns, numbers, how, target, share);
          }});
}

void SimulatedOperations::rotary_into_cache(const Tensor& x, const Tensor& frequencies, const Tensor& positions,
                                            const tensor::RotaryPairs& pairs, const Tensor& cache) {
  const std::int64_t heads = x.size(1), keys = cache.size(1) / 2;
  const Tensor turned = x.narrow(1, 0, heads - keys);
  if (is_replicated(x) || is_replicated(cache)) {
    rotary(turned, frequencies, positions, pairs, turned);
    copy(x.narrow(1, heads - 2 * keys, 2 * keys), cache);
    return;
  }
  std::vector<Tensor> read{frequencies};
  const auto numbers = numbers_of(positions, read);
  const library::Share share =
      has_whole_lines(kernel_view(turned, true)) ? library::Share::held : library::Share::spread;
  launch({.name = "rotary_embedding_into_cache",
          .written = {x, cache},
          .read = std::move(read),
          .pes = {},
          .body = [all = kernel_view(x, true), turns = kernel_view(frequencies, false), numbers, how = how_of(pairs),
                   into = kernel_view(cache, true),
                   share] { library::rotary_into_cache(all, turns, numbers, how, into, share); }});
}

}  // namespace kernbench::runtime
