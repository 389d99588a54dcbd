#include "distributed/algorithms/bruck.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "distributed/algorithms/degree.h"
#include "distributed/algorithms/neighbours.h"

namespace kernbench::distributed {

std::vector<RankPair> bruck_channels(const GroupShape& ranks) {
  std::vector<RankPair> channels;
  for (int distance = 1; distance < ranks; distance *= 2) {
    for (int rank = 0; rank < ranks; ++rank) channels.emplace_back(rank, (rank + distance) % ranks);
  }
  return channels;
}

std::string bruck_refusal(const GroupDescription& group) {
  return more_channels_than_fit(group, bruck_channels(group.ranks));
}

CostStep bruck_step(int ranks, std::int64_t distance, double share) {
  CostStep step{.share = share};
  for (int rank = 0; rank < ranks; ++rank) step.messages.push_back({rank, static_cast<int>((rank + distance) % ranks)});
  return step;
}

void append_tiles(std::vector<BlockTile>& tiles, const BlockRow& block, const Pieces& share,
                  std::int64_t tile_elements) {
  for_each_tile(share, tile_elements, 0, std::numeric_limits<std::int64_t>::max(),
                [&](const Piece& at) { tiles.push_back({&block, at}); });
}

namespace {

using Tiles = std::span<const BlockTile>;

std::int64_t elements_of(Tiles tiles) {
  std::int64_t elements = 0;
  for (const BlockTile& tile : tiles) elements += tile.at.elements();
  return elements;
}

/// As many tiles, one after the other, as a message takes.
std::vector<Tiles> messages_of(Tiles tiles, std::int64_t message_elements) {
  std::vector<Tiles> messages;
  for (std::size_t first = 0, end = 0; first < tiles.size(); first = end) {
    for (std::int64_t elements = 0; end < tiles.size(); ++end) {
      elements += tiles[end].at.elements();
      if (end > first && elements > message_elements) break;
    }
    messages.push_back(tiles.subspan(first, end - first));
  }
  return messages;
}

/// Tiles at equal distances in one tensor, which one access moves; or a tile by itself.
struct Run {
  BlockRow from;           // with the offset of the first of its elements in memory
  Piece at;                // counted from there
  bool backwards = false;  // the tiles' rows stand in the opposite order in memory
};

std::int64_t position(const BlockTile& tile) {
  return tile.block->offset + tile.at.begin;
}

/// Tiles from the first on that are one run.
std::size_t run_length(Tiles tiles) {
  if (tiles.size() < 2 || tiles[0].at.rows != 1) return 1;
  const std::int64_t stride = position(tiles[1]) - position(tiles[0]);
  std::size_t length = 1;
  while (length < tiles.size()) {
    const BlockTile &before = tiles[length - 1], &next = tiles[length];
    const bool same_tensor = &next.block->tensor.descriptor() == &before.block->tensor.descriptor();
    if (!same_tensor || next.at.rows != 1 || next.at.columns != before.at.columns || stride == 0 ||
        position(next) - position(before) != stride)
      break;
    ++length;
  }
  return length;
}

std::vector<Run> runs_of(Tiles tiles) {
  std::vector<Run> runs;
  for (std::size_t first = 0; first < tiles.size();) {
    const std::size_t length = run_length(tiles.subspan(first));
    const BlockTile &begin = tiles[first], &end = tiles[first + length - 1];
    Run run{{begin.block->tensor, std::min(position(begin), position(end))}, begin.at, position(end) < position(begin)};
    run.at.begin = 0;
    if (length > 1) {
      run.at.rows = static_cast<std::int64_t>(length);
      run.at.stride = std::abs(position(tiles[first + 1]) - position(begin));
    }
    runs.push_back(run);
    first += length;
  }
  return runs;
}

/// Loads a run, and appends its rows in their order.
void append_loaded(std::vector<tl::Tile>& rows, const Run& run) {
  const std::int64_t elements = run.at.elements();
  const tl::Tile all = tl::reshape(load(run.from, run.at), {elements});
  if (!run.backwards) return rows.push_back(all);
  const tl::Buffer buffer = tl::alloc({elements}, all.dtype());
  tl::store(buffer, {0}, all);
  for (std::int64_t row = run.at.rows; row-- > 0;)
    rows.push_back(tl::load(buffer, {row * run.at.columns}, {run.at.columns}));
}

/// The value of a message.
tl::Tile packed(Tiles tiles) {
  if (tiles.size() == 1) return load(*tiles[0].block, tiles[0].at);
  std::vector<tl::Tile> rows;
  for (const Run& run : runs_of(tiles)) append_loaded(rows, run);
  return rows.size() == 1 ? rows[0] : tl::cat(rows);
}

/// Stores a run whose rows stand in a buffer, in their order.
void store_from(const tl::Buffer& buffer, std::int64_t at, const Run& run) {
  if (!run.backwards)
    return store(run.from, run.at, tl::reshape(tl::load(buffer, {at}, {run.at.elements()}), shape_of(run.at)));
  for (std::int64_t row = run.at.rows; row-- > 0; at += run.at.columns)
    store(run.from, {row * run.at.stride, 1, 0, run.at.columns}, tl::load(buffer, {at}, {run.at.columns}));
}

/// What comes from a counterpart goes to the places of `tiles`.
void receive(const tensor::DevicePart& from, Tiles tiles) {
  const DType dtype = tiles[0].block->tensor.dtype();
  if (tiles.size() == 1) return store(*tiles[0].block, tiles[0].at, receive_from(from, tiles[0].at, dtype));
  const std::int64_t elements = elements_of(tiles);
  const tl::Buffer buffer = tl::alloc({elements}, dtype);
  tl::wait(tl::irecv(buffer, {0}, {elements}, counterpart_on(from)));
  std::int64_t at = 0;
  for (const Run& run : runs_of(tiles)) {
    store_from(buffer, at, run);
    at += run.at.elements();
  }
}

}  // namespace

void exchange(const RankView& ranks, std::int64_t distance, const std::vector<BlockTile>& sent,
              const std::vector<BlockTile>& taken) {
  const tensor::DevicePart &to = ranks.part(ranks.after(distance)), &from = ranks.part(ranks.before(distance));
  const std::vector<Tiles> outgoing = messages_of(sent, ranks.tile_elements);
  const std::vector<Tiles> incoming = messages_of(taken, ranks.tile_elements);
  const auto window = static_cast<std::size_t>(ranks.window);
  for (std::size_t i = 0; i < std::max(outgoing.size(), incoming.size() + window - 1); ++i) {
    if (i < outgoing.size()) send_to(to, packed(outgoing[i]), ranks.window);
    if (i + 1 >= window && i + 1 - window < incoming.size()) receive(from, incoming[i + 1 - window]);
  }
}

}  // namespace kernbench::distributed
