// What chunks contain, as symbols: whose elements, and which ranks have contributed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/msccl/plan.h"
#include "distributed/msccl/schedule.h"

namespace kernbench::distributed::msccl {

struct Content {
  int chunk = 0;                   // as Plan numbers them
  std::vector<bool> contributors;  // by rank
};

/// The chunks of all gpus while a schedule is gone through. Errors name the step at which something goes wrong.
class Contents {
 public:
  explicit Contents(const Schedule& schedule);

  /// Where a chunk of a buffer stands.
  Cell cell_of(int gpu, Buffer buffer, int at) const;
  /// Number of a cell among those of its gpu, from 0.
  std::size_t number_of(int gpu, const Cell& cell) const;
  std::size_t cells_of(int gpu) const;

  /// Goes through one chunk, `part` of those of the step; `received` is what comes in. Returns what is sent, or was
  /// written, and notes in the action which chunk that is and whether it is complete.
  Content move(int gpu, int block, int step, int part, const std::optional<Content>& received, Action& action);
  /// At the end each output must have what the collective gives.
  void check_outputs() const;

 private:
  struct Where {
    int gpu, block, step;
  };
  const Content& read(const Where& where, const Cell& cell);
  void write(const Where& where, const Cell& cell, const Content& content);
  Content fold(const Where& where, const Content& a, const Content& b) const;
  /// The chunk that alone may stand in a cell of a tensor; -1: any.
  int home_of(int gpu, const Cell& cell) const;
  bool is_complete(const Content& content) const;
  std::string name_of(int chunk) const;
  std::string name_of(const Cell& cell) const;
  [[noreturn]] void refuse_step(const Where& where, const std::string& reason) const;
  std::optional<Content>& at(int gpu, const Cell& cell) {
    return contents_[static_cast<std::size_t>(gpu)][number_of(gpu, cell)];
  }

  const Schedule& schedule_;
  std::vector<std::vector<std::optional<Content>>> contents_;
};

}  // namespace kernbench::distributed::msccl
