// The way back of a command (a launch, an installation): counters in each cube and in the IO chiplet, and two
// interrupts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/launch/way.h"
#include "kernbench/coordinates.h"
#include "sim/scheduler.h"

namespace kernbench::hardware {

class LaunchPath;

/// Each PE tells the completion counter of its cube of its end by a posted write. The last write of a cube interrupts
/// the M_CPU, which handles that once and tells the counter of the IO chiplet; the last write there interrupts the
/// IO_CPU, which handles it once and tells the host. See README.md beside this file for the law.
class CompletionTree {
 public:
  /// `at_io_cpu` (may be empty) is called when the IO_CPU has handled the completion, `at_host` when it has reached the
  /// host; the path must outlive the tree.
  CompletionTree(LaunchPath& path, SipId sip, sim::Callback at_io_cpu, sim::Callback at_host)
      : path_(path), sip_(sip), at_io_cpu_(at_io_cpu), at_host_(at_host) {}

  /// A cube whose counter begins at `ends`, at least one. All cubes are added before the first end.
  void add_cube(CubeCoordinate at, std::size_t ends) {
    cubes_.push_back({at, ends});
    ++open_cubes_;
    all_ends_ += ends;
  }
  /// `pe`, of the `cube`-th cube that was added, has come to its end; called in the deliver phase.
  void ended(std::size_t cube, PeCoordinate pe);
  /// The IO_CPU tells the host now: the command is over, without any end.
  void tell_host();
  /// Once the host has been told: the way back of the end that was counted last of all, from `start` on.
  std::vector<WayStep> way(Time start) const;

 private:
  /// The write of a PE.
  struct End {
    std::size_t cube;
    PeCoordinate pe;
    MessageTimes times;
  };
  struct Cube {
    CubeCoordinate at;
    std::size_t open;           // ends that its counter has not counted
    const End* last = nullptr;  // the end that it has counted last
    Time handled = {};          // the interrupt, by its M_CPU
    MessageTimes times = {};    // of its own write
  };
  // Each is called when the message before it has arrived, was counted or was handled.
  void at_cube(std::uint64_t end);
  void count_end(std::uint64_t end);
  void cube_ended(std::uint64_t cube);
  void at_io(std::uint64_t cube);
  void count_cube(std::uint64_t cube);
  void sip_ended(std::uint64_t);

  LaunchPath& path_;
  SipId sip_;
  sim::Callback at_io_cpu_, at_host_;
  std::vector<Cube> cubes_;
  std::size_t all_ends_ = 0;
  std::vector<End> ends_;  // so far; they stay where they are: there is room for all
  std::size_t open_cubes_ = 0;
  const Cube* last_ = nullptr;  // the cube that was counted last
  MessageTimes to_host_;
};

}  // namespace kernbench::hardware
