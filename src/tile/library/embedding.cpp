#include "tile/library/embedding.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tile/library/elementwise.h"
#include "tile/library/index_check.h"
#include "tile/library/pipeline.h"
#include "tile/program/known.h"

namespace kernbench::tile::library {

std::int64_t assumed_row(std::int64_t i, std::int64_t rows) {
  constexpr double kGoldenSection = 0.6180339887498949;
  auto step = static_cast<std::int64_t>(kGoldenSection * static_cast<double>(rows));
  while (std::gcd(step, rows) != 1) ++step;
  return i % rows * step % rows;
}

namespace {

/// So many tiles of a block have room.
std::int64_t largest_block(std::int64_t tiles) {
  constexpr std::int64_t kLargest = 4 * 1024, kWidest = 8;
  return std::clamp<std::int64_t>(tcm_budget() / (tiles * kWidest), 1, kLargest);
}

/// Where the elements of a block of rows lie in the table, and which of them are there.
struct Elements {
  tl::Tile offsets, inside;
};

Elements elements_of(const View& table, const View& index, const tl::Tile& number, const EmbeddingTable& how,
                     const tl::Extents& at, const tl::Extents& shape) {
  assume(number, [&](std::int64_t lane) {
    if (index.strides[1] == 0) return assumed_row(at[0] + lane, how.whole);
    const std::int64_t row = at[0] + lane / shape[1], column = at[1] + lane % shape[1];
    return assumed_row(row * index.sizes[1] + column, how.whole);
  });
  check_indices(number, number, how.whole);
  const bool small = std::max(table.tensor.numel(), how.whole) <= std::numeric_limits<std::int32_t>::max();
  const auto checked = tl::cast(number, small ? DType::i32 : DType::i64);
  const auto row = checked - how.first;
  auto inside = (row >= 0) & (row < table.sizes[0]);
  if (how.padding >= 0) inside = inside & (checked != how.padding);
  auto columns = tl::reshape(tl::arange(at[1], at[1] + shape[1]), {1, shape[1]});
  if (!small) columns = tl::cast(columns, DType::i64);
  return {fill_out(row * table.strides[0] + columns * table.strides[1], shape), inside};
}

}  // namespace

void embedding(const View& table, const View& index, const EmbeddingTable& how, const View& out) {
  for (const Box& box : local_boxes(out)) {
    for_each_block(box, block_shape(box.shape, largest_block(6)), [&](const tl::Extents& at, const tl::Extents& shape) {
      const Elements chosen = elements_of(table, index, load(index, at, shape), how, at, shape);
      store(out, at,
            tl::load(table.tensor.data_ptr() + table.offset + chosen.offsets, {.other = 0, .mask = chosen.inside}));
    });
  }
}

std::int64_t columns_of_a_program(std::int64_t columns, std::int64_t programs) {
  return tl::cdiv(columns, programs);
}

void embedding_backward(const View& grad, const View& index, const EmbeddingTable& how, const View& sums,
                        const tl::MulticastGroup* readers) {
  const std::int64_t columns = grad.sizes[1], part = columns_of_a_program(columns, tl::num_programs()),
                     begin = tl::program_id() * part;
  if (begin >= columns) return;
  const Box mine{{0, begin}, {grad.sizes[0], std::min(part, columns - begin)}};
  // As many rows for all, who may load their indices together.
  const tl::Extents block = block_shape({grad.sizes[0], part}, largest_block(12));
  std::vector<Box> blocks;
  append_blocks(blocks, mine, block);
  PipelineOptions loads;
  loads.mates = readers;
  loads.shared = {readers != nullptr, false};
  pipeline(
      blocks, {index, grad},
      [&](const Box& at, std::vector<tl::Tile> tiles) {
        const Elements chosen = elements_of(sums, index, tiles[0], how, at.offset, at.shape);
        const auto added = fill_out(tl::cast(tiles[1], DType::f32), at.shape);
        tiles.clear();
        // The blocks of a program that name one element follow each other in program order; nothing else orders them.
        tl::atomic_add(sums.tensor.data_ptr() + sums.offset + chosen.offsets, added,
                       {.mask = chosen.inside, .order = tl::MemoryOrder::relaxed});
      },
      loads);
}

}  // namespace kernbench::tile::library
