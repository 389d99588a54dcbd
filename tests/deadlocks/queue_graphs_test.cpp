// Random sends and receives among the programs of a launch, in any order: what the simulation says of them is what the
// graph of their events says, and so is the number of slots that would help.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event_graph.h"
#include "report/least_slots.h"
#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::deadlocks_test {
namespace {

constexpr std::int64_t kSlotElements = 16;

struct Step {
  enum class Kind : std::uint8_t { send, receive, await };
  Kind kind;
  int peer = 0, tag = 0, segments = 1;
  bool asynchronous = false;
  int message = 0;
  int of = 0;  // await: the message whose send it waits for
};

/// The steps of each program.
struct Communication {
  int programs = 2, slots = 1;
  std::vector<std::vector<Step>> steps;
  int messages = 0;
};

void shuffle_some(std::vector<Step>& steps, Random& random) {
  if (steps.size() < 2 || pick(random, 0, 2) == 0) return;
  for (std::int64_t swaps = pick(random, 1, 3); swaps > 0; --swaps) {
    const auto at = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(steps.size()) - 2));
    std::swap(steps[at], steps[at + 1]);
  }
}

/// Every token of a send must be waited for, somewhere behind it.
void add_awaits(std::vector<Step>& steps, Random& random) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind != Step::Kind::send || !steps[i].asynchronous) continue;
    const auto at = pick(random, static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(steps.size()));
    Step await{Step::Kind::await};
    await.of = steps[i].message;
    steps.insert(steps.begin() + at, await);
  }
}

// Messages in one order for all never get stuck; then some steps change places, and some are forgotten. Those of one
// tag have one size, for a receive takes whichever comes first.
Communication random_communication(std::uint64_t seed) {
  Random random(seed);
  Communication made;
  made.programs = static_cast<int>(pick(random, 2, 4));
  made.slots = static_cast<int>(pick(random, 1, 3));
  made.steps.resize(static_cast<std::size_t>(made.programs));
  made.messages = static_cast<int>(pick(random, 2, 8));  // a queue takes eight commands
  const std::vector<int> sizes{static_cast<int>(pick(random, 1, 2)), static_cast<int>(pick(random, 1, 5))};
  for (int message = 0; message < made.messages; ++message) {
    const int from = static_cast<int>(pick(random, 0, made.programs - 1));
    const int to = static_cast<int>((from + pick(random, 1, made.programs - 1)) % made.programs);
    const int tag = static_cast<int>(pick(random, 0, 1)), segments = sizes[static_cast<std::size_t>(tag)];
    const auto asynchronous = [&] { return pick(random, 0, 3) == 0; };
    const Step send{Step::Kind::send, to, tag, segments, asynchronous(), message};
    const Step receive{Step::Kind::receive, from, tag, segments, asynchronous(), message};
    const auto forgotten = pick(random, 0, 60);
    if (forgotten != 0) made.steps[static_cast<std::size_t>(from)].push_back(send);
    if (forgotten != 1) made.steps[static_cast<std::size_t>(to)].push_back(receive);
  }
  for (auto& steps : made.steps) {
    shuffle_some(steps, random);
    add_awaits(steps, random);
  }
  return made;
}

struct Expected {
  std::set<int> stuck;
  std::size_t unreceived = 0;
};

Expected analyse(const Communication& communication, int slots) {
  EventGraph graph;
  Channels channels(graph, slots);
  for (int self = 0; self < communication.programs; ++self) {
    EventGraph::Event now = graph.add(self);
    std::map<int, EventGraph::Event> sent;  // by message
    for (const Step& step : communication.steps[static_cast<std::size_t>(self)]) {
      const auto next = [&]() -> EventGraph::Event {
        switch (step.kind) {
          case Step::Kind::send:
            return sent[step.message] = channels.send({self, step.peer, 0}, step.tag, step.segments, now);
          case Step::Kind::receive:
            return channels.receive({step.peer, self, 0}, step.tag, step.segments, now);
          default:
            return graph.add(self, {now, sent.at(step.of)});
        }
      }();
      if (!step.asynchronous) now = next;
    }
  }
  Expected expected;
  expected.unreceived = channels.join();
  expected.stuck = graph.stuck();
  return expected;
}

/// Message i carries i; what program p receives at its n-th receive ends in row p, column n.
void talk(const Communication& communication, const tl::Tensor& out) {
  const std::int64_t self = tl::member_index();
  std::map<int, tl::Token> sent;
  std::vector<tl::Tile> received;
  for (const Step& step : communication.steps[static_cast<std::size_t>(self)]) {
    const auto tag = static_cast<std::uint64_t>(step.tag);
    const std::int64_t elements = step.segments * kSlotElements;
    const tl::Peer peer = tl::member(step.peer);
    if (step.kind == Step::Kind::await) {
      tl::wait(sent.at(step.of));
    } else if (step.kind == Step::Kind::send) {
      const tl::Tile value = tl::full({elements}, static_cast<std::int64_t>(step.message), DType::i32);
      if (step.asynchronous) {
        sent.emplace(step.message, tl::isend(value, peer, tag));
      } else {
        tl::send(value, peer, tag);
      }
    } else {
      received.push_back(step.asynchronous ? tl::recv_async(DType::i32, {elements}, peer, tag)
                                           : tl::recv(DType::i32, {elements}, peer, tag));
    }
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    tl::store(out, {self, static_cast<std::int64_t>(i)}, tl::reshape(tl::max(received[i]), {1, 1}));
  }
}

