// Elementwise operations of a device: which tile function each one is.
#include <array>
#include <limits>
#include <utility>

#include "numerics/conversion.h"
#include "runtime/functions/device_kernels.h"
#include "tile/compute/elementwise.h"
#include "tile/library/activation.h"
#include "tile/library/random.h"
#include "tile/library/tile_functions.h"
#include "tile/library/tile_math.h"

namespace kernbench::runtime {

namespace library = tile::library;
using numerics::BinaryOperation;
using numerics::ComposedOperation;
using numerics::Composition;
using numerics::TernaryOperation;
using numerics::UnaryOperation;
using torch::Tensor;
using Tiles = std::vector<tl::Tile>;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

tl::Scalar to_tile_scalar(const torch::Scalar& scalar) {
  if (scalar.isBoolean()) return scalar.toBool();
  if (scalar.isFloatingPoint()) return scalar.toDouble();
  return scalar.toLong();
}

/// The type that a number beside elements of `dtype` takes: theirs, but f32 beside narrower floats that do not have it,
/// for PyTorch computes with the number itself.
DType number_type(tl::Scalar number, DType dtype) {
  if (!is_floating_point(dtype) || item_size(dtype) >= 4) return dtype;
  const double value = number.as_double();
  std::array<std::byte, 8> element{};
  numerics::store_element(dtype, element.data(), value);
  const double stored = numerics::load_element(dtype, element.data()).as_double();
  return stored == value || value != value ? dtype : DType::f32;
}

/// An operand in a kernel: the tile of a tensor, or a number as a tile that broadcasts.
struct Side {
  std::size_t tensor = 0;
  std::optional<tl::Scalar> scalar;

  /// Converted to `dtype`, as PyTorch converts operands before it computes.
  tl::Tile tile(const Tiles& tiles, std::size_t rank, DType dtype) const {
    if (!scalar) return tl::cast(tiles[tensor], dtype);
    const std::vector<std::int64_t> one(rank, 1);
    return tl::full(tl::Extents(std::span(one)), *scalar, dtype);
  }
};

Side side_of(const tensor::DeviceOperand& operand, std::vector<Tensor>& tensors) {
  if (const auto* scalar = std::get_if<torch::Scalar>(&operand)) return {0, to_tile_scalar(*scalar)};
  tensors.push_back(std::get<Tensor>(operand));
  return {tensors.size() - 1, std::nullopt};
}

/// Functions that are made of several steps compute in f32, so that the result is rounded once; booleans are numbers.
tl::Tile wide(const tl::Tile& x) {
  if (is_floating_point(x.dtype()) && item_size(x.dtype()) < 4) return tl::cast(x, DType::f32);
  return x.dtype() == DType::boolean ? tl::cast(x, DType::i32) : x;
}
/// What the vector engine does in one step is rounded once by itself.
tl::Tile number(const tl::Tile& x) {
  return x.dtype() == DType::boolean ? tl::cast(x, DType::i32) : x;
}

/// The operands of a call in a kernel; each is made when it is asked for.
struct Operands {
  const std::vector<Side>& sides;
  const Tiles& tiles;
  std::size_t rank;
  DType compute;
  tl::Tile operator[](std::size_t i) const {
    const Side& side = sides[i];
    return side.tile(tiles, rank, side.scalar ? number_type(*side.scalar, compute) : compute);
  }
  /// To choose, not to compute with.
  tl::Tile converted(std::size_t i) const { return sides[i].tile(tiles, rank, compute); }
};

tl::Tile unary_tile(UnaryOperation operation, const tl::Tile& x) {
  const bool floating = is_floating_point(x.dtype());
  switch (operation) {
    case UnaryOperation::reciprocal:
      return 1.0F / wide(x);
    case UnaryOperation::floor:
    case UnaryOperation::ceil:
    case UnaryOperation::round:
    case UnaryOperation::truncate:
      return floating ? tile::apply(operation, x) : x;
    case UnaryOperation::sign:
      return library::sign(number(x));
    case UnaryOperation::logical_not:
      return x == 0;
    case UnaryOperation::is_nan:
      return x != x;
    case UnaryOperation::is_infinite:
      return tl::abs(tl::cast(x, DType::f32)) == kInfinity;
    case UnaryOperation::is_finite:
      return tl::abs(tl::cast(x, DType::f32)) < kInfinity;
    case UnaryOperation::relu:
      return library::activate(number(x), library::Activation::relu);
    case UnaryOperation::silu:
      return library::activate(wide(x), library::Activation::silu);
    case UnaryOperation::gelu:
      return library::activate(wide(x), library::Activation::gelu);
    case UnaryOperation::gelu_tanh:
      return library::activate(wide(x), library::Activation::gelu_tanh);
    case UnaryOperation::log_sigmoid:
      return library::activate(wide(x), library::Activation::log_sigmoid);
    case UnaryOperation::mish:
      return library::activate(wide(x), library::Activation::mish);
    case UnaryOperation::hardsigmoid:
      return library::activate(wide(x), library::Activation::hardsigmoid);
    case UnaryOperation::hardswish:
      return library::activate(wide(x), library::Activation::hardswish);
    case UnaryOperation::selu:
      return library::activate(wide(x), library::Activation::selu);
    default:
      return tile::apply(operation, x);
  }
}

tl::Tile binary_tile(BinaryOperation operation, const tl::Tile& a, const tl::Tile& b) {
  switch (operation) {
    case BinaryOperation::add:
    case BinaryOperation::subtract:
    case BinaryOperation::multiply:
    case BinaryOperation::maximum_nan:
    case BinaryOperation::minimum_nan:
    case BinaryOperation::tensor_maximum:
    case BinaryOperation::tensor_minimum:
      return tile::apply(operation, number(a), number(b));
    case BinaryOperation::divide:
    case BinaryOperation::fmod:
      return tile::apply(operation, wide(a), wide(b));
    case BinaryOperation::floor_divide:
      return library::floor_divide(wide(a), wide(b));
    case BinaryOperation::truncate_divide:
      return library::truncate_divide(wide(a), wide(b));
    case BinaryOperation::remainder:
      return library::remainder(wide(a), wide(b));
    case BinaryOperation::power:
      return library::power(a, b);
    case BinaryOperation::logical_and:
      return (a != 0) & (b != 0);
    case BinaryOperation::logical_or:
      return (a != 0) | (b != 0);
    case BinaryOperation::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOperation::xlogy:
      return library::xlogy(wide(a), wide(b));
    case BinaryOperation::swiglu:
      return library::activate(wide(a), library::Activation::silu) * b;
    case BinaryOperation::geglu:
      return library::activate(wide(a), library::Activation::gelu) * b;
    case BinaryOperation::geglu_tanh:
      return library::activate(wide(a), library::Activation::gelu_tanh) * b;
    default:
      return tile::apply(operation, a, b);
  }
}

tl::Tile clamp_tile(const Operands& operands) {
  auto x = operands[0];
  x = tile::apply(BinaryOperation::clamp_min, x, operands[1]);
  return tile::apply(BinaryOperation::clamp_max, x, operands[2]);
}

// The later operand is made first: times depend on the order of commands.

tl::Tile result_of(UnaryOperation operation, const Operands& operands) {
  return unary_tile(operation, operands[0]);
}

tl::Tile result_of(BinaryOperation operation, const Operands& operands) {
  const bool clamps = operation == BinaryOperation::clamp_min || operation == BinaryOperation::clamp_max;
  if (clamps) {
    const auto x = operands[0];
    return binary_tile(operation, x, operands[1]);
  }
  const auto b = operands[1], a = operands[0];
  return binary_tile(operation, a, b);
}

tl::Tile result_of(TernaryOperation operation, const Operands& operands) {
  if (operation == TernaryOperation::clamp) return clamp_tile(operands);
  if (operation == TernaryOperation::multiply_add) {
    const auto product = wide(operands[0]) * wide(operands[1]);
    return product + wide(operands[2]);
  }
  const auto b = operands.converted(2), a = operands.converted(1);
  return tl::where(operands.tiles.front(), a, b);
}

tl::Tile result_of(const ComposedOperation& operation, const Operands& operands) {
  // What a product yields is rounded once by itself.
  const bool one_product = operation.kind == Composition::power && operation.numbers[0] > 0 && operation.numbers[0] < 3;
  Tiles x(operands.sides.size());
  for (std::size_t i = x.size(); i-- > 0;) x[i] = one_product ? number(operands[i]) : wide(operands[i]);
  return numerics::visit_composition(operation.kind, [&](auto kind) {
    return numerics::composed<library::TileMath, kind.value>(operation.numbers, x.data());
  });
}

library::RandomNumbers kernel_numbers(const tensor::RandomNumbers& numbers, DType dtype) {
  const auto law = [&] {
    switch (numbers.distribution) {
      case tensor::Distribution::normal:
        return library::RandomLaw::normal;
      case tensor::Distribution::integers:
        return library::RandomLaw::integers;
      default:
        return library::RandomLaw::uniform;
    }
  }();
  return {law, numbers.scaled, numbers.draw.offset, dtype, numbers.elements};
}

tl::Extents extents_of(const Tensor& tensor) {
  return tl::Extents(std::span<const std::int64_t>(tensor.sizes().begin(), tensor.sizes().size()));
}

}  // namespace

