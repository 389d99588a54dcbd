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
  std::optional<View> numbers;
  if (positions.defined()) {
    read.push_back(positions);
    numbers = kernel_view(positions, false);
  }
  const library::Rotary how{.token = pairs.token,
                            .offset = pairs.offset,
                            .batched = pairs.batched,
                            .interleaved = pairs.interleaved,
                            .backward = pairs.backward,
                            .in_place = pairs.in_place};
  launch({.name = pairs.backward ? "rotary_embedding_backward" : "rotary_embedding",
          .written = {out},
          .read = std::move(read),
          .pes = {},
          .body = [source = kernel_view(x, false), turns = kernel_view(frequencies, false), numbers, how, target,
                   share = whole ? library::Share::held : library::Share::spread] {
            library::rotary(source, turns, numbers, how, target, share);
          }});
}

}  // namespace kernbench::runtime
