// Carries a random kernel out, one instruction after the other, in plain arithmetic that shares nothing with the
// product's.
#pragma once

#include <vector>

#include "instruction.h"

namespace kernbench::testing {

/// The element type of arithmetic on two tiles by Triton's rules.
DType promoted(DType a, DType b);
/// Of a tile with a scalar.
DType promoted_with_scalar(DType tile, bool scalar_is_float);

struct Interpreter {
  std::vector<Array> registers;
  Tensors& tensors;

  /// Carries out one instruction other than a branch.
  void step(const Instruction& instruction);
  /// Whether a branch is taken. REQUIRES: all lanes of its register are valid and none is NaN.
  bool taken(const Instruction& branch) const;

 private:
  Array& out(const Instruction& instruction) { return registers[static_cast<std::size_t>(instruction.out)]; }
  const Array& in(const Instruction& instruction, int index) const;
  /// An operand of arithmetic: the register, or the scalar as the tile `partner` makes it.
  Array operand(const Instruction& instruction, int index, DType partner) const;
  void load(const Instruction& instruction);
  void gather(const Instruction& instruction);
  void store(const Instruction& instruction);
  void scatter(const Instruction& instruction);
  void atomic_add(const Instruction& instruction);
  void reduce(const Instruction& instruction);
  void dot(const Instruction& instruction);
  void cat(const Instruction& instruction);
};

}  // namespace kernbench::testing
