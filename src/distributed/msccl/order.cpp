#include "distributed/msccl/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace kernbench::distributed::msccl {
namespace {

/// A threadblock on its way.
struct Progress {
  int step = 0, part = 0;
  std::int64_t waits_since = 0;  // round
};

/// What has been sent and not received.
struct Traffic {
  std::int64_t sent = 0, received = 0;
  std::int64_t visible = 0;  // of those sent, in earlier rounds
};

/// Goes through the schedule in rounds, with so many slots in each channel.
class Rounds {
 public:
  Rounds(const Schedule& schedule, std::int64_t slots) : schedule_(schedule), slots_(slots) {
    for (const Gpu& gpu : schedule.gpus) progress_.emplace_back(gpu.blocks.size());
  }

  /// False: nothing can go on, and something is left.
  bool run() {
    bool any = true;
    for (round_ = 1; any; ++round_) {
      any = false;
      for (int gpu = 0; gpu < schedule_.ranks(); ++gpu) any |= advance(gpu);
      for (const ConnectionKey& key : touched_) traffic_[key].visible = traffic_[key].sent;
      touched_.clear();
    }
    for (int gpu = 0; gpu < schedule_.ranks(); ++gpu)
      for (int block = 0; block < blocks(gpu); ++block)
        if (!is_done(gpu, block)) return false;
    return true;
  }
  std::vector<Move>& moves() { return moves_; }

  /// Of a run without end of slots that stopped: the threadblocks that wait for each other.
  [[noreturn]] void refuse_cycle(const std::map<ConnectionKey, Connection>& connections) const {
    using Place = std::pair<int, int>;
    Place at = first_stuck();
    std::vector<Place> seen;
    while (std::ranges::find(seen, at) == seen.end()) {
      seen.push_back(at);
      at = waits_for(at.first, at.second, connections);
    }
    seen.erase(seen.begin(), std::ranges::find(seen, at));
    std::vector<std::string> texts;
    for (const auto& [gpu, block] : seen)
      texts.push_back(fmt::format("{} (line {})", place_text(schedule_, gpu, block, progress(gpu, block).step),
                                  step(gpu, block).line));
    const auto [gpu, block] = seen.front();
    refuse(schedule_, step(gpu, block).line, place_text(schedule_, gpu, block, progress(gpu, block).step),
           fmt::format("waits for itself in a cycle: {}, and again; change the order of these steps or their "
                       "dependencies",
                       fmt::join(texts, ", which waits for ")));
  }

 private:
  int blocks(int gpu) const { return static_cast<int>(schedule_.gpus[static_cast<std::size_t>(gpu)].blocks.size()); }
  const ThreadBlock& block_at(int gpu, int block) const {
    return schedule_.gpus[static_cast<std::size_t>(gpu)].blocks[static_cast<std::size_t>(block)];
  }
  const Progress& progress(int gpu, int block) const {
    return progress_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(block)];
  }
  Progress& progress(int gpu, int block) {
    return progress_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(block)];
  }
  bool is_done(int gpu, int block) const {
    return progress(gpu, block).step == static_cast<int>(block_at(gpu, block).steps.size());
  }
  const Step& step(int gpu, int block) const {
    return block_at(gpu, block).steps[static_cast<std::size_t>(progress(gpu, block).step)];
  }

  bool dependency_is_done(int gpu, const Step& what) const {
    return what.after_block < 0 || progress(gpu, what.after_block).step > what.after_step;
  }
  bool message_is_there(int gpu, const ThreadBlock& block) const {
    const auto found = traffic_.find({block.receive, gpu, block.channel});
    return found != traffic_.end() && found->second.visible > found->second.received;
  }
  bool slot_is_free(int gpu, const ThreadBlock& block) const {
    const auto found = used_.find({gpu, block.send});
    return found == used_.end() || found->second < slots_;
  }
  bool is_ready(int gpu, int place) const {
    if (is_done(gpu, place)) return false;
    const ThreadBlock& block = block_at(gpu, place);
    const Step& what = step(gpu, place);
    return dependency_is_done(gpu, what) && (!receives(what.type) || message_is_there(gpu, block)) &&
           (!sends(what.type) || slot_is_free(gpu, block));
  }

  bool advance(int gpu) {
    std::optional<int> next;
    for (int block = 0; block < blocks(gpu); ++block) {
      const bool waits_longer = !next || progress(gpu, block).waits_since < progress(gpu, *next).waits_since;
      if (waits_longer && is_ready(gpu, block)) next = block;
    }
    if (next) move(gpu, *next);
    return next.has_value();
  }

  void move(int gpu, int place) {
    const ThreadBlock& block = block_at(gpu, place);
    const Step& what = step(gpu, place);
    Progress& mine = progress(gpu, place);
    moves_.push_back({gpu, place, mine.step, mine.part});
    if (receives(what.type)) {
      ++traffic_[{block.receive, gpu, block.channel}].received;
      --used_[{block.receive, gpu}];
    }
    if (sends(what.type)) {
      const ConnectionKey key{gpu, block.send, block.channel};
      ++traffic_[key].sent;
      ++used_[{gpu, block.send}];
      touched_.insert(key);
    }
    mine.waits_since = round_;
    if (what.type != StepType::nothing && ++mine.part < what.count) return;
    mine.part = 0;
    ++mine.step;
  }

  std::pair<int, int> first_stuck() const {
    for (int gpu = 0; gpu < schedule_.ranks(); ++gpu)
      for (int block = 0; block < blocks(gpu); ++block)
        if (!is_done(gpu, block)) return {gpu, block};
    return {0, 0};
  }
  std::pair<int, int> waits_for(int gpu, int place, const std::map<ConnectionKey, Connection>& connections) const {
    const Step& what = step(gpu, place);
    if (!dependency_is_done(gpu, what)) return {gpu, what.after_block};
    const ThreadBlock& block = block_at(gpu, place);
    return {block.receive, connections.at({block.receive, gpu, block.channel}).sender};
  }

  const Schedule& schedule_;
  std::int64_t slots_, round_ = 1;
  std::vector<std::vector<Progress>> progress_;
  std::map<ConnectionKey, Traffic> traffic_;
  std::map<RankPair, std::int64_t> used_;
  std::set<ConnectionKey> touched_;  // in this round
  std::vector<Move> moves_;
};

}  // namespace

Order order_of(const Schedule& schedule, const std::map<ConnectionKey, Connection>& connections) {
  std::int64_t most = 1;  // slots that can ever be of use
  for (const auto& [key, connection] : connections) most += connection.sent;
  Rounds without_limit(schedule, most);
  if (!without_limit.run()) without_limit.refuse_cycle(connections);
  Order order{std::move(without_limit.moves()), static_cast<int>(most)};
  // More slots never hinder, so the least number is found by doubling and halving.
  std::int64_t low = 1, enough = most;
  const auto runs_with = [&](std::int64_t slots) {
    Rounds rounds(schedule, slots);
    if (!rounds.run()) return false;
    order = {std::move(rounds.moves()), static_cast<int>(slots)};
    enough = slots;
    return true;
  };
  for (std::int64_t slots = 1; slots < most && !runs_with(slots); slots *= 2) low = slots + 1;
  while (low < enough) {
    const std::int64_t slots = (low + enough) / 2;
    if (!runs_with(slots)) low = slots + 1;
  }
  return order;
}

}  // namespace kernbench::distributed::msccl
