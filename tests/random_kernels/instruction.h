// A random kernel as data: instructions on a few registers (tiles) and tensors, so that the tile language and a plain
// interpreter can both carry it out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lanes.h"

namespace kernbench::testing {

enum class Code : std::uint8_t {
  full,
  arange,
  load_block,          // of a tensor's box, perhaps past its end
  load_strided,        // from a pointer with shape and strides
  load_gather,         // in[0]: offsets
  load_block_pointer,  // of a tensor or its transpose
  store_block,
  store_scatter,  // in[0]: offsets, in[1]: value
  atomic_add,     // in[0]: offsets, in[1]: value; out: the old values
  binary,
  unary,
  compare,
  fma,
  clamp,
  where,
  cast,
  sum,
  maximum,
  minimum,
  argmax,
  cumsum,
  dot,
  reshape,
  expand_dims,
  permute,
  broadcast_to,
  cat,
  join,
  split,   // out gets the first half, in[1] (a register) the second
  branch,  // carries out the next `count` instructions when the largest lane of in[0] is above `scalar`
};

enum class Binary : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  integer_divide,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  maximum,
  minimum,
};
enum class Compare : std::uint8_t { less, less_equal, equal, not_equal };
enum class Unary : std::uint8_t { negate, absolute, floor, ceil, sqrt, bit_not, logical_not };

struct Instruction {
  Code code = Code::full;
  int operation = 0;  // a Binary, Compare or Unary
  int out = -1;
  std::array<int, 3> in{-1, -1, -1};
  int mask = -1;                                // a bool register, or none
  std::optional<double> scalar = std::nullopt;  // takes the place of the last operand; `other` of a load
  bool scalar_is_float = false;
  int tensor = -1;
  Shape offsets = {}, shape = {}, strides = {};  // offsets of a pointer: one number
  DType dtype = DType::f32;
  std::optional<int> axis = std::nullopt;
  bool flag = false;   // keep_dims; reverse; transposed parent
  bool async = false;  // as an explicitly asynchronous load
  int count = 0;
};

/// The tensors of a kernel: those of the first half are only read; of the others each program owns a range of rows.
struct Tensors {
  std::int64_t rows_per_program = 0, columns = 0;
  std::vector<Array> arrays;
  int read_only = 0;
};

}  // namespace kernbench::testing
