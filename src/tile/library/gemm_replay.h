// How long a plan of the matrix product takes when its loads meet on the machine's servers: the programs' steps are
// replayed with long bursts. The law is written down in docs/adr/0026-the-plan-of-a-product.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/event_queue.h"
#include "tile/library/gemm_estimate.h"
#include "tile/library/gemm_legs.h"
#include "tile/library/gemm_plan.h"
#include "tile/library/gemm_servers.h"
#include "topology/spec.h"

namespace kernbench::tile::library {

class GemmReplay {
 public:
  /// `law` gives what a program does alone; `operands`: who holds what, not empty but for the result.
  GemmReplay(const GemmProblem& problem, const topology::Topology& topology, const GemmEstimate& law,
             std::span<const PeCoordinate> pes, const GemmOperands& operands);

  /// Nanoseconds from the programs' first instruction to the end of the last store, `ranges` one for each PE. Ends
  /// early with infinity when it is seen to take longer than `limit`. Of many steps the first are replayed, and the
  /// rest take as long as the second half of those.
  double time(std::span<const GemmRange> ranges, const GemmBlock& block, const GemmTiles& tiles, double limit);

 private:
  struct Step {
    std::int64_t m, n, rows, columns, k, length;
    bool last;                 // of its tile
    double arrived = 0;        // ns; of its last byte
    double multiplied = 0;     // ns
    std::int32_t missing = 0;  // legs
  };
  struct Program {
    const GemmRange* range = nullptr;
    std::vector<Step> steps;
    std::size_t taken = 0, loaded = 0;
    double now = 0, engine = 0;  // ns: of the program, and when the GEMM engine is free
    std::vector<double> walked;  // ns: by DMA queue, the end of the walks of its latest descriptor
  };
  /// What is left of one leg of a load.
  struct Transfer {
    std::uint32_t program, step;
    std::uint32_t route;
    double bytes;  // left
    const GemmLeg* leg;
    bool store;
  };

  void make_steps(Program& program, const GemmTiles& tiles) const;
  void advance(std::uint32_t number);
  void load(std::uint32_t number, Program& program);
  void load(std::uint32_t number, std::uint32_t step, GemmLegs& legs, const OperandBox& box, double at);
  void store(std::uint32_t number, std::uint32_t index, double at);
  double set_up(Program& program, std::size_t descriptor, double walks) const;
  void start(const Transfer& transfer, double at);
  void wait(std::uint32_t transfer, double at);
  void move(std::uint32_t number, double now);

  const GemmProblem& problem_;
  const topology::Topology& topology_;
  const GemmEstimate& law_;
  std::span<const PeCoordinate> pes_;
  GemmLegs a_, b_, out_;
  GemmServers servers_;
  std::vector<Program> programs_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> ended_;  // of these
  sim::EventQueue asking_;            // the others, by the time at which the next burst asks the slice
  std::uint64_t issued_ = 0;
  GemmTiles tiles_;
  double issue_, memory_;  // ns
  double setup_ = 0, finish_ = 0;
  GemmEstimate::StepWalks walks_;
  double burst_ = 0;  // bytes
  std::int64_t room_ = 1;
  double half_ = 0, end_ = 0;  // ns: latest product of the first half of the steps, and of all
  double stored_ = 0;          // ns: the last store's end
  std::size_t most_ = 0;       // steps of a program that are replayed
};

}  // namespace kernbench::tile::library
