#include "distributed/algorithms/bruck.h"

#include <algorithm>
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

void exchange(const RankView& ranks, std::int64_t distance, const std::vector<BlockTile>& sent,
              const std::vector<BlockTile>& taken) {
  const tensor::DevicePart &to = ranks.part(ranks.after(distance)), &from = ranks.part(ranks.before(distance));
  const auto window = static_cast<std::size_t>(ranks.window);
  for (std::size_t i = 0; i < std::max(sent.size(), taken.size() + window - 1); ++i) {
    if (i < sent.size()) send_to(to, load(*sent[i].block, sent[i].at), ranks.window);
    if (i + 1 < window || i + 1 - window >= taken.size()) continue;
    const BlockTile& tile = taken[i + 1 - window];
    store(*tile.block, tile.at, receive_from(from, tile.at, tile.block->tensor.dtype()));
  }
}

}  // namespace kernbench::distributed
