// Elementwise operations of a device: which tile function each one is.
#include <limits>
#include <utility>

#include "runtime/functions/device_kernels.h"
#include "tile/library/activation.h"
#include "tile/library/tile_functions.h"

namespace kernbench::runtime {

namespace library = tile::library;
using torch::Tensor;
using Tiles = std::vector<tl::Tile>;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

tl::Scalar to_tile_scalar(const torch::Scalar& scalar) {
  if (scalar.isBoolean()) return scalar.toBool();
  if (scalar.isFloatingPoint()) return scalar.toDouble();
  return scalar.toLong();
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

tl::Tile binary_tile(tensor::BinaryOperation operation, const tl::Tile& a, const tl::Tile& b) {
  switch (operation) {
    case tensor::BinaryOperation::add:
      return number(a) + number(b);
    case tensor::BinaryOperation::subtract:
      return number(a) - number(b);
    case tensor::BinaryOperation::multiply:
      return number(a) * number(b);
    case tensor::BinaryOperation::divide:
      return wide(a) / wide(b);
    case tensor::BinaryOperation::floor_divide:
      return library::floor_divide(wide(a), wide(b));
    case tensor::BinaryOperation::truncate_divide:
      return library::truncate_divide(wide(a), wide(b));
    case tensor::BinaryOperation::remainder:
      return library::remainder(wide(a), wide(b));
    case tensor::BinaryOperation::fmod:
      return wide(a) % wide(b);
    case tensor::BinaryOperation::power:
      return library::power(wide(a), wide(b));
    case tensor::BinaryOperation::maximum:
      return tl::maximum(number(a), number(b), tl::PropagateNan::all);
    case tensor::BinaryOperation::minimum:
      return tl::minimum(number(a), number(b), tl::PropagateNan::all);
    case tensor::BinaryOperation::equal:
      return a == b;
    case tensor::BinaryOperation::not_equal:
      return a != b;
    case tensor::BinaryOperation::less:
      return a < b;
    case tensor::BinaryOperation::less_equal:
      return a <= b;
    case tensor::BinaryOperation::greater:
      return a > b;
    case tensor::BinaryOperation::greater_equal:
      return a >= b;
    case tensor::BinaryOperation::logical_and:
      return (a != 0) & (b != 0);
    case tensor::BinaryOperation::logical_or:
      return (a != 0) | (b != 0);
    case tensor::BinaryOperation::logical_xor:
      return (a != 0) != (b != 0);
    case tensor::BinaryOperation::bitwise_and:
      return a & b;
    case tensor::BinaryOperation::bitwise_or:
      return a | b;
    case tensor::BinaryOperation::bitwise_xor:
      return a ^ b;
    case tensor::BinaryOperation::shift_left:
      return a << b;
    case tensor::BinaryOperation::shift_right:
      return a >> b;
  }
  return a;
}

tl::Tile unary_float(tensor::UnaryOperation operation, const tl::Tile& x) {
  switch (operation) {
    case tensor::UnaryOperation::square_root:
      return tl::sqrt(x);
    case tensor::UnaryOperation::reciprocal_square_root:
      return tl::rsqrt(x);
    case tensor::UnaryOperation::reciprocal:
      return 1.0F / wide(x);
    case tensor::UnaryOperation::exponential:
      return tl::exp(x);
    case tensor::UnaryOperation::exponential_2:
      return tl::exp2(x);
    case tensor::UnaryOperation::exponential_minus_1:
      return library::exponential_minus_1(wide(x));
    case tensor::UnaryOperation::logarithm:
      return tl::log(x);
    case tensor::UnaryOperation::logarithm_2:
      return tl::log2(x);
    case tensor::UnaryOperation::logarithm_10:
      return tl::log(wide(x)) * 0.43429448190325182765F;
    case tensor::UnaryOperation::logarithm_1_plus:
      return library::logarithm_1_plus(wide(x));
    case tensor::UnaryOperation::sine:
      return tl::sin(x);
    case tensor::UnaryOperation::cosine:
      return tl::cos(x);
    case tensor::UnaryOperation::hyperbolic_tangent:
      return tl::tanh(x);
    case tensor::UnaryOperation::error_function:
      return tl::erf(x);
    case tensor::UnaryOperation::sigmoid:
      return tl::sigmoid(x);
    case tensor::UnaryOperation::silu:
      return library::activate(wide(x), library::Activation::silu);
    case tensor::UnaryOperation::gelu:
      return library::activate(wide(x), library::Activation::gelu);
    case tensor::UnaryOperation::gelu_tanh:
      return library::activate(wide(x), library::Activation::gelu_tanh);
    default:
      return x;
  }
}

tl::Tile unary_tile(tensor::UnaryOperation operation, const tl::Tile& x) {
  const bool floating = is_floating_point(x.dtype());
  switch (operation) {
    case tensor::UnaryOperation::negate:
      return -x;
    case tensor::UnaryOperation::absolute:
      return tl::abs(x);
    case tensor::UnaryOperation::floor:
      return floating ? tl::floor(x) : x;
    case tensor::UnaryOperation::ceil:
      return floating ? tl::ceil(x) : x;
    case tensor::UnaryOperation::round:
      return floating ? library::round_half_even(wide(x)) : x;
    case tensor::UnaryOperation::truncate:
      return floating ? library::truncate(wide(x)) : x;
    case tensor::UnaryOperation::sign:
      return library::sign(number(x));
    case tensor::UnaryOperation::bitwise_not:
      return ~x;
    case tensor::UnaryOperation::logical_not:
      return x == 0;
    case tensor::UnaryOperation::is_nan:
      return x != x;
    case tensor::UnaryOperation::is_infinite:
      return tl::abs(tl::cast(x, DType::f32)) == kInfinity;
    case tensor::UnaryOperation::is_finite:
      return tl::abs(tl::cast(x, DType::f32)) < kInfinity;
    case tensor::UnaryOperation::relu:
      return tl::maximum(number(x), 0, tl::PropagateNan::all);
    default:
      return unary_float(operation, x);
  }
}

}  // namespace

void SimulatedOperations::binary(tensor::BinaryOperation operation, const tensor::DeviceOperand& a,
                                 const tensor::DeviceOperand& b, DType compute, const Tensor& out) {
  std::vector<Tensor> tensors;
  const Side left = side_of(a, tensors), right = side_of(b, tensors);
  map(name(operation), tensors, out, [=](const Tiles& tiles, const library::Box& block) {
    return binary_tile(operation, left.tile(tiles, block.shape.size(), compute),
                       right.tile(tiles, block.shape.size(), compute));
  });
}

void SimulatedOperations::unary(tensor::UnaryOperation operation, const Tensor& x, DType compute, const Tensor& out) {
  map(name(operation), {x}, out,
      [=](const Tiles& tiles, const library::Box&) { return unary_tile(operation, tl::cast(tiles.front(), compute)); });
}

void SimulatedOperations::multiply_add(const tensor::DeviceOperand& a, const tensor::DeviceOperand& b,
                                       const tensor::DeviceOperand& c, DType compute, const Tensor& out) {
  std::vector<Tensor> tensors;
  const Side x = side_of(a, tensors), y = side_of(b, tensors), z = side_of(c, tensors);
  map("multiply_add", tensors, out, [=](const Tiles& tiles, const library::Box& block) {
    const auto product =
        wide(x.tile(tiles, block.shape.size(), compute)) * wide(y.tile(tiles, block.shape.size(), compute));
    return product + wide(z.tile(tiles, block.shape.size(), compute));
  });
}

void SimulatedOperations::where(const Tensor& condition, const tensor::DeviceOperand& a, const tensor::DeviceOperand& b,
                                const Tensor& out) {
  std::vector<Tensor> tensors{condition};
  const Side x = side_of(a, tensors), y = side_of(b, tensors);
  const DType dtype = out.scalar_type();
  map("where", tensors, out, [=](const Tiles& tiles, const library::Box& block) {
    return tl::where(tiles.front(), x.tile(tiles, block.shape.size(), dtype), y.tile(tiles, block.shape.size(), dtype));
  });
}

void SimulatedOperations::clamp(const Tensor& x, const std::optional<tensor::DeviceOperand>& low,
                                const std::optional<tensor::DeviceOperand>& high, DType compute, const Tensor& out) {
  std::vector<Tensor> tensors{x};
  std::optional<Side> least, most;
  if (low) least = side_of(*low, tensors);
  if (high) most = side_of(*high, tensors);
  map("clamp", tensors, out, [=](const Tiles& tiles, const library::Box& block) {
    auto tile = number(tl::cast(tiles.front(), compute));
    if (least) tile = tl::maximum(tile, number(least->tile(tiles, block.shape.size(), compute)), tl::PropagateNan::all);
    if (most) tile = tl::minimum(tile, number(most->tile(tiles, block.shape.size(), compute)), tl::PropagateNan::all);
    return tile;
  });
}

}  // namespace kernbench::runtime
