#include "tile/compute/operation_table.h"

#include <cassert>
#include <map>
#include <vector>

#include "numerics/elementwise_table.h"

namespace kernbench::tile {

namespace {

using namespace operations;  // NOLINT(google-build-using-namespace): the rows of this table
using numerics::BinaryOperation;
using numerics::UnaryOperation;

OperationInfo function(const numerics::UnaryInfo& row) {
  if (row.yields == numerics::Yields::floating)
    return unary(row.name, row.call, *row.cost, Accepts::any, ResultType::floating, "computed in f32, rounded once");
  return unary(row.name, row.call, *row.cost, Accepts::any, ResultType::same, "exact");
}

/// By operation; those without a call have no row here.
const std::vector<OperationInfo>& functions() {
  static const auto kFunctions = [] {
    std::vector<OperationInfo> rows;
    for (const auto& row : numerics::unary_table()) rows.push_back(row.call.empty() ? OperationInfo{} : function(row));
    return rows;
  }();
  return kFunctions;
}

/// What tiles call differently, or take and yield by other rules than tensors.
const OperationInfo* written(BinaryOperation operation) {
  using enum BinaryOperation;
  static const std::map<BinaryOperation, const OperationInfo*> kWritten{{add, &kAdd},
                                                                        {subtract, &kSubtract},
                                                                        {multiply, &kMultiply},
                                                                        {divide, &kDivide},
                                                                        {fmod, &kRemainder},
                                                                        {power, &kPower},
                                                                        {minimum, &kMinimum},
                                                                        {maximum, &kMaximum},
                                                                        {bit_and, &kBitAnd},
                                                                        {bit_or, &kBitOr},
                                                                        {minimum_nan, &kMinimum},
                                                                        {maximum_nan, &kMaximum},
                                                                        {bit_xor, &kBitXor},
                                                                        {shift_left, &kShiftLeft},
                                                                        {shift_right, &kShiftRight},
                                                                        {equal, &kEqual},
                                                                        {not_equal, &kNotEqual},
                                                                        {less, &kLess},
                                                                        {less_equal, &kLessEqual},
                                                                        {greater, &kGreater},
                                                                        {truncate_divide, &kIntegerDivide},
                                                                        {greater_equal, &kGreaterEqual},
                                                                        {clamp_min, &kMaximum},
                                                                        {clamp_max, &kMinimum},
                                                                        {tensor_maximum, &kMaximum},
                                                                        {tensor_minimum, &kMinimum}};
  const auto found = kWritten.find(operation);
  return found == kWritten.end() ? nullptr : found->second;
}

OperationInfo pair(const numerics::BinaryInfo& row) {
  const auto operation = std::get<BinaryOperation>(row.operation);
  if (const OperationInfo* info = written(operation)) return *info;
  if (!row.cost) return {};  // composed
  const auto accepts = row.takes == numerics::Takes::floats     ? Accepts::floats
                       : row.takes == numerics::Takes::bits     ? Accepts::bits
                       : row.takes == numerics::Takes::integers ? Accepts::integers
                                                                : Accepts::any;
  const auto type = row.yields == numerics::Yields::boolean    ? ResultType::boolean
                    : row.yields == numerics::Yields::floating ? ResultType::quotient
                                                               : ResultType::promoted;
  return elementwise(row.name, row.name, *row.cost, accepts, type, {});
}

/// By operation; those that are composed of others are empty.
const std::vector<OperationInfo>& pairs() {
  static const auto kPairs = [] {
    std::vector<OperationInfo> rows;
    for (const auto& row : numerics::binary_table()) rows.push_back(pair(row));
    return rows;
  }();
  return kPairs;
}

}  // namespace

const OperationInfo& operation_info(UnaryOperation operation) {
  if (operation == UnaryOperation::negate) return kNegate;
  if (operation == UnaryOperation::absolute) return kAbs;
  if (operation == UnaryOperation::logical_not) return kLogicalNot;
  if (operation == UnaryOperation::bit_not) return kBitNot;
  const OperationInfo& row = functions()[static_cast<std::size_t>(operation)];
  assert(!row.call.empty());
  return row;
}

const OperationInfo& operation_info(BinaryOperation operation) {
  const OperationInfo& row = pairs()[static_cast<std::size_t>(operation)];
  assert(row.kind != nullptr);
  return row;
}

std::span<const OperationInfo* const> operation_table() {
  static const auto kTable = [] {
    std::vector<const OperationInfo*> rows{
        &kArange,    &kFull,          &kZeros,  &kZerosLike, &kAdd,     &kSubtract,     &kMultiply,  &kDivide,
        &kRemainder, &kIntegerDivide, &kNegate, &kBitAnd,    &kBitOr,   &kBitXor,       &kShiftLeft, &kShiftRight,
        &kBitNot,    &kLogicalNot,    &kLess,   &kLessEqual, &kGreater, &kGreaterEqual, &kEqual,     &kNotEqual,
        &kMaximum,   &kMinimum,       &kClamp,  &kWhere,     &kFma,     &kFdiv,         &kPower,     &kAbs};
    for (const OperationInfo& row : functions()) {
      if (!row.call.empty()) rows.push_back(&row);
    }
    rows.insert(rows.end(), {&kCast,   &kBitcast,     &kSum,     &kMax,  &kMin,       &kArgmax,     &kArgmin,
                             &kCumsum, &kCumprod,     &kSort,    &kTopk, &kHistogram, &kRandint,    &kRandint4x,
                             &kDot,    &kDotScaled,   &kReshape, &kView, &kRavel,     &kExpandDims, &kPermute,
                             &kTrans,  &kBroadcastTo, &kCat,     &kJoin, &kSplit,     &kFlip,       &kGather});
    return rows;
  }();
  return kTable;
}

}  // namespace kernbench::tile
