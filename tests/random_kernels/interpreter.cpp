#include "interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kernbench::testing {

namespace {

int rank_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 0;
    case DType::i8:
      return 1;
    case DType::u8:
      return 2;
    case DType::i32:
      return 3;
    case DType::bf16:
      return 4;
    case DType::f16:
      return 5;
    default:
      return 6;
  }
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// The value of a lane of type `from` as one of the operands' common type `to`.
double widened(double value, DType from, DType to) {
  if (is_float(to)) return converted(value, to);
  return is_float(from) ? converted(value, to) : wrapped(static_cast<std::int64_t>(value), to);
}

Lane integer_lane(Binary operation, std::int64_t a, std::int64_t b, DType dtype) {
  const auto lane = [&](std::int64_t value) { return Lane{wrapped(value, dtype), true}; };
  switch (operation) {
    case Binary::add:
      return lane(a + b);
    case Binary::subtract:
      return lane(a - b);
    case Binary::multiply:
      return lane(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
    case Binary::remainder:
      return b == 0 ? Lane{0, false} : lane(a % b);
    case Binary::integer_divide:
      return b == 0 ? Lane{0, false} : lane(a / b);
    case Binary::bit_and:
      return lane(a & b);
    case Binary::bit_or:
      return lane(a | b);
    case Binary::bit_xor:
      return lane(a ^ b);
    case Binary::shift_left:
      if (b < 0 || b >= width(dtype)) return {0, false};
      return lane(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b));
    case Binary::shift_right:
      if (b < 0 || b >= width(dtype)) return {0, false};
      return lane(a >> b);
    case Binary::maximum:
      return lane(std::max(a, b));
    case Binary::minimum:
      return lane(std::min(a, b));
    case Binary::divide:
      break;
  }
  return {};
}

float float_value(Binary operation, float a, float b) {
  switch (operation) {
    case Binary::add:
      return a + b;
    case Binary::subtract:
      return a - b;
    case Binary::multiply:
      return a * b;
    case Binary::divide:
      return a / b;
    case Binary::remainder:
      return std::fmod(a, b);
    case Binary::maximum:
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
      return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
    case Binary::minimum:
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
      return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
    default:
      break;
  }
  return 0;
}

bool compared(Compare operation, double a, double b) {
  switch (operation) {
    case Compare::less:
      return a < b;
    case Compare::less_equal:
      return a <= b;
    case Compare::equal:
      return a == b;
    case Compare::not_equal:
      break;
  }
  return a != b;
}

Array zipped(const Array& a, const Array& b, DType dtype, const std::function<Lane(double, double)>& function) {
  const Shape shape = broadcast(a.shape, b.shape).shape;
  const Array left = stretched(a, shape), right = stretched(b, shape);
  Array result = filled(dtype, shape, {});
  for (std::size_t i = 0; i < result.lanes.size(); ++i) {
    result.lanes[i] = function(left.lanes[i].value, right.lanes[i].value);
    result.lanes[i].valid = result.lanes[i].valid && left.lanes[i].valid && right.lanes[i].valid;
  }
  return result;
}

Array mapped(const Array& x, DType dtype, const std::function<double(double)>& function) {
  Array result = filled(dtype, x.shape, {});
  for (std::size_t i = 0; i < result.lanes.size(); ++i) {
    result.lanes[i] = {function(x.lanes[i].value), x.lanes[i].valid};
  }
  return result;
}

Array arithmetic(Binary operation, const Array& a, const Array& b, DType common) {
  const bool divides = operation == Binary::divide || operation == Binary::remainder;
  if (!is_float(common) && operation != Binary::divide) {
    return zipped(a, b, common, [&](double x, double y) {
      return integer_lane(operation, static_cast<std::int64_t>(widened(x, a.dtype, common)),
                          static_cast<std::int64_t>(widened(y, b.dtype, common)), common);
    });
  }
  const DType dtype = divides ? DType::f32 : common;
  return zipped(a, b, dtype, [&](double x, double y) {
    const float value =
        float_value(operation, static_cast<float>(converted(x, dtype)), static_cast<float>(converted(y, dtype)));
    return Lane{converted(static_cast<double>(value), dtype), true};
  });
}

