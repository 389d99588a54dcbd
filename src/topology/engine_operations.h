// What the engines of a PE tell apart: the operations of the vector engine and the operand types of the GEMM engine,
// each with its key in a topology file, its default cost and where that comes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernbench/engines.h"

namespace kernbench::topology {

using kernbench::GemmOperand;
using kernbench::VectorOperation;

inline constexpr std::size_t kVectorOperationCount = 34;

struct VectorOperationInfo {
  VectorOperation operation;
  std::string_view key;
  std::int32_t cycles;  // the default
  std::string_view documentation;
};

/// In the order of the enumeration, which is that of the file.
inline constexpr std::array<VectorOperationInfo, kVectorOperationCount> kVectorOperations{{
    // source: CUDA C++ Programming Guide, throughput of native arithmetic instructions, compute capability 8.0: add,
    // multiply, fma, compare, minimum, shift and logical operations at the full rate (64 for each clock and SM).
    {VectorOperation::add, "add", 1, "add, subtract, negate, abs"},
    {VectorOperation::multiply, "multiply", 1, "multiply"},
    {VectorOperation::fma, "fma", 1, "fused multiply-add"},
    // assumption: a reciprocal at a quarter of the rate, and four fused steps to round it correctly.
    {VectorOperation::divide, "divide", 8, "division of floats"},
    // assumption: a sequence of about 16 instructions, as on engines without an integer divider.
    {VectorOperation::integer_divide, "integer_divide", 16, "idiv"},
    {VectorOperation::remainder, "remainder", 18, "remainder: a division, a product and a difference"},
    {VectorOperation::compare, "compare", 1, "comparisons, logical not"},
    {VectorOperation::select, "select", 1, "where"},
    {VectorOperation::minimum, "minimum", 1, "minimum, maximum"},
    {VectorOperation::clamp, "clamp", 2, "clamp: a minimum and a maximum"},
    {VectorOperation::bitwise, "bitwise", 1, "and, or, exclusive or, complement"},
    {VectorOperation::shift, "shift", 1, "shifts"},
    {VectorOperation::cast, "cast", 1, "conversion of the element type"},                     // assumption
    {VectorOperation::round, "round", 1, "floor, ceil, round, trunc"},                        // assumption
    {VectorOperation::copy, "copy", 1, "moving lanes and writing constants: permute, full"},  // assumption
    // source: the same table: reciprocal, square root, exp2, log2, sin and cos at a quarter of the rate (16 of 64).
    {VectorOperation::exp, "exp", 4, "exp, exp2"},
    // assumption: an exp and two sums that keep the low bits of a small result.
    {VectorOperation::expm1, "expm1", 6, "expm1: an exp and two sums"},
    {VectorOperation::log, "log", 4, "log, log2"},
    // assumption: a log and a product.
    {VectorOperation::log10, "log10", 5, "log10: a log and a product"},
    // assumption: a log and two sums that keep the low bits of a small argument.
    {VectorOperation::log1p, "log1p", 6, "log1p: a log and two sums"},
    // assumption: a log, a product in two parts, an exp, and a comparison and a choice for the special cases.
    {VectorOperation::pow, "pow", 12, "pow: a log, a product in two parts, an exp, special cases"},
    {VectorOperation::sqrt, "sqrt", 4, "square root"},
    {VectorOperation::rsqrt, "rsqrt", 4, "reciprocal square root"},
    {VectorOperation::sin, "sin", 4, "sine"},
    {VectorOperation::cos, "cos", 4, "cosine"},
    // assumption: an exp, a division and a few sums; a polynomial of about 16 steps.
    {VectorOperation::tanh, "tanh", 16, "hyperbolic tangent"},
    {VectorOperation::erf, "erf", 16, "error function"},
    {VectorOperation::sigmoid, "sigmoid", 13, "sigmoid: an exp, a sum and a division"},
    {VectorOperation::reduce, "reduce", 1, "sum, max, min: taking in one group of lanes"},               // assumption
    {VectorOperation::reduce_level, "reduce_level", 1, "one level of the tree that ends a reduction"},   // assumption
    {VectorOperation::argreduce, "argreduce", 2, "argmax, argmin: a comparison and a choice of index"},  // assumption
    // assumption: log2(128) steps over the lanes of a group, and one for the sum of the groups before it.
    {VectorOperation::scan, "scan", 8, "cumsum, cumprod: running sums of one group of lanes"},
    // assumption: log2(128) steps of a network that takes any lane anywhere, and one to read the indices.
    {VectorOperation::gather, "gather", 8, "gather: one group of lanes, each from any place of the operand"},
    // assumption: the lanes change places, are compared, and one of the two is chosen.
    {VectorOperation::sort, "sort", 3, "sort, topk: one group of lanes in one stage of a sorting network"},
}};

inline constexpr std::size_t kGemmOperandCount = 7;

/// Accumulation steps for each cycle, as a fraction in lowest terms: 2, or 1/4.
struct Rate {
  std::int32_t steps = 1;
  std::int32_t cycles = 1;
  /// Cycles for `count` steps, rounded up.
  constexpr std::int64_t cycles_for(std::int64_t count) const { return (count * cycles + steps - 1) / steps; }
  bool operator==(const Rate&) const = default;
};

struct GemmOperandInfo {
  GemmOperand operand;
  std::string_view key;
  bool integer;  // products of integers are no floating-point operations
  Rate rate;     // the default
  std::string_view documentation;
};

/// In the order of the enumeration. source of the factor of two: NVIDIA A100 and H100 data sheets, tensor cores: 8-bit
/// operands at twice the rate of 16-bit ones; NVIDIA B200 and AMD Instinct MI355X data sheets: 4-bit ones at twice that
/// of 8-bit ones. assumption: a 32-bit product is four passes through 16-bit multipliers.
inline constexpr std::array<GemmOperandInfo, kGemmOperandCount> kGemmOperands{{
    {GemmOperand::f4, "f4", false, {4, 1}, "e2m1 of dot_scaled"},
    {GemmOperand::f8, "f8", false, {2, 1}, "f8e4m3 and f8e5m2"},
    {GemmOperand::i8, "i8", true, {2, 1}, "i8 and u8"},
    {GemmOperand::f16, "f16", false, {1, 1}, "f16"},
    {GemmOperand::bf16, "bf16", false, {1, 1}, "bf16"},
    {GemmOperand::f32, "f32", false, {1, 4}, "f32"},
    {GemmOperand::i32, "i32", true, {1, 4}, "i32"},
}};

namespace detail {

constexpr bool in_order() {
  for (std::size_t i = 0; i < kVectorOperations.size(); ++i) {
    if (static_cast<std::size_t>(kVectorOperations[i].operation) != i) return false;
  }
  for (std::size_t i = 0; i < kGemmOperands.size(); ++i) {
    if (static_cast<std::size_t>(kGemmOperands[i].operand) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace detail

/// Cycles for a group of lanes, by operation.
class VectorCycles {
 public:
  constexpr VectorCycles() {
    for (const VectorOperationInfo& info : kVectorOperations) (*this)[info.operation] = info.cycles;
  }
  constexpr std::int32_t& operator[](VectorOperation operation) { return cycles_[static_cast<std::size_t>(operation)]; }
  constexpr const std::int32_t& operator[](VectorOperation operation) const {
    return cycles_[static_cast<std::size_t>(operation)];
  }
  bool operator==(const VectorCycles&) const = default;

 private:
  std::array<std::int32_t, kVectorOperationCount> cycles_{};
};

/// Accumulation steps for each cycle, by operand type.
class GemmRates {
 public:
  constexpr GemmRates() {
    for (const GemmOperandInfo& info : kGemmOperands) (*this)[info.operand] = info.rate;
  }
  constexpr Rate& operator[](GemmOperand operand) { return rates_[static_cast<std::size_t>(operand)]; }
  constexpr const Rate& operator[](GemmOperand operand) const { return rates_[static_cast<std::size_t>(operand)]; }
  bool operator==(const GemmRates&) const = default;

 private:
  std::array<Rate, kGemmOperandCount> rates_{};
};

}  // namespace kernbench::topology