bool SimulatedOperations::random(const tensor::RandomNumbers& numbers, const Tensor& out) {
  map(
      numbers.name, {}, out,
      [mine = kernel_numbers(numbers, out.scalar_type()), sizes = extents_of(out)](
          const Tiles&, const library::Box& block) { return library::random_tile(mine, sizes, block); },
      4);
  return true;
}

void SimulatedOperations::dropout(const Tensor& x, const tensor::RandomNumbers& chance, double p, const Tensor& out) {
  map("dropout", {x}, out,
      [chances = kernel_numbers(chance, DType::f32), sizes = extents_of(out), p](const Tiles& tiles,
                                                                                 const library::Box& block) {
        const DType type = tiles.front().dtype();
        const auto number = [&](double value, DType as) {
          return Side{0, tl::Scalar(value)}.tile(tiles, block.shape.size(), as);
        };
        const double factor = 1 / (1 - p);
        const auto scaled =
            binary_tile(BinaryOperation::multiply, tiles.front(), number(factor, number_type(factor, type)));
        const auto stays = binary_tile(BinaryOperation::greater_equal, library::random_tile(chances, sizes, block),
                                       number(p, DType::f32));
        return tl::where(stays, tl::cast(scaled, type), number(0, type));
      });
}

void SimulatedOperations::elementwise(const tensor::ElementwiseInfo& operation,
                                      std::span<const tensor::DeviceOperand> operands, DType compute,
                                      const Tensor& out) {
  std::vector<Tensor> tensors;
  std::vector<Side> sides;
  for (const auto& operand : operands) sides.push_back(side_of(operand, tensors));
  map(operation.name, tensors, out,
      [sides = std::move(sides), kind = operation.operation, compute](const Tiles& tiles, const library::Box& block) {
        const Operands values{sides, tiles, block.shape.size(), compute};
        return std::visit([&](auto which) { return result_of(which, values); }, kind);
      });
}

}  // namespace kernbench::runtime