double unary_value(Unary operation, double x, DType dtype) {
  switch (operation) {
    case Unary::negate:
      return is_float(dtype) ? -x : wrapped(-static_cast<std::int64_t>(x), dtype);
    case Unary::absolute:
      return is_float(dtype) ? std::abs(x) : wrapped(std::abs(static_cast<std::int64_t>(x)), dtype);
    case Unary::floor:
      return std::floor(x);
    case Unary::ceil:
      return std::ceil(x);
    case Unary::sqrt:
      return converted(static_cast<double>(std::sqrt(static_cast<float>(x))), dtype);
    case Unary::bit_not:
      return wrapped(~static_cast<std::int64_t>(x), dtype);
    case Unary::logical_not:
      break;
  }
  return x == 0 ? 1 : 0;
}

/// Rows of `x` along `axis`: the lanes of each line in order, and the shape without the axis.
struct Lines {
  std::vector<std::vector<Lane>> lines;
  Shape outer;
};

Lines lines_of(const Array& x, std::optional<int> axis) {
  if (!axis) return {{x.lanes}, {}};
  Lines result;
  std::int64_t before = 1, after = 1;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (static_cast<int>(i) == *axis) continue;
    result.outer.push_back(x.shape[i]);
    (static_cast<int>(i) < *axis ? before : after) *= x.shape[i];
  }
  const std::int64_t extent = x.shape[at(*axis)];
  for (std::int64_t i = 0; i < before; ++i) {
    for (std::int64_t j = 0; j < after; ++j) {
      std::vector<Lane> line;
      for (std::int64_t k = 0; k < extent; ++k) line.push_back(x.lanes[at((i * extent + k) * after + j)]);
      result.lines.push_back(std::move(line));
    }
  }
  return result;
}

/// Blocks of eight from left to right, then pairs, in f32.
double pairwise_sum(const std::vector<Lane>& line) {
  std::vector<float> partial;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto value = static_cast<float>(line[i].value);
    if (i % 8 == 0)
      partial.push_back(value);
    else
      partial.back() += value;
  }
  while (partial.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i < partial.size(); i += 2) {
      next.push_back(i + 1 < partial.size() ? partial[i] + partial[i + 1] : partial[i]);
    }
    partial = std::move(next);
  }
  return partial.empty() ? 0 : static_cast<double>(partial.front());
}

double whole_sum(const std::vector<Lane>& line, DType dtype) {
  std::int64_t total = 0;
  for (const Lane& lane : line) total += static_cast<std::int64_t>(lane.value);
  return wrapped(total, dtype);
}

}  // namespace

DType promoted(DType a, DType b) {
  const auto bf16_with_integer = [](DType x, DType y) { return x == DType::bf16 && !is_float(y); };
  if (bf16_with_integer(a, b) || bf16_with_integer(b, a)) return DType::f32;
  return rank_of(a) >= rank_of(b) ? a : b;
}

DType promoted_with_scalar(DType tile, bool scalar_is_float) {
  if (scalar_is_float) return is_float(tile) ? tile : DType::f32;
  return tile == DType::boolean ? DType::i32 : tile;
}

const Array& Interpreter::in(const Instruction& instruction, int index) const {
  return registers[static_cast<std::size_t>(instruction.in[static_cast<std::size_t>(index)])];
}

Array Interpreter::operand(const Instruction& instruction, int index, DType partner) const {
  if (instruction.in[static_cast<std::size_t>(index)] >= 0) return in(instruction, index);
  const DType dtype = promoted_with_scalar(partner, instruction.scalar_is_float);
  return filled(dtype, {}, {converted(*instruction.scalar, dtype), true});
}

bool Interpreter::taken(const Instruction& branch) const {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Lane& lane : in(branch, 0).lanes) largest = std::max(largest, lane.value);
  return largest > *branch.scalar;
}

