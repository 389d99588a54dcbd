#include "distributed/msccl/clocks.h"

#include <algorithm>

namespace kernbench::distributed::msccl {

Clocks::Clocks(const Schedule& schedule) : schedule_(schedule), cells_(schedule.gpus.size()) {
  std::size_t count = 0;
  for (const Gpu& gpu : schedule.gpus) {
    first_.push_back(count);
    count += gpu.blocks.size();
  }
  now_.assign(count, Clock(count));
}

void Clocks::join(Clock& into, const Clock& other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

const ThreadBlock& Clocks::block_of(const Move& move) const {
  return schedule_.gpus[static_cast<std::size_t>(move.gpu)].blocks[static_cast<std::size_t>(move.block)];
}
const Step& Clocks::step_of(const Move& move) const {
  return block_of(move).steps[static_cast<std::size_t>(move.step)];
}

void Clocks::begin(const Move& move) {
  const std::size_t mine = number(move.gpu, move.block);
  Clock& now = now_[mine];
  ++now[mine];
  const Step& step = step_of(move);
  if (step.after_block >= 0) join(now, done_.at({number(move.gpu, step.after_block), step.after_step}));
  if (!receives(step.type)) return;
  auto& queue = sent_[{block_of(move).receive, move.gpu, block_of(move).channel}];
  join(now, queue.front());
  queue.pop_front();
}

std::optional<Move> Clocks::use(const Move& move, std::size_t cell, bool writes) {
  const std::size_t mine = number(move.gpu, move.block);
  const Clock& now = now_[mine];
  const auto unordered = [&](const Use& other) { return now[other.block] < other.time; };
  Cell& of = cells_[static_cast<std::size_t>(move.gpu)][cell];
  std::optional<Move> clash;
  if (of.writer && unordered(*of.writer)) clash = of.writer->move;
  if (writes) {
    const auto reader = std::ranges::find_if(of.readers, unordered);
    if (!clash && reader != of.readers.end()) clash = reader->move;
    of = {Use{mine, now[mine], move}, {}};
  } else {
    std::erase_if(of.readers, [&](const Use& other) { return other.block == mine; });
    of.readers.push_back({mine, now[mine], move});
  }
  return clash;
}

void Clocks::end(const Move& move) {
  const std::size_t mine = number(move.gpu, move.block);
  const Step& step = step_of(move);
  if (sends(step.type)) sent_[{move.gpu, block_of(move).send, block_of(move).channel}].push_back(now_[mine]);
  const bool is_last = step.type == StepType::nothing || move.part + 1 == step.count;
  if (is_last && step.has_dependents) done_[{mine, move.step}] = now_[mine];
}

}  // namespace kernbench::distributed::msccl
