#include "tile/compute/operation_table.h"

#include <array>
#include <cassert>
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
  static constexpr std::array<const OperationInfo*, 31> kInfos{
      &kAdd, &kSubtract, &kMultiply, &kDivide, &kIntegerDivide, &kRemainder, &kPower, &kMinimum, &kMaximum, &kMinimum,
      &kMaximum, &kBitAnd, &kBitOr, &kBitXor, &kShiftLeft, &kShiftRight, &kEqual, &kNotEqual, &kLess, &kLessEqual,
      &kGreater, &kGreaterEqual, nullptr, nullptr, nullptr, nullptr, nullptr,  // composed: logical ones,
                                                                               // floor_divide, remainder
      &kMaximum, &kMinimum, &kMaximum, &kMinimum};
  assert(numerics::binary_table().size() == kInfos.size() && kInfos[static_cast<std::size_t>(operation)] != nullptr);
  return *kInfos[static_cast<std::size_t>(operation)];
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
    rows.insert(rows.end(), {&kCast, &kBitcast, &kSum, &kMax, &kMin, &kArgmax, &kArgmin, &kCumsum, &kDot, &kReshape,
                             &kView, &kRavel, &kExpandDims, &kPermute, &kTrans, &kBroadcastTo, &kCat, &kJoin, &kSplit});
    return rows;
  }();
  return kTable;
}

}  // namespace kernbench::tile