void Interpreter::load(const Instruction& instruction) {
  const Array& tensor = tensors.arrays[static_cast<std::size_t>(instruction.tensor)];
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  Array result = filled(tensor.dtype, instruction.shape, {});
  const Array mask = instruction.mask >= 0
                         ? stretched(registers[static_cast<std::size_t>(instruction.mask)], instruction.shape)
                         : filled(DType::boolean, instruction.shape, {1, true});
  for (std::int64_t lane = 0; lane < result.size(); ++lane) {
    std::int64_t element = -1;
    if (instruction.code == Code::load_strided) {
      element = instruction.offsets[0];
      std::int64_t rest = lane;
      for (std::size_t i = instruction.shape.size(); i-- > 0;) {
        element += rest % instruction.shape[i] * instruction.strides[i];
        rest /= instruction.shape[i];
      }
    } else {
      std::int64_t row = instruction.offsets[0] + lane / instruction.shape[1];
      std::int64_t column = instruction.offsets[1] + lane % instruction.shape[1];
      if (instruction.flag) std::swap(row, column);
      if (row < rows && column < columns) element = row * columns + column;
    }
    Lane& to = result.lanes[at(lane)];
    if (element >= 0 && mask.lanes[at(lane)].value != 0) {
      to = tensor.lanes[at(element)];
    } else if (instruction.scalar) {
      to = {converted(*instruction.scalar, tensor.dtype), true};
    } else {
      to = {0, false};
    }
  }
  out(instruction) = std::move(result);
}

void Interpreter::gather(const Instruction& instruction) {
  const Array& tensor = tensors.arrays[static_cast<std::size_t>(instruction.tensor)];
  const Array& offsets = in(instruction, 0);
  Array result = filled(tensor.dtype, offsets.shape, {});
  for (std::size_t i = 0; i < result.lanes.size(); ++i) {
    result.lanes[i] = tensor.lanes[static_cast<std::size_t>(offsets.lanes[i].value)];
  }
  out(instruction) = std::move(result);
}

namespace {

/// The lanes of a tile as a tensor of `dtype` takes them.
Array stored(const Array& value, DType dtype) {
  return mapped(value, dtype, [&](double x) {
    if (is_float(value.dtype) || is_float(dtype) || dtype == DType::boolean) return converted(x, dtype);
    return wrapped(static_cast<std::int64_t>(x), dtype);
  });
}

}  // namespace

void Interpreter::store(const Instruction& instruction) {
  Array& tensor = tensors.arrays[static_cast<std::size_t>(instruction.tensor)];
  const Array value = stored(in(instruction, 0), tensor.dtype);
  const Array mask = instruction.mask >= 0
                         ? stretched(registers[static_cast<std::size_t>(instruction.mask)], value.shape)
                         : filled(DType::boolean, value.shape, {1, true});
  for (std::int64_t lane = 0; lane < value.size(); ++lane) {
    const std::int64_t row = instruction.offsets[0] + lane / value.shape[1];
    const std::int64_t column = instruction.offsets[1] + lane % value.shape[1];
    if (row >= tensor.shape[0] || column >= tensor.shape[1] || mask.lanes[at(lane)].value == 0) continue;
    tensor.lanes[at(row * tensor.shape[1] + column)] = value.lanes[at(lane)];
  }
}

void Interpreter::scatter(const Instruction& instruction) {
  Array& tensor = tensors.arrays[static_cast<std::size_t>(instruction.tensor)];
  const Array& offsets = in(instruction, 0);
  const Array value = stretched(stored(in(instruction, 1), tensor.dtype), offsets.shape);
  for (std::size_t i = 0; i < value.lanes.size(); ++i) {
    tensor.lanes[static_cast<std::size_t>(offsets.lanes[i].value)] = value.lanes[i];
  }
}

void Interpreter::atomic_add(const Instruction& instruction) {
  Array& tensor = tensors.arrays[static_cast<std::size_t>(instruction.tensor)];
  const Array& offsets = in(instruction, 0);
  const Array value = stretched(stored(in(instruction, 1), tensor.dtype), offsets.shape);
  Array old = filled(tensor.dtype, offsets.shape, {});
  for (std::size_t i = 0; i < value.lanes.size(); ++i) {
    Lane& memory = tensor.lanes[static_cast<std::size_t>(offsets.lanes[i].value)];
    old.lanes[i] = memory;
    memory.value =
        is_float(tensor.dtype)
            ? converted(
                  static_cast<double>(static_cast<float>(memory.value) + static_cast<float>(value.lanes[i].value)),
                  tensor.dtype)
            : wrapped(static_cast<std::int64_t>(memory.value) + static_cast<std::int64_t>(value.lanes[i].value),
                      tensor.dtype);
    memory.valid = memory.valid && value.lanes[i].valid;
  }
  out(instruction) = std::move(old);
}

