#include "tile/compute/operation_table.h"

#include <array>

namespace kernbench::tile {

std::span<const OperationInfo* const> operation_table() {
  using namespace operations;
  static constexpr std::array kAll{
      &kArange,     &kFull,          &kZeros,  &kZerosLike,   &kAdd,     &kSubtract,     &kMultiply,  &kDivide,
      &kRemainder,  &kIntegerDivide, &kNegate, &kBitAnd,      &kBitOr,   &kBitXor,       &kShiftLeft, &kShiftRight,
      &kBitNot,     &kLogicalNot,    &kLess,   &kLessEqual,   &kGreater, &kGreaterEqual, &kEqual,     &kNotEqual,
      &kMaximum,    &kMinimum,       &kClamp,  &kWhere,       &kFma,     &kFdiv,         &kAbs,       &kFloor,
      &kCeil,       &kExp,           &kExp2,   &kLog,         &kLog2,    &kSqrt,         &kRsqrt,     &kSin,
      &kCos,        &kTanh,          &kErf,    &kSigmoid,     &kCast,    &kBitcast,      &kSum,       &kMax,
      &kMin,        &kArgmax,        &kArgmin, &kCumsum,      &kDot,     &kReshape,      &kView,      &kRavel,
      &kExpandDims, &kPermute,       &kTrans,  &kBroadcastTo, &kCat,     &kJoin,         &kSplit};
  return kAll;
}

}  // namespace kernbench::tile
