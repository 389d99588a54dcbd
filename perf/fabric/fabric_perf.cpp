// What a burst costs at each server of its way: event by event, and coalesced.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "hardware/fabric/fabric.h"

namespace kernbench::hardware {
namespace {

constexpr std::uint32_t kLinks = 10;
constexpr std::uint16_t kChannels = 4;
constexpr std::int64_t kBurst = 1024;

/// Memories of four channels, each with a way of its own of `kLinks` links, and one link that all may share.
struct Machine {
  Machine(std::uint32_t memories, bool exact) : fabric(scheduler, {exact}) {
    for (std::uint32_t i = 0; i < memories; ++i) {
      for (int channel = 0; channel < kChannels; ++channel) add(37, 90'000);
      for (std::uint32_t link = 0; link < kLinks; ++link) add(128, 2'000);
    }
    shared = add(128, 2'000);
  }
  ServerId add(std::int64_t gigabytes_per_second, std::int64_t latency) {
    const auto index = static_cast<std::uint32_t>(fabric.server_count());
    return fabric.add_server({"server",
                              Bandwidth::gigabytes_per_second(gigabytes_per_second),
                              Time::picoseconds(latency),
                              Bytes(64 * kBurst),
                              Bytes(64),
                              {index}});
  }
  void read(std::uint32_t memory, std::int64_t bursts, bool over_shared_link) {
    std::vector<Stage>& route = routes.emplace_back();
    TransferRequest request;
    request.agent.value = 100'000 + memory;
    request.operation = operation++;
    std::uint32_t next = memory * (kChannels + kLinks);
    route.push_back({ServerId{next}, kChannels, {VirtualNetwork::response, 0}});
    next += kChannels;
    for (std::uint32_t i = 0; i < kLinks; ++i) route.push_back({ServerId{next++}, 1, {VirtualNetwork::response, 0}});
    if (over_shared_link) route.push_back({shared, 1, {VirtualNetwork::response, 0}});
    request.route = route;
    request.ranges = Ranges(StridedRange{0, 1, Bytes(bursts * kBurst), 0});
    hops += static_cast<std::uint64_t>(bursts) * route.size();
    fabric.start(request);
  }

  sim::Scheduler scheduler;
  Fabric fabric;
  ServerId shared;
  std::uint64_t operation = 0;
  std::uint64_t hops = 0;
  std::deque<std::vector<Stage>> routes;  // of all transfers
};

void report(benchmark::State& state, std::uint64_t hops) {
  state.counters["per_burst_hop"] =
      benchmark::Counter(static_cast<double>(hops), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// One event for each burst and server; `range(0)` memories read at once, half of them over a shared link.
void exact(benchmark::State& state) {
  const auto memories = static_cast<std::uint32_t>(state.range(0));
  Machine machine(memories, true);
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < memories; ++i) machine.read(i, 256, i % 2 == 0);
    machine.scheduler.run();
  }
  report(state, machine.hops);
}
BENCHMARK(exact)->Arg(1)->Arg(16)->Arg(128);

/// Transfers of `range(0)` bursts that have their routes to themselves.
void coalesced(benchmark::State& state) {
  Machine machine(16, false);
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < 16; ++i) machine.read(i, state.range(0), false);
    machine.scheduler.run();
  }
  report(state, machine.hops);
}
BENCHMARK(coalesced)->Arg(1)->Arg(16)->Arg(1024);

/// Coalesced transfers that newcomers dissolve in the middle.
void dissolved(benchmark::State& state) {
  Machine machine(16, false);
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < 16; ++i) machine.read(i, 256, true);
    machine.scheduler.run();
  }
  report(state, machine.hops);
}
BENCHMARK(dissolved);

}  // namespace
}  // namespace kernbench::hardware
