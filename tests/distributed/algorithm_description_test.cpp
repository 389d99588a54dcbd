// What `kernbench describe --algorithm` says: neighbours, bytes of each step, and errors.
#include "distributed/algorithm_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "distributed/collectives_file.h"
#include "kernbench/error.h"
#include "support/source_tree.h"
#include "topology/load.h"

namespace kernbench::testing {
namespace {

using namespace distributed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

topology::Topology ring_of(int sips) {
  return topology::load_topology(source_tree::path("topologies/ahbm-2sip.yaml"),
                                 {"system.sips.count=" + std::to_string(sips)});
}

Collectives shipped_file() {
  return load_collectives(source_tree::path("collectives/ccl.yaml"));
}

AlgorithmDescription described(const std::string& name, int sips, int ranks = 0, std::int64_t bytes = 1 << 20,
                               const std::string& operation = {}) {
  return describe_algorithm({.name = name, .operation = operation, .ranks = ranks, .bytes = Bytes(bytes)},
                            shipped_file(), ring_of(sips));
}

std::string refusal_to_describe(const std::string& name, int ranks, const std::string& operation = {}) {
  try {
    described(name, 4, ranks, 64, operation);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AlgorithmDescription, NamesTheNeighboursOfEachRankAndTheLinksToThem) {
  const AlgorithmDescription ring = described("ring_allreduce", 4);
  EXPECT_EQ(ring.pes, 128);
  ASSERT_EQ(ring.channels.size(), 4u);
  for (int rank = 0; rank < 4; ++rank) {
    const ChannelDescription& channel = ring.channels[static_cast<std::size_t>(rank)];
    EXPECT_EQ(channel.from, rank);
    EXPECT_EQ(channel.to, (rank + 1) % 4);
    EXPECT_THAT(channel.links,
                ElementsAre("sip" + std::to_string(rank) + ".io.to_sip" + std::to_string((rank + 1) % 4)));
  }
  std::map<int, std::set<int>> partners;
  const AlgorithmDescription halving = described("halving_doubling_allreduce", 8);
  for (const ChannelDescription& channel : halving.channels) partners[channel.from].insert(channel.to);
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(partners[rank], (std::set<int>{rank ^ 1, rank ^ 2, rank ^ 4}));
  for (const ChannelDescription& channel : described("direct_allreduce", 4).channels) {
    const int around = (channel.to - channel.from + 4) % 4;
    EXPECT_EQ(channel.links.size(), around == 2 ? 2u : 1u) << channel.from << " to " << channel.to;
  }
}

/// All contributions but one reach each element, and all ranks but one are given it: so many bytes cross in all. A ring
/// from or to a root ends before it, whichever that is: all links stand there.
TEST(AlgorithmDescription, StepsAddUpToTheBytesOfTheOperation) {
  constexpr int kRanks = 4;
  constexpr std::int64_t kBytes = 1 << 20;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (!algorithm.steps || algorithm.operation == CollectiveOperation::all_to_all) continue;
    SCOPED_TRACE(algorithm.name);
    const AlgorithmDescription description = described(std::string(algorithm.name), kRanks, 0, kBytes);
    EXPECT_EQ(description.algorithm->name, algorithm.name);
    ASSERT_TRUE(description.cost_ns);
    EXPECT_GT(*description.cost_ns, 600) << "the latency of a link";
    std::set<std::pair<int, int>> channels;
    for (const ChannelDescription& channel : description.channels) channels.emplace(channel.from, channel.to);
    std::int64_t sum = 0, messages = 0;
    for (const StepDescription& step : description.steps) {
      for (const MessageDescription& message : step.messages) {
        sum += step.times * message.bytes.count();
        messages += step.times;
        EXPECT_TRUE(channels.contains({message.from, message.to})) << message.from << " to " << message.to;
      }
    }
    if (algorithm.operation == CollectiveOperation::barrier) {
      EXPECT_EQ(sum, messages) << "a byte each";
      continue;
    }
    const bool rooted = algorithm.operation == CollectiveOperation::broadcast ||
                        algorithm.operation == CollectiveOperation::reduce,
               twice = algorithm.operation == CollectiveOperation::all_reduce,
               all_around = rooted && algorithm.name.find("ring_") != std::string_view::npos;
    EXPECT_NEAR(static_cast<double>(sum), (twice ? 2.0 : 1.0) * (all_around ? kRanks : kRanks - 1) * kBytes,
                static_cast<double>(messages) / 2)
        << "whole bytes";
  }
}

TEST(AlgorithmDescription, EveryAlgorithmAndEveryEntryOfTheFileIsKnown) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    EXPECT_FALSE(described(std::string(algorithm.name), 4).channels.empty() &&
                 algorithm.operation != CollectiveOperation::all_reduce_partials)
        << algorithm.name;
  for (const auto& [entry, spec] : shipped_file().algorithms)
    EXPECT_NE(described(entry, 4).algorithm, nullptr) << entry;
  EXPECT_EQ(described("ring", 4, 0, 64, "all_gather").algorithm->name, "ring_all_gather");
  EXPECT_EQ(described("ring_allreduce_hbm", 4).spec.buffer_kind, BufferKind::hbm) << "queues are those of the entry";
}

TEST(AlgorithmDescription, OfAnAutomaticChoiceIsThatOfTheAlgorithmTaken) {
  const AlgorithmDescription little = described("auto", 4, 0, 64), much = described("auto", 4, 0, 64 << 20);
  EXPECT_EQ(little.algorithm->name, "direct_allreduce");
  EXPECT_EQ(much.algorithm->name, "bidirectional_ring_allreduce");
  EXPECT_EQ(little.reason, "least cost");
}

TEST(AlgorithmDescription, RanksOverTheSipsArePes) {
  const AlgorithmDescription pes = described("ring_allreduce", 2, 5);
  EXPECT_TRUE(pes.rank_per_pe);
  EXPECT_EQ(pes.pes, 1);
  EXPECT_EQ(pes.first_pes[4], (PeCoordinate{SipId{0}, CubeId{0}, PeId{4}}));
  EXPECT_THAT(pes.channels.front().links,
              ElementsAre("sip0.cube0.pe0.inject", "sip0.cube0.pe0.router.east", "sip0.cube0.pe1.eject"));
}

TEST(AlgorithmDescription, ErrorsSayWhatThereIs) {
  EXPECT_THAT(refusal_to_describe("ring_alreduce", 0),
              HasSubstr("did you mean \"ring_allreduce\"? (known: ring_allreduce, "));
  EXPECT_THAT(refusal_to_describe("ring_alreduce", 0), HasSubstr("ring_default_ws"));
  EXPECT_THAT(refusal_to_describe("ring", 0, "all_gathr"), HasSubstr("did you mean \"all_gather\"?"));
  EXPECT_THAT(refusal_to_describe("ring_broadcast", 0, "reduce"),
              HasSubstr("ring_broadcast is an algorithm of broadcast, not of reduce"));
  EXPECT_THAT(
      refusal_to_describe("ring_allreduce", 1),
      ::testing::AllOf(HasSubstr("1 rank: an algorithm needs 2 or more"), HasSubstr("--set system.sips.count=N")));
  EXPECT_THAT(refusal_to_describe("ring_allreduce", 1000), HasSubstr("4 SIPs and 512 PEs"));
  EXPECT_THAT(refusal_to_describe("direct_allreduce", 64),
              HasSubstr("direct_allreduce cannot run on this group: a PE needs 63"));
}

}  // namespace
}  // namespace kernbench::testing