void Interpreter::reduce(const Instruction& instruction) {
  const Array& x = in(instruction, 0);
  const Lines lines = lines_of(x, instruction.axis);
  const bool narrow = x.dtype == DType::boolean || x.dtype == DType::i8 || x.dtype == DType::u8;
  DType dtype = x.dtype;
  if (instruction.code == Code::argmax || (instruction.code == Code::sum && narrow)) dtype = DType::i32;
  Array result{dtype, lines.outer, {}};
  if (instruction.flag) {
    result.shape = x.shape;
    for (std::size_t i = 0; i < result.shape.size(); ++i) {
      if (!instruction.axis || static_cast<int>(i) == *instruction.axis) result.shape[i] = 1;
    }
  }
  for (const auto& line : lines.lines) {
    Lane lane{0, std::ranges::all_of(line, &Lane::valid)};
    if (instruction.code == Code::sum) {
      lane.value = is_float(dtype) ? converted(pairwise_sum(line), dtype) : whole_sum(line, dtype);
    } else {
      const auto less = [](const Lane& a, const Lane& b) { return a.value < b.value; };
      // The value of a maximum or minimum knows +0 from -0, the index does not.
      const auto ordered = [](const Lane& a, const Lane& b) {
        return a.value < b.value || (a.value == b.value && std::signbit(a.value) && !std::signbit(b.value));
      };
      if (instruction.code == Code::maximum) lane.value = std::ranges::max_element(line, ordered)->value;
      if (instruction.code == Code::minimum) lane.value = std::ranges::min_element(line, ordered)->value;
      if (instruction.code == Code::argmax) {
        lane.value = static_cast<double>(std::ranges::max_element(line, less) - line.begin());
      }
    }
    result.lanes.push_back(lane);
  }
  out(instruction) = std::move(result);
}

void Interpreter::dot(const Instruction& instruction) {
  const Array &a = in(instruction, 0), &b = in(instruction, 1);
  const std::int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  const bool integers = !is_float(a.dtype);
  Array result = filled(integers ? DType::i32 : DType::f32, {m, n}, {});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Lane lane = instruction.in[2] >= 0 ? in(instruction, 2).lanes[at(i * n + j)] : Lane{0, true};
      auto sum = static_cast<float>(lane.value);
      auto whole = static_cast<std::int64_t>(integers ? lane.value : 0);
      for (std::int64_t p = 0; p < k; ++p) {
        const Lane &x = a.lanes[at(i * k + p)], &y = b.lanes[at(p * n + j)];
        lane.valid = lane.valid && x.valid && y.valid;
        if (integers)
          whole += static_cast<std::int64_t>(x.value) * static_cast<std::int64_t>(y.value);
        else
          sum = std::fma(static_cast<float>(x.value), static_cast<float>(y.value), sum);
      }
      lane.value = integers ? wrapped(whole, DType::i32) : static_cast<double>(sum);
      result.lanes[at(i * n + j)] = lane;
    }
  }
  out(instruction) = std::move(result);
}

void Interpreter::cat(const Instruction& instruction) {
  const Array &a = in(instruction, 0), &b = in(instruction, 1);
  const auto axis = static_cast<std::size_t>(*instruction.axis);
  Array result{a.dtype, a.shape, {}};
  result.shape[axis] += b.shape[axis];
  std::int64_t before = 1;
  for (std::size_t i = 0; i < axis; ++i) before *= a.shape[i];
  const std::int64_t rest_a = a.size() / before, rest_b = b.size() / before;
  for (std::int64_t i = 0; i < before; ++i) {
    result.lanes.insert(result.lanes.end(), a.lanes.begin() + i * rest_a, a.lanes.begin() + (i + 1) * rest_a);
    result.lanes.insert(result.lanes.end(), b.lanes.begin() + i * rest_b, b.lanes.begin() + (i + 1) * rest_b);
  }
  out(instruction) = std::move(result);
}

