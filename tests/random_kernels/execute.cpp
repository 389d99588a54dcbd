#include "execute.h"

#include <cmath>
#include <span>
#include <stdexcept>
#include <string>

namespace kernbench::testing {

namespace {

tl::Extents extents(const Shape& shape) {
  return tl::Extents(std::span<const std::int64_t>(shape));
}

class Execution {
 public:
  Execution(const std::vector<tl::Tensor>& tensors, Branches& taken, const Branches* assumed)
      : tensors_(tensors), taken_(taken), assumed_(assumed) {}

  void run(const std::vector<Step>& program) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      const Instruction& instruction = program[i].instruction;
      if (instruction.code == Code::branch) {
        if (!enters(instruction, i)) i += static_cast<std::size_t>(instruction.count);
        continue;
      }
      step(instruction);
      if (instruction.out >= 0) check(program[i]);
    }
    for (const auto& token : tokens_) {
      if (token.defined()) tl::wait(token);
    }
  }

 private:
  bool enters(const Instruction& instruction, std::size_t step) {
    const auto largest = tl::max(use(instruction.in[0]));
    if (assumed_ == nullptr) return taken_[step] = tl::item<double>(largest) > *instruction.scalar;
    const double beyond = assumed_->at(step) ? HUGE_VAL : -HUGE_VAL;
    return taken_[step] = tl::item_or<double>(largest, beyond) > *instruction.scalar;
  }

  /// A register's tile, awaited if need be.
  const tl::Tile& use(int index) {
    auto& token = tokens_[static_cast<std::size_t>(index)];
    if (token.defined()) tl::wait(token);
    token = {};
    return registers_[static_cast<std::size_t>(index)];
  }

  void set(int index, tl::Tile tile, tl::Token token = {}) {
    auto& old = tokens_[static_cast<std::size_t>(index)];
    if (old.defined()) tl::wait(old);
    old = std::move(token);
    registers_[static_cast<std::size_t>(index)] = std::move(tile);
  }

  void check(const Step& step) {
    const tl::Tile& tile = registers_[static_cast<std::size_t>(step.instruction.out)];
    if (tile.dtype() == step.dtype && tile.shape() == extents(step.shape)) return;
    throw std::logic_error("instruction " + std::to_string(static_cast<int>(step.instruction.code)) + "/" +
                           std::to_string(step.instruction.operation) + " gave " + name(tile.dtype()) + ", expected " +
                           name(step.dtype) + ", or another shape");
  }

  tl::Scalar scalar(const Instruction& instruction) const {
    if (instruction.scalar_is_float) return {*instruction.scalar};
    return {static_cast<std::int64_t>(*instruction.scalar)};
  }
  tl::Operand operand(const Instruction& instruction, std::size_t index) {
    if (instruction.in[index] >= 0) return use(instruction.in[index]);
    return scalar(instruction);
  }
  const tl::Tensor& tensor(const Instruction& instruction) const {
    return tensors_[static_cast<std::size_t>(instruction.tensor)];
  }

  void step(const Instruction& instruction) {
    if (instruction.code <= Code::atomic_add)
      memory(instruction);
    else
      set(instruction.out, compute(instruction));
  }

  void memory(const Instruction& instruction) {
    switch (instruction.code) {
      case Code::full:
        return set(instruction.out, tl::full(extents(instruction.shape), *instruction.scalar, instruction.dtype));
      case Code::arange: {
        const auto begin = static_cast<std::int64_t>(*instruction.scalar);
        return set(instruction.out, tl::arange(begin, begin + instruction.shape[0]));
      }
      case Code::load_block:
        return load_block(instruction);
      case Code::load_strided:
        return set(instruction.out, tl::load(tensor(instruction).data_ptr() + instruction.offsets[0],
                                             extents(instruction.shape), extents(instruction.strides)));
      case Code::load_gather:
        return set(instruction.out, tl::load(tensor(instruction).data_ptr() + use(instruction.in[0])));
      case Code::load_block_pointer:
        return load_block_pointer(instruction);
      case Code::store_block: {
        tl::StoreOptions options;
        if (instruction.mask >= 0) options.mask = use(instruction.mask);
        return tl::store(tensor(instruction), extents(instruction.offsets), use(instruction.in[0]), options);
      }
      case Code::store_scatter:
        return tl::store(tensor(instruction).data_ptr() + use(instruction.in[0]), use(instruction.in[1]));
      default:
        return set(instruction.out,
                   tl::atomic_add(tensor(instruction).data_ptr() + use(instruction.in[0]), use(instruction.in[1])));
    }
  }

  void load_block(const Instruction& instruction) {
    tl::LoadOptions options;
    if (instruction.mask >= 0) options.mask = use(instruction.mask);
    if (instruction.scalar) options.other = *instruction.scalar;
    const auto offsets = extents(instruction.offsets), shape = extents(instruction.shape);
    if (!instruction.async) return set(instruction.out, tl::load(tensor(instruction), offsets, shape, options));
    auto [tile, token] = tl::load_async(tensor(instruction), offsets, shape, options);
    set(instruction.out, tile, token);
  }