/// Which message each receive takes: the first of its channel and tag that is left.
std::vector<std::vector<int>> values_of(const Communication& communication) {
  std::map<std::tuple<int, int, int>, std::vector<int>> sent;
  for (int self = 0; self < communication.programs; ++self) {
    for (const Step& step : communication.steps[static_cast<std::size_t>(self)]) {
      if (step.kind == Step::Kind::send) sent[{self, step.peer, step.tag}].push_back(step.message);
    }
  }
  std::vector<std::vector<int>> values(communication.steps.size());
  for (int self = 0; self < communication.programs; ++self) {
    for (const Step& step : communication.steps[static_cast<std::size_t>(self)]) {
      if (step.kind != Step::Kind::receive) continue;
      auto& queue = sent[{step.peer, self, step.tag}];
      values[static_cast<std::size_t>(self)].push_back(queue.front());
      queue.erase(queue.begin());
    }
  }
  return values;
}

RunResult simulated(const Communication& communication, std::int32_t least_slots, bool compare) {
  SimulateOptions options = machine(1, communication.programs);
  options.least_slots = least_slots;
  return try_simulate(options, [&] {
    const torch::Tensor out =
        torch::full({communication.programs, communication.messages}, -1, torch::dtype(DType::i32).device("ahbm"));
    const auto launch = channels(communication.programs, QueueTopology::all_pairs, communication.slots,
                                 kSlotElements * item_size(DType::i32));
    torch::launch(launch, "talk", [&](tl::Tensor rows) { talk(communication, rows); }, out);
    const torch::Tensor host = out.cpu();
    if (!compare) return;
    const auto values = values_of(communication);
    for (std::size_t self = 0; self < values.size(); ++self) {
      for (std::size_t i = 0; i < values[self].size(); ++i) {
        EXPECT_EQ(host[static_cast<std::int64_t>(self)][static_cast<std::int64_t>(i)].item<std::int32_t>(),
                  values[self][i])
            << "program " << self << ", receive " << i;
      }
    }
  });
}

struct Counts {
  int finished = 0, stuck = 0, unreceived = 0;
};

void expect_as_analysed(const Communication& communication, Counts& counts) {
  const Expected expected = analyse(communication, communication.slots);
  const RunResult result = simulated(communication, 1, expected.stuck.empty() && expected.unreceived == 0);
  if (!expected.stuck.empty()) {
    ++counts.stuck;
    ASSERT_TRUE(result.error && result.error->type == "DeadlockError") << outcome(result);
    EXPECT_EQ(waiting(*result.error, "sip0\\.cube0\\.pe", " talk#0"), expected.stuck) << outcome(result);
  } else if (expected.unreceived > 0) {
    ++counts.unreceived;
    ASSERT_TRUE(result.error && result.error->type == "UnreceivedMessageError") << outcome(result);
    EXPECT_TRUE(result.error->message.starts_with(std::to_string(expected.unreceived) + " message"))
        << result.error->message;
  } else {
    ++counts.finished;
    EXPECT_EQ(outcome(result), "ok");
  }
}

constexpr std::uint64_t kGraphs = kSanitized ? 60 : 250;  // of each part

class QueueGraphs : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(QueueGraphs, FinishRightOrAreReportedAsTheAnalysisSays) {
  Counts counts;
  for (std::uint64_t seed = GetParam() * kGraphs; seed < (GetParam() + 1) * kGraphs && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_as_analysed(random_communication(seed), counts);
  }
  EXPECT_GE(counts.finished, static_cast<int>(kGraphs) / 5);
  EXPECT_GE(counts.stuck, static_cast<int>(kGraphs) / 5);
  EXPECT_GE(counts.unreceived, kSanitized ? 0 : 1);  // there are few
  RecordProperty("finished", counts.finished);
  RecordProperty("stuck", counts.stuck);
  RecordProperty("unreceived", counts.unreceived);
}

INSTANTIATE_TEST_SUITE_P(Thousand, QueueGraphs, ::testing::Range<std::uint64_t>(0, 4));

/// The least number of slots without a deadlock; none when the messages themselves cross.
std::optional<int> least_slots(const Communication& communication) {
  for (int slots = 1; slots <= 64; ++slots) {
    if (analyse(communication, slots).stuck.empty()) return slots;
  }
  return std::nullopt;
}

TEST(QueueGraphs, TheLeastNumberOfSlotsIsThatOfTheAnalysis) {
  int found = 0, crossed = 0;
  const int seeds = number_of_cases(200, 200, 40);
  for (int seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Communication communication = random_communication(static_cast<std::uint64_t>(seed));
    const RunResult result = simulated(communication, 1, false);
    if (!result.error || result.error->type != "DeadlockError") continue;
    const auto advice = report::find_least_slots(
        *result.error, [&](std::int32_t slots) { return simulated(communication, slots, false); });
    ASSERT_TRUE(advice);
    const auto expected = least_slots(communication);
    EXPECT_EQ(advice->needed, expected.value_or(0)) << advice->text;
    (expected ? found : crossed) += 1;
  }
  EXPECT_GE(found, kSanitized ? 1 : 10);
  EXPECT_GE(crossed, kSanitized ? 0 : 10);
}

}  // namespace
}  // namespace kernbench::deadlocks_test
