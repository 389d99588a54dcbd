#include "tile/compute/tile_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "kernbench/error.h"
#include "tile/program/conversion.h"

namespace kernbench::tile {

TileOperands::TileOperands(const Program& program, const OperationInfo& info,
                           std::initializer_list<const tl::Operand*> operands, const tl::Where& where)
    : program_(program), info_(info), where_(where), operands_(operands) {
  for (const tl::Operand* operand : operands_) {
    if (operand->is_scalar()) {
      slots_.add_scalar(to_scalar(operand->scalar()));
    } else {
      tiles_.push_back(program.own(operand->tile(), info.kind, where));
      slots_.add_tile();
    }
  }
  if (tiles_.empty()) {
    fail(fmt::format("{} scalar{}; use ordinary C++ arithmetic",
                     operands_.size() == 1   ? "the operand is a"
                     : operands_.size() == 2 ? "both operands are"
                                             : "all operands are",
                     operands_.size() == 1 ? "" : "s"));
  }
}

void TileOperands::fail(const std::string& message) const {
  throw ValueError(fmt::format("tl::{}: {}", info_.kind, message), program_.place(where_));
}

tl::Extents TileOperands::shape() const {
  numerics::Shape shape = to_shape(tiles_.front()->shape());
  for (const StateRef& tile : tiles_) {
    const auto both = numerics::broadcast_shapes(shape, to_shape(tile->shape()));
    if (!both) {
      fail(fmt::format("shapes {} and {} do not broadcast: aligned on the right, extents must be equal or 1",
                       to_text(to_extents(shape)), to_text(tile->shape())));
    }
    shape = *both;
  }
  return to_extents(shape);
}

DType TileOperands::promoted(std::size_t first) const {
  std::optional<DType> type;
  for (std::size_t i = first; i < operands_.size(); ++i) {
    if (operands_[i]->is_scalar()) continue;
    const DType mine = operands_[i]->tile().dtype();
    type = type ? numerics::promote(*type, mine) : mine;
  }
  const bool scalars_only = !type;
  if (scalars_only) type = DType::boolean;
  for (std::size_t i = first; i < operands_.size(); ++i) {
    if (operands_[i]->is_scalar()) type = numerics::promote(*type, to_scalar(operands_[i]->scalar()).kind());
  }
  for (std::size_t i = first; i < operands_.size() && !is_floating_point(*type); ++i) {
    if (!operands_[i]->is_scalar()) continue;
    const std::int64_t value = operands_[i]->scalar().as_integer();
    if (numerics::holds(*type, value)) continue;
    if (scalars_only) {
      type = DType::i64;
    } else {
      fail(fmt::format("the scalar {} does not fit the operands' type {}; cast the tile to a wider one", value,
                       name(*type)));
    }
  }
  return *type;
}

bool TileOperands::all_floats() const {
  return std::ranges::all_of(tiles_, [](const StateRef& tile) { return is_floating_point(tile->dtype()); });
}

void refuse(const Program& program, const char* call, const std::string& message, const tl::Where& where) {
  throw ValueError(fmt::format("tl::{}: {}", call, message), program.place(where));
}

void check_accepted(const Program& program, const OperationInfo& info, DType type, const tl::Where& where) {
  const bool integer = is_integer(type), boolean = type == DType::boolean;
  const char* wanted = nullptr;
  switch (info.accepts) {
    case Accepts::any:
      break;
    case Accepts::integers:
      if (!integer) wanted = "integers";
      break;
    case Accepts::bits:
      if (!integer && !boolean) wanted = "integers or bool";
      break;
    case Accepts::floats:
      if (integer || boolean) wanted = "floats";
      break;
  }
  if (wanted == nullptr) return;
  throw ValueError(fmt::format("tl::{}: takes {}, but got {}; cast the operand", info.kind, wanted, name(type)),
                   program.place(where));
}

void check_device_type(const Program& program, const char* call, DType type, const tl::Where& where) {
  if (type != DType::f64) return;
  throw ValueError(fmt::format("tl::{}: f64 exists on the host only; use f32", call), program.place(where));
}

int checked_axis(const Program& program, const char* call, int axis, const tl::Extents& shape, std::size_t places,
                 const tl::Where& where) {
  const auto dimensions = static_cast<int>(places);
  const int wrapped = axis < 0 ? axis + dimensions : axis;
  if (wrapped >= 0 && wrapped < dimensions) return wrapped;
  throw ValueError(fmt::format("tl::{}: axis {} is out of range for a tile of shape {}", call, axis, to_text(shape)),
                   program.place(where));
}

tl::Extents reduced_shape(const tl::Extents& shape, std::optional<int> axis, bool keep_dims) {
  numerics::Shape result;
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    const bool gone = !axis || static_cast<int>(dimension) == *axis;
    if (!gone)
      result.push_back(shape[dimension]);
    else if (keep_dims)
      result.push_back(1);
  }
  return to_extents(result);
}

DType result_type(const OperationInfo& info, DType promoted) {
  switch (info.type) {
    case ResultType::quotient:
      return DType::f32;
    case ResultType::remainder:
      return is_floating_point(promoted) ? DType::f32 : promoted;
    case ResultType::floating:
      return is_floating_point(promoted) ? promoted : DType::f32;
    case ResultType::boolean:
      return DType::boolean;
    case ResultType::sum:
      return promoted == DType::boolean || promoted == DType::i8 || promoted == DType::u8 ? DType::i32 : promoted;
    case ResultType::index:
      return DType::i32;
    case ResultType::promoted:
    case ResultType::same:
    case ResultType::named:
    case ResultType::product:
      break;
  }
  return promoted;
}

}  // namespace kernbench::tile
