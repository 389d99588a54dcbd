// Random messages among the PEs of small meshes against a sequential reference: values, tags and order; the same times
// in exact mode and without data.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support.h"
#include "support/all_cases.h"

namespace kernbench::queues_test {
namespace {

constexpr std::int64_t kColumns = 96;

struct Message {
  std::int32_t from, to;
  std::uint64_t tag;
  std::int64_t elements, value;
  bool waits_later;  // sent by isend, received by recv_async
};

struct Pattern {
  int width, height;
  QueueParameters parameters;
  std::vector<Message> messages;  // in one order for all members, so that none waits for ever
};

Pattern pattern(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Pattern made{static_cast<int>(pick(1, 3)), static_cast<int>(pick(2, 3)), {}, {}};
  made.parameters = slots(static_cast<std::int32_t>(pick(1, 4)), pick(4, 300), static_cast<BufferKind>(pick(0, 2)),
                          static_cast<Backpressure>(pick(0, 1)));
  const int members = made.width * made.height;
  for (std::int64_t n = pick(1, 25); n > 0; --n) {
    const auto from = static_cast<std::int32_t>(pick(0, members - 1));
    const auto to = static_cast<std::int32_t>((from + pick(1, members - 1)) % members);
    made.messages.push_back(
        {from, to, static_cast<std::uint64_t>(pick(0, 2)), pick(1, kColumns), pick(0, 1000), false});
  }
  return made;
}

/// Message i ends in row i.
void exchange(const Pattern& pattern, const tl::Tensor& out) {
  const std::int64_t self = tl::member_index();
  for (std::size_t i = 0; i < pattern.messages.size(); ++i) {
    const Message& m = pattern.messages[i];
    if (m.from == self) tl::send(tl::arange(0, m.elements) * m.value + 1, tl::member(m.to), m.tag);
    if (m.to != self) continue;
    const tl::Tile got = tl::recv(DType::i32, {m.elements}, tl::member(m.from), m.tag);
    tl::store(out, {static_cast<std::int64_t>(i), 0}, tl::reshape(got, {1, m.elements}));
  }
}

RunResult run(const Pattern& pattern, bool exact, bool data) {
  auto options = mesh(pattern.width, pattern.height);
  options.exact_events = exact;
  options.data = data;
  return simulate(options, [&] {
    const auto rows = static_cast<std::int64_t>(pattern.messages.size());
    const torch::Tensor out = torch::zeros({rows, kColumns}, torch::dtype(DType::i32).device("ahbm"));
    torch::launch(
        with(pattern.width * pattern.height, QueueTopology::all_pairs, pattern.parameters), "pattern",
        [&pattern](tl::Tensor t) { exchange(pattern, t); }, out);
    if (!data) return;
    const torch::Tensor host = out.cpu();
    for (std::int64_t row = 0; row < rows; ++row) {
      const Message& m = pattern.messages[static_cast<std::size_t>(row)];
      for (const std::int64_t i : {std::int64_t{0}, m.elements - 1}) {
        ASSERT_EQ(host[row][i].item<std::int32_t>(), i * m.value + 1) << "message " << row;
      }
    }
  });
}

TEST(QueuesRandom, MessagesArriveWholeAndInOrder) {
  for (std::uint64_t seed = 1;
       seed <= static_cast<std::uint64_t>(number_of_cases(40, 40, 10)) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Pattern messages = pattern(seed);
    const RunResult coalesced = run(messages, false, true);
    EXPECT_EQ(run(messages, true, true).times_fingerprint, coalesced.times_fingerprint);
    EXPECT_EQ(run(messages, false, false).launches.back().end, coalesced.launches.back().end);
  }
}

// Receives in an order of their own: with slots enough for everything, tags decide, whatever came first.
TEST(QueuesRandom, TagsDecideWhichMessageAReceiveTakes) {
  for (std::uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> sent(20), received;
    for (auto& tag : sent) tag = random() % 4;
    received = sent;
    std::ranges::shuffle(received, random);
    simulate(mesh(2, 1), [&] {
      const torch::Tensor out = torch::zeros({1, 20}, torch::dtype(DType::i32).device("ahbm"));
      torch::launch(
          with(2, QueueTopology::ring_1d, slots(20, 64)), "tags",
          [&](tl::Tensor t) {
            const bool sends = tl::member_index() == 0;
            for (std::size_t i = 0; i < sent.size(); ++i) {
              const auto place = static_cast<std::int64_t>(i);
              if (sends)
                tl::send(tl::full({1, 1}, place, DType::i32), tl::ring_next(), sent[i]);
              else
                tl::store(t, {0, place}, tl::recv_async(DType::i32, {1, 1}, tl::ring_previous(), received[i]));
            }
          },
          out);
      const torch::Tensor host = out.cpu();
      std::map<std::uint64_t, std::vector<std::int32_t>> queues;
      for (std::size_t i = 0; i < sent.size(); ++i) queues[sent[i]].push_back(static_cast<std::int32_t>(i));
      for (std::size_t i = 0; i < received.size(); ++i) {
        auto& queue = queues[received[i]];
        EXPECT_EQ(host[0][static_cast<std::int64_t>(i)].item<std::int32_t>(), queue.front());
        queue.erase(queue.begin());
      }
    });
  }
}

}  // namespace
}  // namespace kernbench::queues_test
