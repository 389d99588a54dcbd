// Draws random kernels. The generator carries each instruction out as it draws it, so it knows shapes, types and
// validity, and what the memory holds in the end.
#pragma once

#include <random>
#include <vector>

#include "instruction.h"

namespace kernbench::testing {

struct Step {
  Instruction instruction;
  // What the register `out` holds afterwards (for instructions that set one).
  DType dtype = DType::f32;
  Shape shape;
};

inline constexpr int kRegisters = 8;

/// The element types of the tensors: the read-only ones, then those that programs write.
inline constexpr DType kTensorTypes[] = {DType::f32, DType::f16, DType::i32, DType::i8,
                                         DType::f32, DType::f16, DType::i32, DType::u8};
inline constexpr int kReadOnly = 4;

/// Tensors with random contents for `programs` programs.
Tensors random_tensors(std::mt19937& random, int programs);

/// A kernel instance for one program, carried out on `tensors`.
std::vector<Step> random_program(std::mt19937& random, Tensors& tensors, int program);

}  // namespace kernbench::testing