  void load_block_pointer(const Instruction& instruction) {
    const auto& parent = tensor(instruction);
    const std::int64_t rows = parent.size(0), columns = parent.size(1);
    tl::Extents shape{rows, columns}, strides{columns, 1};
    if (instruction.flag) {
      shape = {columns, rows};
      strides = {1, columns};
    }
    // Reached from the origin in two steps: advancing is pure.
    const auto origin = tl::make_block_ptr(parent.data_ptr(), shape, strides, {0, 0}, extents(instruction.shape));
    const auto there = tl::advance(tl::advance(origin, {instruction.offsets[0], 0}), {0, instruction.offsets[1]});
    const tl::BlockOptions options{.boundary_check = {0, 1}, .padding = tl::Padding::zero};
    if (!instruction.async) return set(instruction.out, tl::load(there, options));
    auto [tile, token] = tl::load_async(there, options);
    set(instruction.out, tile, token);
  }

  tl::Tile compute(const Instruction& instruction) {
    switch (instruction.code) {
      case Code::binary:
        return binary(static_cast<Binary>(instruction.operation), operand(instruction, 0), operand(instruction, 1));
      case Code::compare:
        return compare(static_cast<Compare>(instruction.operation), operand(instruction, 0), operand(instruction, 1));
      case Code::unary:
        return unary(static_cast<Unary>(instruction.operation), use(instruction.in[0]));
      case Code::fma:
        return tl::fma(use(instruction.in[0]), use(instruction.in[1]), use(instruction.in[2]));
      case Code::clamp:
        return tl::clamp(use(instruction.in[0]), instruction.offsets[0], instruction.offsets[1]);
      case Code::where:
        return tl::where(use(instruction.in[0]), use(instruction.in[1]), operand(instruction, 2));
      case Code::cast:
        return tl::cast(use(instruction.in[0]), instruction.dtype);
      case Code::sum:
        return tl::sum(use(instruction.in[0]), instruction.axis, instruction.flag);
      case Code::maximum:
        return tl::max(use(instruction.in[0]), instruction.axis, instruction.flag);
      case Code::minimum:
        return tl::min(use(instruction.in[0]), instruction.axis, instruction.flag);
      case Code::argmax:
        return tl::argmax(use(instruction.in[0]), instruction.axis, instruction.flag);
      case Code::cumsum:
        return tl::cumsum(use(instruction.in[0]), *instruction.axis, instruction.flag);
      case Code::dot:
        return tl::dot(use(instruction.in[0]), use(instruction.in[1]),
                       instruction.in[2] >= 0 ? use(instruction.in[2]) : tl::Tile());
      default:
        return reshaped(instruction);
    }
  }

  tl::Tile reshaped(const Instruction& instruction) {
    const tl::Tile x = use(instruction.in[0]);
    switch (instruction.code) {
      case Code::reshape:
        return tl::reshape(x, extents(instruction.shape));
      case Code::expand_dims:
        return tl::expand_dims(x, *instruction.axis);
      case Code::permute:
        return tl::permute(x, extents(instruction.shape));
      case Code::broadcast_to:
        return tl::broadcast_to(x, extents(instruction.shape));
      case Code::cat:
        return tl::cat(x, use(instruction.in[1]), *instruction.axis);
      case Code::join:
        return tl::join(x, use(instruction.in[1]));
      default: {
        auto [first, second] = tl::split(x);
        set(instruction.in[1], second);
        return first;
      }
    }
  }

  static tl::Tile binary(Binary operation, const tl::Operand& a, const tl::Operand& b) {
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
        return a % b;
      case Binary::integer_divide:
        return tl::idiv(a, b);
      case Binary::bit_and:
        return a & b;
      case Binary::bit_or:
        return a | b;
      case Binary::bit_xor:
        return a ^ b;
      case Binary::shift_left:
        return a << b;
      case Binary::shift_right:
        return a >> b;
      case Binary::maximum:
        return tl::maximum(a, b);
      case Binary::minimum:
        break;
    }
    return tl::minimum(a, b);
  }

  static tl::Tile compare(Compare operation, const tl::Operand& a, const tl::Operand& b) {
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

  static tl::Tile unary(Unary operation, const tl::Tile& x) {
    switch (operation) {
      case Unary::negate:
        return -tl::Operand(x);
      case Unary::absolute:
        return tl::abs(x);
      case Unary::floor:
        return tl::floor(x);
      case Unary::ceil:
        return tl::ceil(x);
      case Unary::sqrt:
        return tl::sqrt(x);
      case Unary::bit_not:
        return ~tl::Operand(x);
      case Unary::logical_not:
        break;
    }
    return !tl::Operand(x);
  }

  const std::vector<tl::Tensor>& tensors_;
  Branches& taken_;
  const Branches* assumed_;
  tl::Tile registers_[kRegisters];
  tl::Token tokens_[kRegisters];
};

}  // namespace

void execute(const std::vector<Step>& program, const std::vector<tl::Tensor>& tensors, Branches& taken,
             const Branches* assumed) {
  Execution(tensors, taken, assumed).run(program);
}

}  // namespace kernbench::testing
