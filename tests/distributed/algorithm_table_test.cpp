// The table of algorithms of collectives: what holds for all of its entries, for the files that name them, and for the
// page that lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "distributed/collectives_file.h"
#include "every_algorithm.h"
#include "kernbench/error.h"
#include "support/source_tree.h"

namespace kernbench::distributed::algorithm_table_test {
namespace {

using kernbench::testing::algorithms_of;
using kernbench::testing::collectives_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  return text.replace(at, from.size(), to);
}
/// The key of a collectives file that names an algorithm of the operation.
std::string key_of(CollectiveOperation operation) {
  return operation == CollectiveOperation::all_reduce ? "module" : std::string(name(operation));
}

TEST(AlgorithmTable, EveryEntryIsComplete) {
  std::set<std::string_view> names;
  for (const auto& algorithm : collective_algorithms()) {
    EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name << " twice";
    EXPECT_NE(algorithm.topology, "") << algorithm.name;
    EXPECT_NE(algorithm.method, "") << algorithm.name;
    EXPECT_NE(algorithm.runs_on, "") << algorithm.name;
    EXPECT_EQ(algorithm.fold_order.empty(), !reduces(algorithm.operation)) << algorithm.name;
  }
  for (const CollectiveOperation operation : kCollectiveOperations) EXPECT_FALSE(algorithms_of(operation).empty());
}

TEST(AlgorithmTable, ChannelsLeadFromRankToOtherRankAndNoneIsThereTwice) {
  for (const auto& algorithm : collective_algorithms()) {
    for (const int ranks : {2, 3, 5, 8}) {
      const auto channels = algorithm.channels(ranks);
      for (const auto& [from, to] : channels) {
        EXPECT_NE(from, to) << algorithm.name;
        EXPECT_TRUE(std::min(from, to) >= 0 && std::max(from, to) < ranks) << algorithm.name;
      }
      EXPECT_EQ(std::set(channels.begin(), channels.end()).size(), channels.size()) << algorithm.name;
    }
  }
}

TEST(AlgorithmTable, ATopologyHasTheSameChannelsInEveryAlgorithm) {
  for (const auto& one : collective_algorithms()) {
    for (const auto& other : collective_algorithms()) {
      if (one.topology != other.topology) continue;
      for (const int ranks : {2, 3, 8}) EXPECT_EQ(one.channels(ranks), other.channels(ranks)) << one.name;
    }
  }
}

TEST(AlgorithmTable, AGroupHasTheChannelsOfItsAlgorithmsEachOnce) {
  for (const auto& algorithm : collective_algorithms()) {
    const auto file = parse_collectives(collectives_text(algorithm), "ccl.yaml");
    const AlgorithmSpec& spec = find_algorithm(file);
    EXPECT_EQ(algorithm_for(spec, algorithm.operation).name, algorithm.name);
    for (const int ranks : {2, 3, 8}) {
      const auto channels = channels_of(spec, ranks);
      const std::set<RankPair> distinct(channels.begin(), channels.end());
      EXPECT_EQ(distinct.size(), channels.size());
      std::set<RankPair> needed;
      for (const CollectiveOperation operation : kCollectiveOperations) {
        if (opens_channels_late(operation)) continue;
        const auto own = algorithm_for(spec, operation).channels(ranks);
        needed.insert(own.begin(), own.end());
      }
      EXPECT_EQ(distinct, needed) << algorithm.name;
    }
  }
}

TEST(AlgorithmTable, ChannelsThatAreOpenedLateComeInAsFewRoundsAsHaveRoom) {
  topology::Topology machine;
  AlgorithmSpec spec;
  spec.slot_size = Bytes(64);
  for (const auto& algorithm : collective_algorithms()) {
    if (!algorithm.in_rounds) continue;
    for (const int queues : {1, 3, 8}) {
      machine.pe.ipcq.queues = queues;
      for (const int ranks : {2, 3, 9, 16}) {
        const auto rounds = channel_rounds({ranks, false, spec, machine}, algorithm);
        EXPECT_EQ(rounds.size(), static_cast<std::size_t>((ranks - 1 + queues - 1) / queues)) << algorithm.name;
        std::vector<RankPair> all;
        std::int64_t step = 1;
        for (const auto& round : rounds) {
          EXPECT_EQ(round.first_step, step);
          step = round.last_step + 1;
          EXPECT_EQ(round.channels.size(), static_cast<std::size_t>((step - round.first_step) * ranks));
          all.insert(all.end(), round.channels.begin(), round.channels.end());
        }
        EXPECT_EQ(step, ranks);
        auto wanted = algorithm.channels(ranks);
        std::ranges::sort(all);
        std::ranges::sort(wanted);
        EXPECT_EQ(all, wanted) << algorithm.name;
      }
    }
  }
}

TEST(AlgorithmTable, AsManyChannelsFitAsThereAreEntriesAndRoomForTheirSlots) {
  topology::Topology machine;
  machine.pe.ipcq.queues = 8;
  machine.pe.ipcq.capacity = Bytes(60 * 1024);
  machine.cube.pes = {2, 2};
  machine.cube.sram.capacity = Bytes(100 * 1024);
  AlgorithmSpec spec;
  spec.n_slots = 4;
  spec.slot_size = Bytes(4096);
  const auto fit = [&](BufferKind memory) {
    spec.buffer_kind = memory;
    return channels_that_fit({16, false, spec, machine});
  };
  EXPECT_EQ(fit(BufferKind::tcm), 3) << "of 60 KiB, each 16 KiB";
  EXPECT_EQ(fit(BufferKind::sram), 1) << "of 100 KiB, each 16 KiB on each of four PEs";
  EXPECT_EQ(fit(BufferKind::hbm), 8) << "entries";
  spec.buffer_kind = BufferKind::sram;
  const auto all = algorithms_of(CollectiveOperation::all_reduce);
  const auto tree = std::ranges::find(all, "double_tree_allreduce", &CollectiveAlgorithm::name);
  ASSERT_NE(tree, all.end());
  EXPECT_THAT(tree->refusal({16, false, spec, machine}), HasSubstr("has room for 1 (pe.ipcq.queues is 8; 4 slots of "));
}

TEST(AlgorithmTable, AMisspeltNameInAFileHasASuggestionAndAnUnknownOneTheList) {
  for (const auto& algorithm : collective_algorithms()) {
    const std::string name(algorithm.name), key = key_of(algorithm.operation);
    const std::string text = collectives_text(algorithm);
    const auto error_with = [&](const std::string& other) {
      return error_of([&] { parse_collectives(replaced(text, key + ": " + name, key + ": " + other), "ccl.yaml"); });
    };
    EXPECT_THAT(error_with(name + "x"), AllOf(HasSubstr("ccl.yaml:2:"), HasSubstr("algorithms.a." + key + ": expected"),
                                              HasSubstr("did you mean \"" + name + "\"?")));
    for (const auto& each : algorithms_of(algorithm.operation)) {
      EXPECT_THAT(error_with("hypercube"), HasSubstr(std::string(each.name)));
    }
    EXPECT_THAT(error_of([&] { find_collective_algorithm(algorithm.operation, name + "x"); }),
                AllOf(HasSubstr("did you mean \"" + name + "\"?"), HasSubstr("(known: ")));
  }
}

TEST(AlgorithmTable, AnotherTopologyThanTheModulesIsAnErrorThatNamesBoth) {
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    const std::string name(algorithm.name), own(algorithm.topology), text = collectives_text(algorithm);
    EXPECT_THAT(error_of([&] { parse_collectives(replaced(text, "topology: " + own, "topology: star"), "ccl.yaml"); }),
                AllOf(HasSubstr("algorithms.a.topology: expected"), HasSubstr(own), HasSubstr("found \"star\"")));
    for (const auto& other : algorithms_of(CollectiveOperation::all_reduce)) {
      if (other.topology == algorithm.topology) continue;
      const std::string wrong(other.topology);
      const std::string needs = "algorithms.a.topology: " + name + " needs " + own + ", found \"" + wrong + "\"";
      EXPECT_THAT(
          error_of([&] { parse_collectives(replaced(text, "topology: " + own, "topology: " + wrong), "ccl.yaml"); }),
          AllOf(HasSubstr(needs + "; " + wrong + " is for "), HasSubstr(std::string(other.name))));
      const std::string inherited = replaced(text, ", topology: " + own, "");
      EXPECT_THAT(error_of([&] {
                    parse_collectives(replaced(inherited, "algorithm: a", "algorithm: a, topology: " + wrong), "x");
                  }),
                  HasSubstr(needs + " in defaults; "));
      EXPECT_EQ(error_of([&] { parse_collectives(inherited, "x"); }), "no error") << "it is the module's";
    }
  }
}

TEST(AlgorithmTable, TheShippedFileHasEveryAllReduceUnderItsName) {
  const Collectives shipped = load_collectives(source_tree::path("collectives/ccl.yaml"));
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    EXPECT_EQ(find_algorithm(shipped, std::string(algorithm.name)).module, algorithm.name);
  }
}

TEST(AlgorithmTable, ThePageListsEveryAlgorithm) {
  source_tree::expect_golden_part("docs/collectives.md", "<!-- generated: the table of algorithms -->\n",
                                  "<!-- end of the table of algorithms -->\n", algorithms_reference());
}

}  // namespace
}  // namespace kernbench::distributed::algorithm_table_test
