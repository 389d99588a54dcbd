// composite_gemm: one command that the PE's scheduler carries out as a pipeline of loads, products and stores.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/name_format.h"
#include "base/text.h"
#include "hardware/pe/scheduler.h"
#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "numerics/memory/memory.h"
#include "numerics/operations.h"
#include "sim/fiber.h"
#include "tile/compute/composite_plan.h"
#include "tile/compute/engine_work.h"
#include "tile/memory/memory_access.h"
#include "tile/program/conversion.h"
#include "tile/program/overlap.h"
#include "tile/program/program.h"

namespace kernbench::tl {

using hardware::DmaKind;
using hardware::DmaWork;
using hardware::GemmWork;
using tile::AccessCall;
using tile::CompositePlan;
using tile::KernelCommand;
using tile::KernelCommandRef;
using tile::Program;
using tile::TileState;
using tile::TileValue;
using tile::to_shape;
using tile::to_text;
using ValueRef = std::shared_ptr<TileValue>;

MatrixOperand::MatrixOperand(Tensor tensor) : tensor_(std::move(tensor)), shape_(tensor_->shape()) {
  Extents zeros = shape_;
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = 0;
  offsets_ = zeros;
}
MatrixOperand::MatrixOperand(Tensor tensor, Extents offsets, Extents shape)
    : tensor_(std::move(tensor)), offsets_(offsets), shape_(shape) {}
MatrixOperand::MatrixOperand(Tile tile) : tile_(std::move(tile)), shape_(tile_.shape()) {}

namespace {

constexpr const char* kCall = "composite_gemm";

DType dtype_of(const MatrixOperand& operand) {
  return operand.in_hbm() ? operand.tensor().dtype() : operand.tile().dtype();
}

/// Makes the commands of one composite command in the order in which they enter the engines' queues.
class Pipeline {
 public:
  Pipeline(const AccessCall& call, const MatrixOperand& a, const MatrixOperand& b, DType dtype, bool integers,
           const CompositePlan& plan, tile::ReservationRef buffers)
      : call_(call),
        program_(call.program),
        a_(a),
        b_(b),
        dtype_(dtype),
        accumulator_type_(integers ? DType::i32 : DType::f32),
        plan_(plan),
        buffers_(std::move(buffers)) {}

  /// Into `c`, a block of a tensor.
  void build_to(const MatrixOperand& c, bool accumulate) {
    for_each_block([&](const Block& block) {
      KernelCommandRef start;
      ValueRef before;
      if (accumulate) std::tie(start, before) = load(c, block.row, block.column, block.rows, block.columns);
      const auto [last, sum] = multiply(block, start, before);
      stores_[block.index % 2] = store(c, block, last, sum);
    });
  }

  /// Into a tile, which is there when the last product is.
  void build_to(const std::shared_ptr<TileState>& result) {
    std::vector<ValueRef> sums;
    std::vector<std::int64_t> block_columns;
    KernelCommandRef last;
    for_each_block([&](const Block& block) {
      auto [command, sum] = multiply(block, nullptr, nullptr);
      sums.push_back(std::move(sum));
      last = std::move(command);
    });
    for (const auto& command : commands_) command->holds.push_back(result->reservation());
    result->producer = last;
    const std::int64_t columns_of_blocks = (b_.shape()[1] + plan_.tile_n - 1) / plan_.tile_n;
    last->take_effect = [compute = std::move(last->take_effect), sums = std::move(sums), columns_of_blocks,
                         value = result->value(), dtype = dtype_](KernelCommand& mine) mutable {
      compute(mine);
      numerics::Executor& executor = mine.program->environment().executor;
      std::vector<numerics::Value> rows;
      for (std::size_t first = 0; first < sums.size(); first += static_cast<std::size_t>(columns_of_blocks)) {
        std::vector<numerics::Value> row;
        for (std::int64_t i = 0; i < columns_of_blocks; ++i) {
          row.push_back(sums[first + static_cast<std::size_t>(i)]->value);
        }
        rows.push_back(numerics::cat(executor, row, 1));
      }
      value->bind(numerics::cast(executor, numerics::cat(executor, rows, 0), dtype));
    };
  }

  std::vector<KernelCommandRef> take_commands() { return std::move(commands_); }

 private:
  /// A tile of the result.
  struct Block {
    std::size_t index;
    std::int64_t row, column, rows, columns;
  };

