// Random sends and receives among ranks, in any order, some of them awaited on the host: what the simulation says of
// them is what the graph of their events says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "event_graph.h"
#include "support.h"
#include "support/sanitizers.h"

namespace kernbench::deadlocks_test {
namespace {

namespace dist = torch::distributed;
namespace mp = torch::multiprocessing;

// Of the collectives file: eight slots of 16 KiB for each pair of ranks and tag.
constexpr int kSlots = 8;
constexpr std::int64_t kElementsOfASlot = 4096;

struct RankStep {
  enum class Kind : std::uint8_t { send, receive, await, read };
  Kind kind;
  int peer = 0, tag = 0, segments = 1;
  bool asynchronous = false;
  int message = 0;  // await and read: of which
};

struct Exchange {
  int ranks = 2;
  std::vector<std::vector<RankStep>> steps;
  int messages = 0;
};

void move_some(std::vector<RankStep>& steps, Random& random) {
  if (steps.size() < 2 || pick(random, 0, 2) == 0) return;
  for (std::int64_t swaps = pick(random, 1, 2); swaps > 0; --swaps) {
    const auto at = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(steps.size()) - 2));
    std::swap(steps[at], steps[at + 1]);
  }
}

/// Behind some of the steps, the current stream waits for an asynchronous one, or the host reads what came.
void add_waits(std::vector<RankStep>& steps, Random& random) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RankStep step = steps[i];
    if (step.kind != RankStep::Kind::send && step.kind != RankStep::Kind::receive) continue;
    const bool awaits = step.asynchronous && pick(random, 0, 1) == 0;
    const bool reads = step.kind == RankStep::Kind::receive && pick(random, 0, 3) == 0;
    if (!awaits && !reads) continue;
    const auto at = pick(random, static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(steps.size()));
    RankStep wait{awaits ? RankStep::Kind::await : RankStep::Kind::read};
    wait.message = step.message;
    steps.insert(steps.begin() + at, wait);
  }
}

Exchange random_exchange(std::uint64_t seed) {
  Random random(seed);
  Exchange made;
  made.ranks = static_cast<int>(pick(random, 2, 4));
  made.steps.resize(static_cast<std::size_t>(made.ranks));
  made.messages = static_cast<int>(pick(random, 2, 7));
  const std::vector<int> sizes{static_cast<int>(pick(random, 1, 3)), static_cast<int>(pick(random, 6, 12))};
  for (int message = 0; message < made.messages; ++message) {
    const int from = static_cast<int>(pick(random, 0, made.ranks - 1));
    const int to = static_cast<int>((from + pick(random, 1, made.ranks - 1)) % made.ranks);
    const int tag = static_cast<int>(pick(random, 0, 1)), segments = sizes[static_cast<std::size_t>(tag)];
    const auto asynchronous = [&] { return pick(random, 0, 2) == 0; };
    const RankStep send{RankStep::Kind::send, to, tag, segments, asynchronous(), message};
    const RankStep receive{RankStep::Kind::receive, from, tag, segments, asynchronous(), message};
    const auto forgotten = pick(random, 0, 60);
    if (forgotten != 0) made.steps[static_cast<std::size_t>(from)].push_back(send);
    if (forgotten != 1) made.steps[static_cast<std::size_t>(to)].push_back(receive);
  }
  for (auto& steps : made.steps) {
    move_some(steps, random);
    add_waits(steps, random);
  }
  return made;
}

/// The events of an exchange. A call on the host joins the two sides of a transfer, and waits for nobody. The kernels
/// begin when both sides have called and the current streams have come so far; a kernel's blocking form is what its
/// current stream waits for.
class ExchangeGraph {
 public:
  explicit ExchangeGraph(const Exchange& exchange) : exchange_(exchange), channels_(graph_, kSlots) {
    for (int rank = 0; rank < exchange.ranks; ++rank) add_rank(rank);
    join_calls();
    channels_.join();
  }
  std::set<int> stuck() const { return graph_.stuck(); }

 private:
  using Event = EventGraph::Event;
  using Lane = std::tuple<int, int, int>;  // sender, receiver, tag
  struct Side {
    Event called, begins;
  };

  void add_rank(int rank) {
    Event host = graph_.add(rank), stream = host;
    std::map<int, Event> finished;  // by message
    for (const RankStep& step : exchange_.steps[static_cast<std::size_t>(rank)]) {
      if (step.kind == RankStep::Kind::await) {
        stream = graph_.add(rank, {stream, host, finished.at(step.message)});
        continue;
      }
      if (step.kind == RankStep::Kind::read) {
        host = graph_.add(rank, {host, finished.at(step.message)});
        continue;
      }
      const bool sends = step.kind == RankStep::Kind::send;
      host = graph_.add(rank, {host});
      const Event called = host, begins = graph_.add(rank, {host, stream});
      const Lane lane = sends ? Lane{rank, step.peer, step.tag} : Lane{step.peer, rank, step.tag};
      (sends ? sends_ : receives_)[lane].push_back({called, begins});
      const Event end = sends ? channels_.send(lane, step.tag, step.segments, begins)
                              : channels_.receive(lane, step.tag, step.segments, begins);
      finished[step.message] = end;
      if (!step.asynchronous) stream = graph_.add(rank, {stream, end});
    }
  }

