// Which steps come before which: by their threadblock, by dependencies and by messages, and by nothing else.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "distributed/msccl/connections.h"
#include "distributed/msccl/order.h"
#include "distributed/msccl/schedule.h"

namespace kernbench::distributed::msccl {

/// Vector clocks of threadblocks, while the moves are gone through in their order.
class Clocks {
 public:
  explicit Clocks(const Schedule& schedule);

  /// The move begins: it is behind its threadblock's last one, behind what it depends on, and behind its message.
  void begin(const Move& move);
  /// It uses a cell of its gpu. Returns the last use of which nothing says whether it comes before or after, if one of
  /// the two writes.
  std::optional<Move> use(const Move& move, std::size_t cell, bool writes);
  /// It has ended.
  void end(const Move& move);

 private:
  using Clock = std::vector<std::int32_t>;  // by threadblock of all gpus: moves
  struct Use {
    std::size_t block;
    std::int32_t time;
    Move move;
  };
  struct Cell {
    std::optional<Use> writer;
    std::vector<Use> readers;  // since then, the last one of each threadblock
  };
  std::size_t number(int gpu, int block) const {
    return first_[static_cast<std::size_t>(gpu)] + static_cast<std::size_t>(block);
  }
  static void join(Clock& into, const Clock& other);
  const Step& step_of(const Move& move) const;
  const ThreadBlock& block_of(const Move& move) const;

  const Schedule& schedule_;
  std::vector<std::size_t> first_;  // number of the first threadblock, by gpu
  std::vector<Clock> now_;
  std::map<std::pair<std::size_t, int>, Clock> done_;  // of steps with dependents: when they were done
  std::map<ConnectionKey, std::deque<Clock>> sent_;
  std::vector<std::map<std::size_t, Cell>> cells_;  // by gpu
};

}  // namespace kernbench::distributed::msccl
