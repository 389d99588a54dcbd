// Costs of the data layer's small operations: what a simulated tile operation costs on the host.
#include <benchmark/benchmark.h>

#include "numerics/memory/memory.h"
#include "numerics/operations.h"

namespace {

using kernbench::DType;
using namespace kernbench::numerics;

void submit_and_drain(benchmark::State& state) {
  Executor executor(static_cast<int>(state.range(0)), true);
  for (auto _ : state) benchmark::DoNotOptimize(executor.submit({}, {}, [] {}));
  executor.drain();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(submit_and_drain)->Arg(1)->Arg(2)->UseRealTime();

void tile_dot(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  Executor executor(1, true);
  const Value a = full(executor, Shape{n, n}, DType::f16, 1.5);
  for (auto _ : state) (void)view(executor, dot(executor, a, a, {}, DType::f32));
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * static_cast<double>(n * n * n * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(tile_dot)->Arg(16)->Arg(32)->Arg(64)->Arg(128)->Arg(256);

template <class Make>
void elementwise(benchmark::State& state, const Make& make) {
  Executor executor(1, true);
  const Value x = full(executor, Shape{64, 64}, static_cast<DType>(state.range(0)), 1.5);
  for (auto _ : state) (void)view(executor, make(executor, x));
  state.SetItemsProcessed(state.iterations() * x.numel());
}

void add(benchmark::State& state) {
  elementwise(state, [](Executor& executor, const Value& x) {
    return binary(executor, BinaryOperation::add, x, x, x.dtype());
  });
}
BENCHMARK(add)->Arg(static_cast<int>(DType::f32))->Arg(static_cast<int>(DType::f16));

void exponential(benchmark::State& state) {
  elementwise(state, [](Executor& executor, const Value& x) {
    return unary(executor, UnaryOperation::exponential, x, x.dtype());
  });
}
BENCHMARK(exponential)->Arg(static_cast<int>(DType::f32))->Arg(static_cast<int>(DType::f16));

void sum_of_rows(benchmark::State& state) {
  elementwise(state, [](Executor& executor, const Value& x) {
    return reduce(executor, ReduceOperation::sum, x, 1, false, DType::f32);
  });
}
BENCHMARK(sum_of_rows)->Arg(static_cast<int>(DType::f32))->Arg(static_cast<int>(DType::f16));

void transpose_tile(benchmark::State& state) {
  elementwise(state, [](Executor& executor, const Value& x) { return transpose(executor, x); });
}
BENCHMARK(transpose_tile)->Arg(static_cast<int>(DType::f16));

void gather_and_scatter(benchmark::State& state) {
  Executor executor(1, true);
  Memory memory(executor);
  memory.map(0, 1 << 20);
  memory.write(0, std::vector<std::byte>(1 << 20));
  const Piece piece{&memory, 0, 64, 128, 4096, 0, 64};
  for (auto _ : state) {
    scatter(executor, {}, gather(executor, {}, DType::f16, Shape{64, 64}, std::span(&piece, 1)), std::span(&piece, 1));
  }
  executor.drain();
  state.SetBytesProcessed(state.iterations() * 2 * 64 * 128);
}
BENCHMARK(gather_and_scatter);

}  // namespace
