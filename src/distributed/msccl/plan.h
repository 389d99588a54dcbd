// What the one program of a gpu does, in its order: a schedule that has been checked.
//
// A gpu's threadblocks are one program, which advances whichever is ready. Which one that is follows from the schedule
// alone, before anything runs: in rounds in which each gpu takes the next step of one threadblock whose dependency is
// done, whose message has been sent in an earlier round and whose channel has a free slot, the threadblock first that
// has waited longest. So the order is the same in every run, on every PE, and needs no more slots than were counted.
#pragma once

#include <cstdint>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/msccl/schedule.h"

namespace kernbench::distributed::msccl {

/// Chunks of a gpu: of its tensors, each once however many buffers it stands in, and of its scratch buffer.
struct Cell {
  enum class Kind : std::uint8_t { input, output, scratch };
  Kind kind = Kind::input;
  int at = 0;
  bool operator==(const Cell&) const = default;
};

/// One chunk that is moved.
struct Action {
  StepType type = StepType::nothing;
  int send = -1, receive = -1, channel = 0;
  Cell source = {}, target = {};
  int chunk = 0;          // whose elements they are: see Plan
  bool finishes = false;  // every rank has contributed now
};

struct Plan {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  bool in_place = false;
  int ranks = 1;
  int chunks = 1;  // as Schedule::chunks
  /// By gpu. Chunk c of an all-reduce is its c-th; of others number `block * chunks + c`, of an all-to-all
  /// `(from * ranks + to) * chunks + c`.
  std::vector<std::vector<Action>> actions;
  std::vector<int> scratch;        // chunks, by gpu
  std::vector<RankPair> channels;  // from, to; each once
  int slots = 1;                   // that a channel must have
};

/// ConfigurationError with line, element, reason and fix for a schedule with a cycle or sends and receives that do not
/// match, that reads what was never written, uses a chunk in no order, or does not do what its collective does: at the
/// end each chunk must have every contribution once.
Plan plan(const Schedule& schedule);

}  // namespace kernbench::distributed::msccl
