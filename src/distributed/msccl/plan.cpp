#include "distributed/msccl/plan.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "distributed/msccl/clocks.h"
#include "distributed/msccl/connections.h"
#include "distributed/msccl/contents.h"
#include "distributed/msccl/order.h"

namespace kernbench::distributed::msccl {
namespace {

/// Goes through the moves in their order, each with what it does to the chunks.
class Replay {
 public:
  explicit Replay(const Schedule& schedule) : schedule_(schedule), contents_(schedule), clocks_(schedule) {
    actions_.resize(schedule.gpus.size());
  }

  void take(const Move& move) {
    const ThreadBlock& block = block_of(move);
    const Step& step = block.steps[static_cast<std::size_t>(move.step)];
    clocks_.begin(move);
    if (step.type != StepType::nothing) {
      Action action{.type = step.type, .channel = block.channel};
      std::optional<Content> received;
      if (receives(step.type)) {
        action.receive = block.receive;
        auto& queue = sent_[{block.receive, move.gpu, block.channel}];
        received = std::move(queue.front());
        queue.pop_front();
      }
      Content content = contents_.move(move.gpu, move.block, move.step, move.part, received, action);
      check_uses(move, step, action);
      if (sends(step.type)) {
        action.send = block.send;
        sent_[{move.gpu, block.send, block.channel}].push_back(std::move(content));
      }
      actions_[static_cast<std::size_t>(move.gpu)].push_back(action);
    }
    clocks_.end(move);
  }

  void check_outputs() const { contents_.check_outputs(); }
  std::vector<std::vector<Action>> actions() { return std::move(actions_); }

 private:
  const ThreadBlock& block_of(const Move& move) const {
    return schedule_.gpus[static_cast<std::size_t>(move.gpu)].blocks[static_cast<std::size_t>(move.block)];
  }

  void check_uses(const Move& move, const Step& step, const Action& action) {
    std::optional<Move> clash;
    if (reads_source(step.type)) clash = clocks_.use(move, contents_.number_of(move.gpu, action.source), false);
    if (!clash && writes(step.type)) clash = clocks_.use(move, contents_.number_of(move.gpu, action.target), true);
    if (!clash) return;
    refuse(
        schedule_, step.line, place_text(schedule_, move.gpu, move.block, move.step),
        fmt::format("uses the chunk that {} (line {}) uses, one of them writes it, and nothing says which comes first; "
                    "add depid, deps and hasdep",
                    place_text(schedule_, clash->gpu, clash->block, clash->step),
                    block_of(*clash).steps[static_cast<std::size_t>(clash->step)].line));
  }

  const Schedule& schedule_;
  Contents contents_;
  Clocks clocks_;
  std::map<ConnectionKey, std::deque<Content>> sent_;
  std::vector<std::vector<Action>> actions_;
};

}  // namespace

Plan plan(const Schedule& schedule) {
  const auto connections = connections_of(schedule);
  const Order order = order_of(schedule, connections);
  Replay replay(schedule);
  for (const Move& move : order.moves) replay.take(move);
  replay.check_outputs();
  Plan plan;
  plan.operation = schedule.operation;
  plan.in_place = schedule.in_place;
  plan.ranks = schedule.ranks();
  plan.chunks = schedule.chunks;
  plan.actions = replay.actions();
  plan.slots = order.slots;
  for (const Gpu& gpu : schedule.gpus) plan.scratch.push_back(gpu.scratch);
  std::set<RankPair> channels;
  for (const auto& [key, connection] : connections) channels.emplace(std::get<0>(key), std::get<1>(key));
  plan.channels.assign(channels.begin(), channels.end());
  return plan;
}

}  // namespace kernbench::distributed::msccl