  template <class Visit>
  void for_each_block(Visit visit) {
    const std::int64_t m = a_.shape()[0], n = b_.shape()[1];
    std::size_t index = 0;
    for (std::int64_t row = 0; row < m; row += plan_.tile_m) {
      for (std::int64_t column = 0; column < n; column += plan_.tile_n) {
        visit(Block{index++, row, column, std::min(plan_.tile_m, m - row), std::min(plan_.tile_n, n - column)});
      }
    }
  }

  KernelCommandRef add(hardware::Work work, const char* kind) {
    auto command = program_.new_command(std::move(work), kind, nullptr, {});
    command->holds.push_back(buffers_);
    commands_.push_back(command);
    return command;
  }

  static void depend(KernelCommand& command, const hardware::CommandRef& on) {
    if (on && !on->done.is_set()) command.dependencies.push_back(on);
  }

  /// All chains over the steps of k: the last product and the sum's value.
  std::pair<KernelCommandRef, ValueRef> multiply(const Block& block, const KernelCommandRef& start, ValueRef sum) {
    const std::int64_t k = a_.shape()[1];
    KernelCommandRef last;
    for (std::int64_t p = 0; p < k; p += plan_.tile_k) {
      const std::int64_t steps = std::min(plan_.tile_k, k - p);
      const auto [load_a, x] = operand(a_, block.row, p, block.rows, steps);
      const auto [load_b, y] = operand(b_, p, block.column, steps, block.columns);
      auto product = add(
          GemmWork{
              .batch = 1, .m = block.rows, .n = block.columns, .k = steps, .operand = tile::gemm_operand(dtype_of(a_))},
          "composite_dot");
      depend(*product, load_a);
      depend(*product, load_b);
      depend(*product, p == 0 ? start : last);
      product->adds_to = last.get();
      product->operands = product->dependencies.size();
      // The block before the last one has left this accumulator.
      if (p == 0) depend(*product, stores_[block.index % 2]);
      auto result = std::make_shared<TileValue>();
      product->take_effect = [left = x, right = y, sum, result, dtype = accumulator_type_](KernelCommand& mine) {
        result->bind(numerics::dot(mine.program->environment().executor, left(mine), right(mine),
                                   sum ? sum->value : numerics::Value(), dtype));
      };
      products_[step_++ % 2] = product;
      sum = std::move(result);
      last = std::move(product);
    }
    return {std::move(last), std::move(sum)};
  }

  using ReadOperand = std::function<numerics::Value(KernelCommand&)>;

  /// A step's tile of an operand: the command that produces it, and how to get its value when that is over.
  std::pair<hardware::CommandRef, ReadOperand> operand(const MatrixOperand& from, std::int64_t row, std::int64_t column,
                                                       std::int64_t rows, std::int64_t columns) {
    if (from.in_hbm()) {
      auto [command, value] = load(from, row, column, rows, columns);
      // The step before the last one has done with this buffer.
      depend(*command, products_[step_ % 2]);
      return {command, [loaded = value](KernelCommand&) { return loaded->value; }};
    }
    const TileState& state = *from.tile().state();
    const bool whole = rows == state.shape()[0] && columns == state.shape()[1];
    return {state.producer, [value = state.value(), whole, row, column, rows, columns](KernelCommand& mine) {
              if (whole) return value->value;
              numerics::Executor& executor = mine.program->environment().executor;
              return numerics::narrow(executor, numerics::narrow(executor, value->value, 0, row, rows), 1, column,
                                      columns);
            }};
  }

  std::pair<KernelCommandRef, ValueRef> load(const MatrixOperand& from, std::int64_t row, std::int64_t column,
                                             std::int64_t rows, std::int64_t columns) {
    auto value = std::make_shared<TileValue>();
    const Extents shape{rows, columns};
    auto places = places_of(from, row, column, shape);
    auto command = add(DmaWork{DmaKind::read, std::move(places.legs), std::move(places.pages)}, "composite_load");
    const bool data = program_.environment().data_enabled;
    command->take_effect = [pieces = std::move(places.pieces), value, shape = to_shape(shape),
                            dtype = from.tensor().dtype(), data](KernelCommand& mine) {
      numerics::Executor& executor = mine.program->environment().executor;
      value->bind(data ? numerics::gather(executor, key_of(mine), dtype, shape, pieces, numerics::Scalar(0))
                       : numerics::full(executor, shape, dtype, 0));
    };
    return {std::move(command), std::move(value)};
  }

