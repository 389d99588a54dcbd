// What a consumer of the stream of operations is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "programs.h"
#include "runtime/context.h"
#include "runtime/simulation.h"
#include "tile/program/program.h"

namespace kernbench {
namespace {

namespace torch = kernbench::torch;
namespace tl = kernbench::tl;

using testing::one_pe;
using testing::tiny;
using tile::Topic;

struct Seen {
  std::string kind;
  std::uint64_t number;
  std::uint32_t line;
  bool writes;
  std::vector<tile::ByteRange> ranges;
  std::vector<tile::HappensBefore> before;
};

class Reader final : public tile::OperationConsumer {
 public:
  void on_operation(const tile::OperationRecord& operation) override {
    Seen one{operation.kind(), operation.number(), operation.where().line(), operation.writes(), {}, {}};
    operation.for_each_range([&](const tile::ByteRange& range) { one.ranges.push_back(range); });
    one.before.assign(operation.happens_before().begin(), operation.happens_before().end());
    seen.push_back(one);
  }
  const Seen& of(const std::string& kind) const { return *std::ranges::find(seen, kind, &Seen::kind); }
  std::vector<Seen> seen;
};

TEST(OperationStream, RecordsHaveTheBytesTheLineAndWhatTheyHappenedAfter) {
  Reader reader;
  std::uint32_t line = 0;
  simulate(tiny(), [&] {
    auto x = torch::ones({4, 64}, one_pe(DType::f32));
    torch::ahbm::synchronize();
    runtime::current_context("test").simulation.operations().subscribe(reader, {Topic::operations, Topic::edges});
    torch::launch(
        "work",
        [&](tl::Tensor a) {
          const tl::Tile tile = tl::load(a, {1, 0}, {1, 64});
          line = Where::current().line() - 1;
          tl::store(a, {1, 0}, tl::exp(tile));
        },
        x);
    torch::ahbm::synchronize();
  });
  using Reason = tile::HappensBefore::Reason;
  const Seen &load = reader.of("load"), &exp = reader.of("exp"), &store = reader.of("store");
  EXPECT_EQ(load.line, line);
  EXPECT_FALSE(load.writes);
  EXPECT_TRUE(store.writes);
  ASSERT_EQ(load.ranges.size(), 1u);
  EXPECT_EQ(load.ranges[0].memory, tile::MemoryKind::hbm);
  EXPECT_EQ(load.ranges[0].range.total(), Bytes(256));
  ASSERT_EQ(store.ranges.size(), 1u);
  EXPECT_EQ(store.ranges[0].range.address, load.ranges[0].range.address);
  EXPECT_TRUE(exp.ranges.empty());
  ASSERT_EQ(exp.before.size(), 1u);
  EXPECT_EQ(exp.before[0].before.number, load.number);
  EXPECT_EQ(exp.before[0].reason, Reason::operand);
  ASSERT_EQ(store.before.size(), 2u);
  EXPECT_EQ(store.before[0].before.number, exp.number);
  EXPECT_EQ(store.before[1].before.number, load.number);
  EXPECT_EQ(store.before[1].reason, Reason::order);
}

TEST(OperationStream, AReceiveHappensAfterTheSendWhoseMessageItTook) {
  Reader reader;
  simulate(tiny(), [&] {
    auto x = torch::ones({64, 16}, torch::device("ahbm"));
    torch::ahbm::synchronize();
    runtime::current_context("test").simulation.operations().subscribe(reader, {Topic::operations, Topic::edges});
    torch::LaunchOptions options;
    options.queues.topology = QueueTopology::ring_1d;
    torch::launch(
        options, "message",
        [](tl::Tensor) {
          if (tl::member_index() == 0) tl::send(tl::full({4}, 1.0f, DType::f32), tl::ring_next());
          if (tl::member_index() == 1) tl::recv(DType::f32, {4}, tl::ring_previous());
        },
        x);
    torch::ahbm::synchronize();
  });
  const Seen& receive = reader.of("recv");
  ASSERT_EQ(receive.before.size(), 1u);
  EXPECT_EQ(receive.before[0].reason, tile::HappensBefore::Reason::message);
  EXPECT_EQ(receive.before[0].before.number, reader.of("send").number);
}

TEST(OperationStream, WithoutAnExplanationNothingIsWatchedAndTimesAreTheSame) {
  const auto run = [](bool explain) {
    SimulateOptions options = tiny();
    options.explain = explain;
    bool stages = false;
    const RunResult result = simulate(options, [&] {
      stages = runtime::current_context("test").simulation.operations().wanted(Topic::stages);
      auto x = torch::ones({64, 16}, torch::device("ahbm"));
      torch::launch("work", [](tl::Tensor a) { tl::store(a, {0, 0}, tl::load(a, {0, 0}, {16, 16}) * 2); }, x);
      torch::ahbm::synchronize();
    });
    EXPECT_EQ(stages, explain);
    return result;
  };
  const RunResult with = run(true), without = run(false);
  EXPECT_EQ(with.times_fingerprint, without.times_fingerprint);
  EXPECT_EQ(with.launches[0].bound, without.launches[0].bound);
  EXPECT_FALSE(with.launches[0].critical_path.empty());
  EXPECT_TRUE(without.launches[0].critical_path.empty());
  EXPECT_TRUE(without.launches[0].waits.empty());
  EXPECT_TRUE(without.launches[0].breakdown.empty());
  EXPECT_EQ(without.switches.at("explain"), "false");
  EXPECT_EQ(with.switches.count("explain"), 0u);
}

}  // namespace
}  // namespace kernbench
