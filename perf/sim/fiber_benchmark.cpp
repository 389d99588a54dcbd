// Fiber switches and whole event steps.
#include <benchmark/benchmark.h>

#include "sim/context.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "sim/stack_pool.h"
#include "sim/waitable.h"
#include "support/fiber_queues.h"

namespace {

using namespace kernbench;
using namespace kernbench::sim;

Context main_context;
Context fiber_context;

void bounce() {
  for (;;) switch_context(fiber_context, main_context, thread_exception_state());
}

// There and back: two switches.
void switch_there_and_back(benchmark::State& state) {
  StackPool pool;
  const Stack stack = pool.acquire(64 * 1024);
  ExceptionState* const thread_state = thread_exception_state();
  adopt_thread(main_context);
  prepare(fiber_context, stack.bottom, stack.size, stack.top_offset, bounce);
  for (auto _ : state) switch_context(main_context, fiber_context, thread_state);
}
BENCHMARK(switch_there_and_back);

// One step: an event is popped, a fiber resumes, goes to sleep again and yields.
void sleep_step(benchmark::State& state) {
  const auto fibers = static_cast<std::uint32_t>(state.range(0));
  const std::int64_t steps = std::max<std::int64_t>(10, 1'000'000 / fibers);
  for (auto _ : state) {
    state.PauseTiming();
    Scheduler scheduler;
    for (std::uint32_t i = 0; i < fibers; ++i) {
      scheduler.spawn({.agent = AgentId{i}, .name = "fiber"}, [i, steps] {
        std::uint32_t random = i * 2654435761u + 1;
        for (std::int64_t step = 0; step < steps; ++step) {
          random = random * 1664525u + 1013904223u;
          this_fiber::sleep(Time::picoseconds(1 + (random >> 16)));
        }
      });
    }
    state.ResumeTiming();
    scheduler.run();
  }
  state.counters["ns_per_step"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(fibers) * static_cast<double>(steps) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(sleep_step)->Arg(64)->Arg(1'024)->Arg(16'384)->Arg(100'000)->Unit(benchmark::kMillisecond);

// One step of a callback that schedules itself again: no fiber at all.
struct Ticker {
  Scheduler& scheduler;
  std::uint32_t agent;
  std::uint64_t operation = 0;
  void tick(std::uint64_t left) {
    if (left == 0) return;
    const Time when = scheduler.now() + Time::picoseconds(1 + static_cast<std::int64_t>((agent * 7 + left) % 1'000));
    scheduler.schedule(when, Phase::deliver, AgentId{agent}, ++operation, call<&Ticker::tick>(this, left - 1));
  }
};
void callback_step(benchmark::State& state) {
  const auto tickers = static_cast<std::uint32_t>(state.range(0));
  const std::uint64_t steps = 1'000'000 / tickers;
  for (auto _ : state) {
    Scheduler scheduler;
    std::vector<Ticker> all;
    for (std::uint32_t i = 0; i < tickers; ++i) all.push_back({scheduler, i});
    for (Ticker& ticker : all) ticker.tick(steps);
    scheduler.run();
  }
  state.counters["ns_per_step"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(tickers * steps) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(callback_step)->Arg(64)->Arg(1'024)->Unit(benchmark::kMillisecond);

void spawn_and_finish(benchmark::State& state) {
  const auto fibers = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    Scheduler scheduler;
    Semaphore gate;
    for (std::uint32_t i = 0; i < fibers; ++i) {
      scheduler.spawn({.agent = AgentId{i}, .name = "fiber"}, [&] { gate.acquire(); });
    }
    scheduler.spawn({.agent = AgentId{fibers}, .name = "opener"}, [&] { gate.release(fibers); });
    scheduler.run();
  }
  state.counters["ns_per_fiber"] = benchmark::Counter(static_cast<double>(state.iterations()) * fibers * 1e-9,
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(spawn_and_finish)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