  void join_side(std::vector<Side>& mine, const std::vector<Side>& others) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (i < others.size()) {
        graph_.needs(mine[i].begins, others[i].called);
      } else {
        graph_.forbid(mine[i].begins);
      }
    }
  }

  void join_calls() {
    for (auto& [lane, sides] : sends_) join_side(sides, receives_[lane]);
    for (auto& [lane, sides] : receives_) join_side(sides, sends_[lane]);
  }

  const Exchange& exchange_;
  EventGraph graph_;
  Channels channels_;
  std::map<Lane, std::vector<Side>> sends_, receives_;
};

std::vector<int> expected_values(const Exchange& exchange, int rank) {
  std::map<std::tuple<int, int, int>, std::vector<int>> sent;
  for (int from = 0; from < exchange.ranks; ++from) {
    for (const RankStep& step : exchange.steps[static_cast<std::size_t>(from)]) {
      if (step.kind == RankStep::Kind::send) sent[{from, step.peer, step.tag}].push_back(step.message);
    }
  }
  std::vector<int> values;
  for (const RankStep& step : exchange.steps[static_cast<std::size_t>(rank)]) {
    if (step.kind != RankStep::Kind::receive) continue;
    auto& queue = sent[{step.peer, rank, step.tag}];
    values.push_back(queue.front());
    queue.erase(queue.begin());
  }
  return values;
}

void exchange_on(const Exchange& exchange, int rank, bool compare) {
  torch::ahbm::set_device(rank);
  dist::init_process_group("ahbm", rank, exchange.ranks);
  const auto on_device = torch::dtype(DType::i32).device("ahbm");
  std::map<int, dist::WorkRef> works;
  std::map<int, torch::Tensor> received;
  std::vector<int> order;
  for (const RankStep& step : exchange.steps[static_cast<std::size_t>(rank)]) {
    const std::int64_t elements = step.segments * kElementsOfASlot;
    if (step.kind == RankStep::Kind::await) {
      works.at(step.message)->wait();
    } else if (step.kind == RankStep::Kind::read) {
      received.at(step.message).cpu();
    } else if (step.kind == RankStep::Kind::send) {
      const torch::Tensor x = torch::full({elements}, step.message, on_device);
      const auto work = dist::isend(x, step.peer, {}, step.tag);
      step.asynchronous ? void(works[step.message] = work) : void(work->wait());
    } else {
      const torch::Tensor x = torch::full({elements}, -1, on_device);
      received[step.message] = x;
      order.push_back(step.message);
      const auto work = dist::irecv(x, step.peer, {}, step.tag);
      step.asynchronous ? void(works[step.message] = work) : void(work->wait());
    }
  }
  for (const auto& [message, work] : works) work->synchronize();
  torch::ahbm::synchronize();
  if (!compare) return;
  const auto values = expected_values(exchange, rank);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const torch::Tensor host = received.at(order[i]).cpu();
    EXPECT_TRUE(torch::equal(host, torch::full_like(host, values[i]))) << "rank " << rank << ", receive " << i;
  }
}

struct Tally {
  int finished = 0, stuck = 0;
};

void expect_as_the_graph_says(const Exchange& exchange, Tally& tally) {
  const std::set<int> stuck = ExchangeGraph(exchange).stuck();
  const RunResult result = try_simulate(machine(exchange.ranks, 1, {"pe.contexts=16"}), [&] {
    mp::spawn([&](int rank) { exchange_on(exchange, rank, stuck.empty()); }, {}, {.nprocs = exchange.ranks});
  });
  if (stuck.empty()) {
    ++tally.finished;
    EXPECT_EQ(outcome(result), "ok");
  } else {
    ++tally.stuck;
    ASSERT_TRUE(result.error && result.error->type == "DeadlockError") << outcome(result);
    EXPECT_EQ(waiting(*result.error, "rank ", ""), stuck) << outcome(result);
  }
}

constexpr std::uint64_t kExchanges = kSanitized ? 25 : 125;  // of each part

class RankGraphs : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RankGraphs, FinishRightOrAreReportedAsTheAnalysisSays) {
  Tally tally;
  for (std::uint64_t seed = GetParam() * kExchanges; seed < (GetParam() + 1) * kExchanges && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_as_the_graph_says(random_exchange(seed), tally);
  }
  EXPECT_GE(tally.finished, static_cast<int>(kExchanges) / 5);
  EXPECT_GE(tally.stuck, static_cast<int>(kExchanges) / 8);
  RecordProperty("finished", tally.finished);
  RecordProperty("stuck", tally.stuck);
}

INSTANTIATE_TEST_SUITE_P(Thousand, RankGraphs, ::testing::Range<std::uint64_t>(0, 8));

}  // namespace
}  // namespace kernbench::deadlocks_test
