// What is computed within tl::fuse: operations that become one command of the vector engine.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "kernbench/tl.h"
#include "tile/compute/vector_command.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile {

/// Collects the operations of a scope, and issues them. Their results have handles and shapes, but neither room in the
/// TCM nor a command of their own; they get their values when the command takes effect.
class FusedCommand {
 public:
  explicit FusedCommand(Program& program) : program_(program) {}

  Program& program() const { return program_; }
  /// What reports call the command and where it was called; without, it is "fuse" at its first operation.
  void name(const char* call, const tl::Where& where);
  /// Refuses what does not run on the vector engine: ValueError. `call` names the function of tl.
  void check(const char* call, const tl::Where& where) const;
  /// One operation: its result, without room.
  tl::Tile add(const VectorCommand& command, const tl::Where& where);
  /// Issues the command; a tile with room for each of `results` that was made in the scope, the others as they are.
  /// ValueError if another handle of a value of the scope is left.
  std::vector<tl::Tile> issue(std::vector<tl::Tile> results);

 private:
  /// What is left of an operation when its handles are gone.
  struct Step {
    const char* kind;
    tl::Where where;
    std::vector<std::shared_ptr<TileValue>> inputs;
    std::shared_ptr<TileValue> result;
    ComputeValue compute;
  };
  /// The bytes of a result, none; they live as long as a handle of it or of a view of it.
  struct Left {
    std::weak_ptr<Reservation> reservation;
    const char* kind;
    tl::Where where;
  };
  struct Output;
  void read(const StateRef& tile);
  void check_left() const;
  std::vector<StateRef> issue_with(std::vector<Output>& outputs);
  static void compute(Program& program, const std::vector<Step>& steps, const std::vector<Output>& outputs);

  Program& program_;
  const char* call_ = "fuse";
  std::optional<tl::Where> where_;
  hardware::VectorWork work_;
  std::vector<Step> steps_;
  std::vector<Left> left_;
  std::set<const Reservation*> inner_, input_bytes_;  // looked up, never walked
  std::vector<StateRef> inputs_;                      // from outside, in the order of their first use
};

}  // namespace kernbench::tile
