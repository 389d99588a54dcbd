#include "distributed/algorithms/reduction.h"

namespace kernbench::distributed {

using torch::distributed::ReduceOp;

bool can_reduce(ReduceOp op, DType dtype) {
  const bool floating = is_floating_point(dtype) && !is_float8(dtype);
  switch (op) {
    case ReduceOp::AVG:
      return floating || is_integer(dtype);
    case ReduceOp::BAND:
    case ReduceOp::BOR:
    case ReduceOp::BXOR:
      return is_integer(dtype) || dtype == DType::boolean;
    case ReduceOp::PREMUL_SUM:
      return false;
    default:
      return floating || is_integer(dtype) || dtype == DType::boolean;
  }
}

tl::Tile reduce(ReduceOp op, const tl::Tile& a, const tl::Tile& b) {
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return tl::minimum(a, b, tl::PropagateNan::all);
    case ReduceOp::MAX:
      return tl::maximum(a, b, tl::PropagateNan::all);
    case ReduceOp::BAND:
      return a & b;
    case ReduceOp::BOR:
      return a | b;
    case ReduceOp::BXOR:
      return a ^ b;
    default:
      return a + b;
  }
}

tl::Tile contribution(ReduceOp op, const tl::Tile& own, std::int64_t contributions) {
  if (op != ReduceOp::AVG || !is_floating_point(own.dtype())) return own;
  return tl::cast(own * (1.0 / static_cast<double>(contributions)), own.dtype());
}

tl::Tile finish_reduction(ReduceOp op, const tl::Tile& folded, std::int64_t contributions) {
  const DType dtype = folded.dtype();
  if (op != ReduceOp::AVG || is_floating_point(dtype)) return folded;
  const bool is_narrow = item_size(dtype) == 1;  // the number of contributions may not fit
  return tl::cast(tl::idiv(is_narrow ? tl::cast(folded, DType::i32) : folded, contributions), dtype);
}

}  // namespace kernbench::distributed