void Interpreter::step(const Instruction& instruction) {
  switch (instruction.code) {
    case Code::full:
      out(instruction) =
          filled(instruction.dtype, instruction.shape, {converted(*instruction.scalar, instruction.dtype), true});
      return;
    case Code::arange: {
      Array result = filled(DType::i32, instruction.shape, {});
      for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        result.lanes[i].value = *instruction.scalar + static_cast<double>(i);
      }
      out(instruction) = std::move(result);
      return;
    }
    case Code::load_block:
    case Code::load_strided:
    case Code::load_block_pointer:
      return load(instruction);
    case Code::load_gather:
      return gather(instruction);
    case Code::store_block:
      return store(instruction);
    case Code::store_scatter:
      return scatter(instruction);
    case Code::atomic_add:
      return atomic_add(instruction);
    case Code::binary: {
      const Array& a = in(instruction, 0);
      const Array b = operand(instruction, 1, a.dtype);
      const DType common = instruction.in[1] >= 0 ? promoted(a.dtype, b.dtype) : b.dtype;
      Array result = arithmetic(static_cast<Binary>(instruction.operation), a, b, common);
      out(instruction) = std::move(result);
      return;
    }
    case Code::compare: {
      const Array& a = in(instruction, 0);
      const Array b = operand(instruction, 1, a.dtype);
      const DType common = instruction.in[1] >= 0 ? promoted(a.dtype, b.dtype) : b.dtype;
      Array result = zipped(a, b, DType::boolean, [&](double x, double y) {
        return Lane{compared(static_cast<Compare>(instruction.operation), widened(x, a.dtype, common),
                             widened(y, b.dtype, common))
                        ? 1.0
                        : 0.0,
                    true};
      });
      out(instruction) = std::move(result);
      return;
    }
    case Code::unary: {
      const Array& x = in(instruction, 0);
      const auto operation = static_cast<Unary>(instruction.operation);
      DType dtype = operation == Unary::logical_not ? DType::boolean : x.dtype;
      if (operation == Unary::sqrt && !is_float(dtype)) dtype = DType::f32;
      out(instruction) = mapped(x, dtype, [&](double value) { return unary_value(operation, value, dtype); });
      return;
    }
    case Code::fma: {
      const Array &a = in(instruction, 0), &b = in(instruction, 1), &c = in(instruction, 2);
      const DType dtype = promoted(promoted(a.dtype, b.dtype), c.dtype);
      const Shape shape = broadcast(broadcast(a.shape, b.shape).shape, c.shape).shape;
      const Array x = stretched(a, shape), y = stretched(b, shape), z = stretched(c, shape);
      Array result = filled(dtype, shape, {});
      for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        const float value = std::fma(static_cast<float>(converted(x.lanes[i].value, dtype)),
                                     static_cast<float>(converted(y.lanes[i].value, dtype)),
                                     static_cast<float>(converted(z.lanes[i].value, dtype)));
        result.lanes[i] = {converted(static_cast<double>(value), dtype),
                           x.lanes[i].valid && y.lanes[i].valid && z.lanes[i].valid};
      }
      out(instruction) = std::move(result);
      return;
    }
    case Code::clamp: {
      const double low = static_cast<double>(instruction.offsets[0]),
                   high = static_cast<double>(instruction.offsets[1]);
      const Array& x = in(instruction, 0);
      out(instruction) = mapped(
          x, x.dtype, [&](double value) { return std::isnan(value) ? value : std::min(std::max(value, low), high); });
      return;
    }
    case Code::where: {
      const Array& condition = in(instruction, 0);
      const Array& a = in(instruction, 1);
      const Array b = operand(instruction, 2, a.dtype);
      const DType dtype = instruction.in[2] >= 0 ? promoted(a.dtype, b.dtype) : b.dtype;
      const Shape shape = broadcast(broadcast(a.shape, b.shape).shape, condition.shape).shape;
      const Array chosen = stretched(condition, shape), left = stretched(stored(a, dtype), shape),
                  right = stretched(stored(b, dtype), shape);
      Array result = filled(dtype, shape, {});
      for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        result.lanes[i] = chosen.lanes[i].value != 0 ? left.lanes[i] : right.lanes[i];
        result.lanes[i].valid = result.lanes[i].valid && chosen.lanes[i].valid;
      }
      out(instruction) = std::move(result);
      return;
    }
    case Code::cast: {
      Array result = stored(in(instruction, 0), instruction.dtype);
      out(instruction) = std::move(result);
      return;
    }
    case Code::sum:
    case Code::maximum:
    case Code::minimum:
    case Code::argmax:
      return reduce(instruction);
    case Code::cumsum: {
      Array result = in(instruction, 0);
      std::int64_t after = 1;
      for (auto i = static_cast<std::size_t>(*instruction.axis) + 1; i < result.shape.size(); ++i) {
        after *= result.shape[i];
      }
      const std::int64_t extent = result.shape[at(*instruction.axis)];
      for (std::int64_t lane = 0; lane < result.size(); ++lane) {
        const std::int64_t k = lane / after % extent;
        // Walk each line in its direction; lanes are visited in increasing order, so mirror them for `reverse`.
        const std::int64_t here = instruction.flag ? result.size() - 1 - lane : lane;
        const std::int64_t mirrored = here / after % extent;
        const std::int64_t before = instruction.flag ? here + after : here - after;
        const bool first = instruction.flag ? mirrored == extent - 1 : mirrored == 0;
        static_cast<void>(k);
        if (first) continue;
        Lane& to = result.lanes[at(here)];
        const Lane& from = result.lanes[at(before)];
        to.value =
            is_float(result.dtype)
                ? static_cast<double>(static_cast<float>(from.value) + static_cast<float>(to.value))
                : wrapped(static_cast<std::int64_t>(from.value) + static_cast<std::int64_t>(to.value), result.dtype);
        to.valid = to.valid && from.valid;
      }
      out(instruction) = std::move(result);
      return;
    }
    case Code::dot:
      return dot(instruction);
    case Code::reshape: {
      Array result = in(instruction, 0);
      result.shape = instruction.shape;
      out(instruction) = std::move(result);
      return;
    }
    case Code::expand_dims: {
      Array result = in(instruction, 0);
      result.shape.insert(result.shape.begin() + *instruction.axis, 1);
      out(instruction) = std::move(result);
      return;
    }
    case Code::permute: {
      const Array& x = in(instruction, 0);
      Array result = filled(x.dtype, {}, {});
      for (const auto dimension : instruction.shape) result.shape.push_back(x.shape[at(dimension)]);
      result.lanes.resize(x.lanes.size());
      for (std::int64_t lane = 0; lane < x.size(); ++lane) {
        std::vector<std::int64_t> index(x.shape.size());
        std::int64_t rest = lane;
        for (std::size_t i = x.shape.size(); i-- > 0; rest /= x.shape[i]) index[i] = rest % x.shape[i];
        std::int64_t to = 0;
        for (std::size_t i = 0; i < result.shape.size(); ++i) {
          to = to * result.shape[i] + index[at(instruction.shape[i])];
        }
        result.lanes[at(to)] = x.lanes[at(lane)];
      }
      out(instruction) = std::move(result);
      return;
    }
    case Code::broadcast_to:
      out(instruction) = stretched(in(instruction, 0), instruction.shape);
      return;
    case Code::cat:
      return cat(instruction);
    case Code::join: {
      const Array &a = in(instruction, 0), &b = in(instruction, 1);
      Array result{a.dtype, a.shape, {}};
      result.shape.push_back(2);
      for (std::size_t i = 0; i < a.lanes.size(); ++i) {
        result.lanes.push_back(a.lanes[i]);
        result.lanes.push_back(b.lanes[i]);
      }
      out(instruction) = std::move(result);
      return;
    }
    case Code::split: {
      const Array x = in(instruction, 0);
      Array halves[2];
      for (std::size_t half = 0; half < 2; ++half) {
        halves[half] = {x.dtype, Shape(x.shape.begin(), x.shape.end() - 1), {}};
        for (std::size_t i = half; i < x.lanes.size(); i += 2) halves[half].lanes.push_back(x.lanes[i]);
      }
      out(instruction) = std::move(halves[0]);
      registers[static_cast<std::size_t>(instruction.in[1])] = std::move(halves[1]);
      return;
    }
    case Code::branch:
      return;
  }
}

}  // namespace kernbench::testing
