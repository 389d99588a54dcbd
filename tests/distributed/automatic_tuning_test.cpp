// Files of measured algorithms: what auto takes by them, and what is wrong with broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "distributed/tuning.h"
#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/test_files.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using distributed::CollectiveOperation;
using distributed::Tuning;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kTuned =
    "all_reduce:\n"
    "  4_sips:\n"
    "    0B: grid_ring_allreduce\n"
    "    1KiB: double_tree_allreduce\n"
    "    64KiB: direct_allreduce\n"
    "  8_pes: {0B: ring_allreduce}\n";

std::string file_with(const std::string& name, const std::string& text) {
  std::string path = test_files::folder() + name;
  std::ofstream(path) << text;
  return path;
}

/// Four ranks whose collectives file says auto, by this text.
SimulateOptions tuned_machine(const std::string& text) {
  file_with("tuned.yaml", text);
  SimulateOptions options = machine_of(4);
  options.collectives =
      file_with("auto.yaml", "defaults: {algorithm: a, tune: tuned.yaml}\nalgorithms: {a: {module: auto}}\n");
  return options;
}

/// The algorithms of all-reduces of so many bytes.
std::vector<std::string> taken(const SimulateOptions& options, const std::vector<std::int64_t>& bytes, int ranks = 4) {
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    for (const std::int64_t size : bytes) dist::all_reduce(torch::zeros({size / 4}, torch::device("ahbm")));
  });
  EXPECT_THAT(outcome.errors, Each(""));
  std::vector<std::string> names;
  for (const auto& launch : outcome.run.launches) {
    const std::size_t at = launch.name.find("_allreduce#0.");
    if (at != std::string::npos) names.push_back(launch.name.substr(0, at));
  }
  return names;
}

TEST(TunedChoice, TakesTheAlgorithmOfTheSize) {
  EXPECT_THAT(taken(tuned_machine(kTuned), {4, 1020, 1024, 65532, 65536, 1 << 20}),
              ElementsAre("grid_ring", "grid_ring", "double_tree", "double_tree", "direct", "direct"));
}

TEST(TunedChoice, GoesByCostForGroupsThatWereNotMeasuredAndUnderANarrowerChoice) {
  SimulateOptions plain = machine_of(2);
  plain.collectives = file_with("plain.yaml", "defaults: {algorithm: a}\nalgorithms: {a: {module: auto}}\n");
  SimulateOptions tuned = tuned_machine(kTuned);
  tuned.overrides = plain.overrides;
  EXPECT_EQ(taken(tuned, {64, 1 << 20}, 2), taken(plain, {64, 1 << 20}, 2));
  ::setenv("KB_ALGO", "halving_doubling", 1);
  EXPECT_THAT(taken(tuned_machine(kTuned), {4}), ElementsAre("halving_doubling"));
  ::unsetenv("KB_ALGO");
}

TEST(TunedChoice, GoesByCostBelowTheFirstSize) {
  SimulateOptions plain = machine_of(4);
  plain.collectives = file_with("plain.yaml", "defaults: {algorithm: a}\nalgorithms: {a: {module: auto}}\n");
  const std::string by_cost = taken(plain, {64}).front();
  const std::string other = by_cost == "grid_ring" ? "double_tree" : "grid_ring";
  const SimulateOptions tuned = tuned_machine("all_reduce: {4_sips: {4KiB: " + other + "_allreduce}}\n");
  EXPECT_THAT(taken(tuned, {64, 4092, 4096}), ElementsAre(by_cost, taken(plain, {4092}).front(), other));
  const auto outcome = run_ranks(tuned, 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    for (const std::int64_t elements : {16, 4096}) dist::all_reduce(torch::zeros({elements}, torch::device("ahbm")));
  });
  std::vector<std::string> reasons;
  for (const auto& launch : outcome.run.launches) {
    if (launch.device != 0 || !launch.plan) continue;
    for (const auto& choice : launch.plan->choices)
      if (choice.first == "chosen") reasons.push_back(choice.second);
  }
  EXPECT_THAT(reasons, ElementsAre("least cost", HasSubstr("best by measurement in ")));
}

TEST(TunedChoice, OfAnAlgorithmThatCannotRunIsAnError) {
  SimulateOptions options = tuned_machine(kTuned);
  options.overrides.emplace_back("pe.ipcq.queues=2");
  const auto outcome = run_ranks(options, 4, [&](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    dist::all_reduce(torch::zeros({4}, torch::device("ahbm")));
  });
  EXPECT_THAT(outcome.errors.front(), HasSubstr("for all_reduce, which cannot run on this group: a PE needs"));
  EXPECT_THAT(outcome.errors.front(), HasSubstr("measure anew"));
}

TEST(Tuning, ReadsWhatItWrites) {
  const auto& table = *distributed::shipped_algorithms();
  Tuning tuning(kTuned, "tuned.yaml", table);
  tuning.set(CollectiveOperation::broadcast, 16, true, {{0, "ring_broadcast"}, {370727, "direct_broadcast"}});
  const Tuning again(tuning.yaml(), "tuned.yaml", table);
  EXPECT_EQ(again, tuning);
  ASSERT_NE(again.sizes_of(CollectiveOperation::broadcast, 16, true), nullptr);
  EXPECT_THAT(*again.sizes_of(CollectiveOperation::broadcast, 16, true),
              ElementsAre(Pair(0, "ring_broadcast"), Pair(370727, "direct_broadcast")));
  EXPECT_EQ(again.sizes_of(CollectiveOperation::broadcast, 16, false), nullptr);
  EXPECT_EQ(again.sizes_of(CollectiveOperation::reduce, 4, false), nullptr);
}

TEST(Tuning, NamesEveryProblemWithItsPlace) {
  const auto error_of = [](const char* text) -> std::string {
    try {
      const Tuning tuning(text, "t.yaml", *distributed::shipped_algorithms());
    } catch (const ConfigurationError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("all_reduces: {4_sips: {0B: ring_allreduce}}"), HasSubstr("t.yaml:1:1: all_reduces: unknown"));
  EXPECT_THAT(error_of("all_reduce: {4_sip: {0B: ring_allreduce}}"), HasSubstr("4_sip: expected a number of ranks"));
  EXPECT_THAT(error_of("all_reduce: {4_sips: {0B: ring_broadcast}}"),
              HasSubstr("there is no algorithm \"ring_broadcast\""));
  EXPECT_THAT(error_of("all_reduce: {4_sips: {now: ring_allreduce}}"), HasSubstr("all_reduce.4_sips.now: "));
  EXPECT_THAT(error_of("all_reduce: {4_sips: {}}"), HasSubstr("expected a size and an algorithm"));
  EXPECT_EQ(error_of("all_reduce: {4_sips: {0B: ringg_allreduce}}").find('\n'), std::string::npos);
  EXPECT_EQ(error_of("all_reduce:\n  4_sips:\n    1KiB: ring_allreduce\n    1024B: direct_allreduce\n"),
            "t.yaml:4:5: all_reduce.4_sips.1024B: it is as many bytes as 1KiB in line 3; leave one out");
  EXPECT_THAT(error_of("all_reduce: {04_sips: {0B: ring_allreduce}}"), HasSubstr("expected a number of ranks"));
  EXPECT_EQ(error_of("all_reduce: {4_sips: [1]}"), "t.yaml:1:22: all_reduce.4_sips: a mapping is expected here");
  EXPECT_THAT(error_of("[1]"), HasSubstr("a mapping is expected"));
}

}  // namespace
}  // namespace kernbench::testing
