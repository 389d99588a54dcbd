#include "tile/library/random.h"

#include <span>
#include <utility>
#include <vector>

#include "numerics/memory/storage.h"
#include "tile/compute/operation_table.h"
#include "tile/compute/vector_command.h"
#include "tile/program/conversion.h"
#include "tile/program/program.h"

namespace kernbench::tile::library {

namespace {

/// Calls use(first, count) for each run of places that follow each other, of those that `block` takes of `sizes`.
template <class Use>
void for_each_run(const tl::Extents& sizes, const Box& block, const Use& use) {
  tl::Extents run = block.shape;
  bool whole = true;
  for (std::size_t d = run.size(); d-- > 0;) {
    if (!whole) run[d] = 1;
    whole = whole && block.shape[d] == sizes[d];
  }
  for_each_block(block, run, [&](const tl::Extents& at, const tl::Extents& shape) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < at.size(); ++d) first = first * sizes[d] + at[d];
    use(first, shape.numel());
  });
}

/// How many counters of the stream a block needs.
std::int64_t counters_of(const RandomNumbers& numbers, const tl::Extents& sizes, const Box& block) {
  const std::uint64_t yields = numbers.law == RandomLaw::integers ? 2 : 4;
  std::int64_t counters = 0;
  for_each_run(sizes, block, [&](std::int64_t first, std::int64_t count) {
    const std::uint64_t begin = numbers.offset + static_cast<std::uint64_t>(first);
    const std::uint64_t last = begin + static_cast<std::uint64_t>(count) - 1;
    counters += static_cast<std::int64_t>(last / yields - begin / yields + 1);
  });
  return counters;
}

/// One operation of the vector engine on the way to the numbers.
struct RandomStep {
  const OperationInfo* operation;
  DType result;
  std::int64_t elements;
};

std::vector<RandomStep> random_steps(const RandomNumbers& numbers, std::int64_t count, std::int64_t counters) {
  using numerics::UnaryOperation;
  namespace operations = tile::operations;
  const std::int64_t pairs = 2 * counters;  // of normal numbers
  std::vector<RandomStep> steps{
      {&operations::kArange, DType::i32, counters},
      {&operations::kRandint4x, DType::i32, counters * tl::kPhiloxRounds * operations::kPhiloxRoundOperations},
      {&operations::kJoin, DType::i32, count}};  // a counter's words go to lanes beside each other
  const auto add = [&](const OperationInfo& operation, std::int64_t elements, DType result = DType::f32) {
    steps.push_back({&operation, result, elements});
  };
  switch (numbers.law) {
    case RandomLaw::uniform:
      add(operations::kShiftRight, count, DType::i32);
      add(operations::kCast, count);
      add(operations::kMultiply, count);
      if (!numbers.scaled) break;
      add(operations::kFma, count);
      add(operations::kMinimum, count);
      break;
    case RandomLaw::normal:
      add(operations::kCast, count);
      add(operations::kFma, count);
      add(operation_info(UnaryOperation::logarithm), pairs);
      add(operations::kMultiply, pairs);
      add(operation_info(UnaryOperation::square_root), pairs);
      add(operations::kMultiply, pairs);
      add(operation_info(UnaryOperation::cosine), pairs);
      add(operation_info(UnaryOperation::sine), pairs);
      add(operations::kMultiply, count);
      if (numbers.scaled) add(operations::kFma, count);
      break;
    case RandomLaw::integers:
      add(operations::kMultiply, 4 * count, DType::i32);
      add(operations::kAdd, 4 * count, DType::i32);
      break;
  }
  if (numbers.dtype != steps.back().result) add(operations::kCast, count, numbers.dtype);
  return steps;
}

/// What the last step yields.
numerics::Value values_of(numerics::Executor& executor, const RandomNumbers& numbers, const tl::Extents& sizes,
                          const Box& block) {
  const auto body = [=](numerics::TileContents& out) {
    std::byte* to = out.bytes.data();
    for_each_run(sizes, block, [&](std::int64_t first, std::int64_t count) {
      numbers.elements(first, count, to);
      to += count * item_size(numbers.dtype);
    });
  };
  return numerics::compute(executor, numbers.dtype, to_shape(block.shape), {}, body);
}

}  // namespace

tl::Tile random_tile(const RandomNumbers& numbers, const tl::Extents& sizes, const Box& block, tl::Where where) {
  return tl::fuse([&] {
    auto& program = Program::current("library kernel", where);
    const std::vector<RandomStep> steps =
        random_steps(numbers, block.shape.numel(), counters_of(numbers, sizes, block));
    tl::Tile tile;
    for (const RandomStep& step : steps) {
      VectorCommand command{.kind = step.operation->kind,
                            .cost = step.operation->cost,
                            .dtype = step.result,
                            .shape = block.shape,
                            .inputs = {},
                            .compute = {},
                            .elements = step.elements,
                            .pure = false};
      if (tile.defined()) command.inputs = {program.own(tile, command.kind, where)};
      // Nothing but the last step has values; they are the host's, whatever the engine's arithmetic would round.
      if (&step == &steps.back()) {
        command.compute = [numbers, sizes, block](numerics::Executor& executor, std::span<const numerics::Value>) {
          return values_of(executor, numbers, sizes, block);
        };
      } else {
        command.compute = [type = step.result, shape = to_shape(block.shape)](numerics::Executor&,
                                                                              std::span<const numerics::Value>) {
          return numerics::without_data(type, shape);
        };
      }
      tile = issue_vector_command(program, command, where);
    }
    return tile;
  });
}

}  // namespace kernbench::tile::library
