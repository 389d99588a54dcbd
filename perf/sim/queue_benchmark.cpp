// The event queue in the hold model (pop the least, push it again later), against std::priority_queue with entries of
// the same key and payload.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "sim/event_queue.h"

namespace {

using kernbench::sim::AgentId;
using kernbench::sim::EventKey;
using kernbench::sim::EventQueue;
using kernbench::sim::make_order;
using kernbench::sim::Phase;

struct Entry {
  EventKey key;
  std::uint32_t payload;
  bool operator>(const Entry& other) const { return key > other.key; }
};
static_assert(sizeof(Entry) == 24);

// The standard queue behind the same three functions.
class StandardQueue {
 public:
  void push(EventKey key, std::uint32_t payload) { queue_.push({key, payload}); }
  Entry pop() {
    const Entry entry = queue_.top();
    queue_.pop();
    return entry;
  }

 private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

const std::vector<std::uint32_t>& increments() {
  static const std::vector<std::uint32_t> values = [] {
    std::mt19937 random(1);
    std::exponential_distribution<double> distribution(1e-6);
    std::vector<std::uint32_t> result(1 << 16);
    std::generate(result.begin(), result.end(), [&] { return static_cast<std::uint32_t>(distribution(random)); });
    return result;
  }();
  return values;
}

template <class Queue>
void hold(benchmark::State& state) {
  const std::vector<std::uint32_t>& increment = increments();
  const auto pending = static_cast<std::uint32_t>(state.range(0));
  Queue queue;
  std::size_t next = 0;
  const auto again = [&](std::uint64_t time, std::uint32_t payload) {
    queue.push({time + increment[next++ % increment.size()], make_order(Phase::resume, AgentId{payload}, next)},
               payload);
  };
  for (std::uint32_t i = 0; i < pending; ++i) again(0, i);
  const auto step = [&] {
    const auto entry = queue.pop();
    again(entry.key.time, entry.payload);
  };
  for (std::uint32_t i = 0; i < 3 * pending; ++i) step();  // until the distribution of pending times is steady
  for (auto _ : state) step();
}

BENCHMARK(hold<EventQueue>)->Name("hold/EventQueue")->Arg(64)->Arg(1'000)->Arg(10'000)->Arg(100'000);
BENCHMARK(hold<StandardQueue>)->Name("hold/priority_queue")->Arg(64)->Arg(1'000)->Arg(10'000)->Arg(100'000);

}  // namespace