  KernelCommandRef store(const MatrixOperand& to, const Block& block, const KernelCommandRef& last,
                         const ValueRef& sum) {
    auto places = places_of(to, block.row, block.column, {block.rows, block.columns});
    auto command = add(DmaWork{DmaKind::write, std::move(places.legs), std::move(places.pages)}, "composite_store");
    depend(*command, last);
    command->operands = command->dependencies.size();
    if (program_.environment().data_enabled) {
      command->take_effect = [pieces = std::move(places.pieces), sum, dtype = dtype_](KernelCommand& mine) {
        numerics::Executor& executor = mine.program->environment().executor;
        numerics::scatter(executor, key_of(mine), numerics::cast(executor, sum->value, dtype), pieces);
      };
    }
    return command;
  }

  /// A part of an operand that lies wholly outside of its tensor has no bytes.
  tile::Places places_of(const MatrixOperand& operand, std::int64_t row, std::int64_t column,
                         const Extents& shape) const {
    const Extents offsets{operand.offsets()[0] + row, operand.offsets()[1] + column};
    const Tensor& tensor = operand.tensor();
    if (offsets[0] >= tensor.size(0) || offsets[1] >= tensor.size(1)) return {};
    return tile::places_of_box(call_, tensor, offsets, shape);
  }

  const AccessCall& call_;
  Program& program_;
  const MatrixOperand &a_, &b_;
  DType dtype_, accumulator_type_;
  CompositePlan plan_;
  tile::ReservationRef buffers_;
  std::vector<KernelCommandRef> commands_;
  std::size_t step_ = 0;
  std::array<KernelCommandRef, 2> products_, stores_;  // the last two
};

void check_matrix(const AccessCall& call, const MatrixOperand& operand, const char* name) {
  if (!operand.in_hbm()) call.program.own(operand.tile(), kCall, call.where);
  const Extents& shape = operand.shape();
  if (shape.size() != 2 || (operand.in_hbm() && (operand.tensor().dim() != 2 || operand.offsets().size() != 2))) {
    call.value_error(fmt::format("operand {} must be a matrix, got the shape {}", name, to_text(shape)));
  }
  if (shape[0] <= 0 || shape[1] <= 0)
    call.value_error(fmt::format("operand {} of shape {} is empty", name, to_text(shape)));
  if (!operand.in_hbm()) return;
  const auto& offsets = operand.offsets();
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t extent = operand.tensor().size(static_cast<std::int64_t>(i));
    if (offsets[i] >= 0 && offsets[i] < extent) continue;
    throw OutOfBoundsError(
        fmt::format("tl::{}: operand {} begins at offset {} in dimension {}, outside of tensor {} of shape {}; valid "
                    "are 0 to {}",
                    kCall, name, offsets[i], i, operand.tensor().descriptor().name, to_text(operand.tensor().shape()),
                    extent - 1),
        call.program.place(call.where));
  }
}

/// Whether the product is one of integers.
bool check_product(const AccessCall& call, const MatrixOperand& a, const MatrixOperand& b, DType result) {
  check_matrix(call, a, "a");
  check_matrix(call, b, "b");
  if (a.shape()[1] != b.shape()[0]) {
    call.value_error(
        fmt::format("inner extents differ: {} x {}; the first operand's columns must equal the second's "
                    "rows",
                    to_text(a.shape()), to_text(b.shape())));
  }
  const DType left = dtype_of(a), right = dtype_of(b);
  const bool floats = is_floating_point(left), both_f8 = floats && item_size(left) == 1 && item_size(right) == 1;
  const bool alike = left == right || (both_f8 && is_floating_point(right));
  const bool supported = (floats && left != DType::f64) || left == DType::i8 || left == DType::u8 || left == DType::i32;
  if (!alike || !supported) {
    call.value_error(
        fmt::format("operands of type {} and {} cannot be multiplied; cast one of them", name(left), name(right)));
  }
  if (floats != is_floating_point(result) || result == DType::f64 || (!floats && result != DType::i32)) {
    call.value_error(fmt::format("operands of type {} cannot accumulate into {}", name(left), name(result)));
  }
  return !floats;
}

CompositePlan checked_plan(const AccessCall& call, const MatrixOperand& a, const MatrixOperand& b,
                           const CompositeGemmOptions& options) {
  for (const auto& [extent, name] : {std::pair{options.tile_m, "tile_m"}, std::pair{options.tile_n, "tile_n"},
                                     std::pair{options.tile_k, "tile_k"}}) {
    if (extent < 0) call.value_error(fmt::format("{} is {}; it must be positive, or 0 for a choice", name, extent));
  }
  const auto item = [](const MatrixOperand& x) { return x.in_hbm() ? item_size(x.tensor().dtype()) : 0; };
  const auto& array = call.program.environment().machine.pe_spec(call.program.coordinate()).gemm.array;
  return tile::plan_composite({a.shape()[0], b.shape()[1], a.shape()[1], item(a), item(b)}, options, array.height,
                              array.width, call.program.free_tcm());
}

void hold_operands(const MatrixOperand& operand, std::vector<KernelCommandRef>& commands) {
  if (operand.in_hbm()) return;
  for (const auto& command : commands) command->holds.push_back(operand.tile().state()->reservation());
}

void submit(Program& program, Pipeline& pipeline, std::uint64_t number, const MatrixOperand& a,
            const MatrixOperand& b) {
  auto commands = pipeline.take_commands();
  hold_operands(a, commands);
  hold_operands(b, commands);
  program.issue_composite(number, commands);
}

}  // namespace

