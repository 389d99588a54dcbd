#include "distributed/msccl/contents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/number_set.h"

namespace kernbench::distributed::msccl {
namespace {

using Kind = Cell::Kind;

const Gpu& gpu_of(const Schedule& schedule, int gpu) {
  return schedule.gpus[static_cast<std::size_t>(gpu)];
}

std::vector<int> ranks_in(const std::vector<bool>& contributors, bool in) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < contributors.size(); ++rank)
    if (contributors[rank] == in) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace

Contents::Contents(const Schedule& schedule) : schedule_(schedule) {
  for (int gpu = 0; gpu < schedule.ranks(); ++gpu) {
    auto& cells = contents_.emplace_back(cells_of(gpu));
    std::vector<bool> own(static_cast<std::size_t>(schedule.ranks()));
    own[static_cast<std::size_t>(gpu)] = true;
    for (int at = 0; at < gpu_of(schedule, gpu).inputs; ++at) {
      const Cell cell = cell_of(gpu, Buffer::input, at);
      cells[number_of(gpu, cell)] = Content{home_of(gpu, cell), own};
    }
  }
}

Cell Contents::cell_of(int gpu, Buffer buffer, int at) const {
  if (buffer == Buffer::scratch) return {Kind::scratch, at};
  // An all-reduce has one tensor, whatever its file says.
  if (schedule_.operation == CollectiveOperation::all_reduce) return {Kind::input, at};
  const int own = at - gpu * schedule_.chunks;
  if (schedule_.in_place && buffer == Buffer::input) {
    if (schedule_.operation == CollectiveOperation::all_gather) return {Kind::output, gpu * schedule_.chunks + at};
    if (own >= 0 && own < schedule_.chunks) return {Kind::output, own};
  }
  return {buffer == Buffer::input ? Kind::input : Kind::output, at};
}

std::size_t Contents::number_of(int gpu, const Cell& cell) const {
  const Gpu& of = gpu_of(schedule_, gpu);
  const int before = cell.kind == Kind::input ? 0 : cell.kind == Kind::output ? of.inputs : of.inputs + of.outputs;
  return static_cast<std::size_t>(before) + static_cast<std::size_t>(cell.at);
}

std::size_t Contents::cells_of(int gpu) const {
  const Gpu& of = gpu_of(schedule_, gpu);
  return static_cast<std::size_t>(of.inputs) + static_cast<std::size_t>(of.outputs) +
         static_cast<std::size_t>(of.scratch);
}

int Contents::home_of(int gpu, const Cell& cell) const {
  const int n = schedule_.ranks(), chunks = schedule_.chunks;
  if (cell.kind == Kind::scratch) return -1;
  switch (schedule_.operation) {
    case CollectiveOperation::all_gather:
      return cell.kind == Kind::input ? gpu * chunks + cell.at : cell.at;
    case CollectiveOperation::reduce_scatter:
      return cell.kind == Kind::input ? cell.at : gpu * chunks + cell.at;
    case CollectiveOperation::all_to_all:
      return cell.kind == Kind::input ? gpu * n * chunks + cell.at
                                      : (cell.at / chunks * n + gpu) * chunks + cell.at % chunks;
    default:
      return cell.at;
  }
}

bool Contents::is_complete(const Content& content) const {
  return reduces(schedule_.operation) && std::ranges::find(content.contributors, false) == content.contributors.end();
}

std::string Contents::name_of(int chunk) const {
  const int n = schedule_.ranks(), chunks = schedule_.chunks;
  if (schedule_.operation == CollectiveOperation::all_reduce) return fmt::format("chunk {}", chunk);
  const int block = chunk / chunks;
  if (schedule_.operation == CollectiveOperation::all_to_all)
    return fmt::format("chunk {} from gpu {} to gpu {}", chunk % chunks, block / n, block % n);
  return fmt::format("chunk {} of block {}", chunk % chunks, block);
}

std::string Contents::name_of(const Cell& cell) const {
  constexpr std::array<const char*, 3> kNames{"i", "o", "s"};
  return fmt::format("{}[{}]", kNames[static_cast<std::size_t>(cell.kind)], cell.at);
}

void Contents::refuse_step(const Where& where, const std::string& reason) const {
  const auto& block = gpu_of(schedule_, where.gpu).blocks[static_cast<std::size_t>(where.block)];
  refuse(schedule_, block.steps[static_cast<std::size_t>(where.step)].line,
         place_text(schedule_, where.gpu, where.block, where.step), reason);
}

const Content& Contents::read(const Where& where, const Cell& cell) {
  const auto& content = at(where.gpu, cell);
  if (!content) refuse_step(where, fmt::format("reads {}, which was never written; write it first", name_of(cell)));
  return *content;
}

void Contents::write(const Where& where, const Cell& cell, const Content& content) {
  if (cell.kind == Kind::input && schedule_.operation != CollectiveOperation::all_reduce)
    refuse_step(where, fmt::format("writes {}, but the input of {} does not change; write to scratch (dstbuf=\"s\")",
                                   name_of(cell), distributed::name(schedule_.operation)));
  const int home = home_of(where.gpu, cell);
  if (home >= 0 && home != content.chunk)
    refuse_step(where,
                fmt::format("writes {} to {}, the place of {}; write to scratch (dstbuf=\"s\"), or correct dstoff",
                            name_of(content.chunk), name_of(cell), name_of(home)));
  at(where.gpu, cell) = content;
}

Content Contents::fold(const Where& where, const Content& a, const Content& b) const {
  if (!reduces(schedule_.operation))
    refuse_step(where,
                fmt::format("reduces, but {} only copies; take r, rcs or cpy", distributed::name(schedule_.operation)));
  if (a.chunk != b.chunk)
    refuse_step(where, fmt::format("reduces {} with {}; only the same chunk of different ranks can be reduced",
                                   name_of(a.chunk), name_of(b.chunk)));
  Content folded = a;
  for (std::size_t rank = 0; rank < folded.contributors.size(); ++rank) {
    if (a.contributors[rank] && b.contributors[rank])
      refuse_step(where, fmt::format("adds the contribution of rank {} to {} a second time; leave one of the steps out",
                                     rank, name_of(a.chunk)));
    folded.contributors[rank] = a.contributors[rank] || b.contributors[rank];
  }
  return folded;
}

Content Contents::move(int gpu, int block, int step, int part, const std::optional<Content>& received, Action& action) {
  const Where where{gpu, block, step};
  const Step& what =
      gpu_of(schedule_, gpu).blocks[static_cast<std::size_t>(block)].steps[static_cast<std::size_t>(step)];
  if (reads_source(what.type)) action.source = cell_of(gpu, what.source, what.source_at + part);
  if (writes(what.type)) action.target = cell_of(gpu, what.target, what.target_at + part);
  Content content = received ? *received : read(where, what.type == StepType::reduce ? action.target : action.source);
  if (folds(what.type)) {
    content = fold(where, content, read(where, action.source));
    action.finishes = is_complete(content);
  }
  action.chunk = content.chunk;
  if (writes(what.type)) write(where, action.target, content);
  return content;
}

void Contents::check_outputs() const {
  for (int gpu = 0; gpu < schedule_.ranks(); ++gpu) {
    const Gpu& of = gpu_of(schedule_, gpu);
    for (int at = 0; at < of.outputs; ++at) {
      const Cell cell = cell_of(gpu, Buffer::output, at);
      const auto& content = contents_[static_cast<std::size_t>(gpu)][number_of(gpu, cell)];
      const std::string what = fmt::format("gpu {}", gpu);
      if (!content)
        refuse(schedule_, of.line, what,
               fmt::format("nothing ever writes o[{}], which is to have {}; add the steps", at,
                           name_of(home_of(gpu, cell))));
      if (!reduces(schedule_.operation) || is_complete(*content)) continue;
      refuse(schedule_, of.line, what,
             fmt::format("o[{}] ends without the contribution of ranks {} to {}; reduce it in, too", at,
                         set_text(ranks_in(content->contributors, false)), name_of(content->chunk)));
    }
  }
}

}  // namespace kernbench::distributed::msccl