void composite_gemm(const MatrixOperand& a, const MatrixOperand& b, const MatrixOperand& c,
                    CompositeGemmOptions options, Where where) {
  auto& program = Program::current(kCall, where);
  const AccessCall call{program, kCall, kCall, where};
  if (!c.in_hbm()) {
    call.value_error("the result c is a tile, but tiles never change; take the form that returns a tile");
  }
  check_matrix(call, c, "c");
  const bool integers = check_product(call, a, b, c.tensor().dtype());
  if (!c.tensor().writable()) {
    call.value_error(fmt::format("tensor {} is a tl::In parameter of the kernel; take it as tl::Tensor to write it",
                                 c.tensor().descriptor().name));
  }
  if (!(c.shape() == Extents{a.shape()[0], b.shape()[1]})) {
    call.value_error(
        fmt::format("c has shape {}, the product {} x {}", to_text(c.shape()), to_text(a.shape()), to_text(b.shape())));
  }
  const auto written = tile::places_of_box(call, c.tensor(), c.offsets(), c.shape()).legs;
  for (const MatrixOperand* operand : {&a, &b}) {
    if (!operand->in_hbm()) continue;
    const auto read = tile::places_of_box(call, operand->tensor(), operand->offsets(), operand->shape()).legs;
    if (tile::overlap(read, written)) {
      call.value_error(
          fmt::format("the result overlaps an operand in tensor {}; the pipeline stores tiles of c while "
                      "it still loads operands",
                      c.tensor().descriptor().name));
    }
  }
  const CompositePlan plan = checked_plan(call, a, b, options);
  auto buffers = program.reserve_bytes(plan.tcm, kCall, where);
  const std::uint64_t number = program.take_number();
  Pipeline pipeline(call, a, b, c.tensor().dtype(), integers, plan, std::move(buffers));
  pipeline.build_to(c, options.accumulate);
  sim::this_fiber::note_progress();
  submit(program, pipeline, number, a, b);
}

Tile composite_gemm(const MatrixOperand& a, const MatrixOperand& b, DType out_dtype, CompositeGemmOptions options,
                    Where where) {
  auto& program = Program::current(kCall, where);
  const AccessCall call{program, kCall, kCall, where};
  const bool integers = check_product(call, a, b, out_dtype);
  if (options.accumulate) {
    call.value_error("`accumulate` adds to the result's old contents, which a new tile does not have; add the tiles");
  }
  const auto result = program.new_tile(out_dtype, {a.shape()[0], b.shape()[1]}, kCall, where);
  const CompositePlan plan = checked_plan(call, a, b, options);
  auto buffers = program.reserve_bytes(plan.tcm, kCall, where);
  const std::uint64_t number = program.take_number();
  Pipeline pipeline(call, a, b, out_dtype, integers, plan, std::move(buffers));
  pipeline.build_to(result);
  submit(program, pipeline, number, a, b);
  return Tile(result);
}

}  // namespace kernbench::tl
