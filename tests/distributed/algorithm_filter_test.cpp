// KB_ALGO: how it is read, what it leaves, and what comes before it.
#include "distributed/algorithm_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "ranks.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using namespace distributed;
using ::testing::HasSubstr;

/// The algorithm of all-reduces that the text leaves a group of so many ranks whose file says `module`.
std::string left_by_filter(const std::string& text, int ranks = 4, const std::string& module = "ring_allreduce") {
  const topology::Topology machine;
  AlgorithmSpec spec;
  spec.module = module;
  spec.topology = std::string(find_collective_algorithm(CollectiveOperation::all_reduce, module).topology);
  return AlgorithmFilter(text).applied_to({ranks, false, spec, machine}).module;
}

TEST(AlgorithmFilter, FamiliesAreNamesWithoutTheOperation) {
  std::vector<std::string> families;
  for (const auto& each : collective_algorithms()) families.emplace_back(family_of(each));
  EXPECT_THAT(families, ::testing::ElementsAre(
                            "ring", "direct", "grid_ring", "halving_doubling", "double_tree", "bidirectional_ring",
                            "bidirectional_grid", "multi_ring", "hierarchical", "ring", "bidirectional_ring", "direct",
                            "ring", "bidirectional_ring", "bidirectional_grid", "dissemination",
                            "bidirectional_dissemination", "tree", "direct", "ring", "bidirectional_ring", "direct",
                            "pat", "ring", "bidirectional_ring", "direct", "pat", "bruck", "ring", "bidirectional_ring",
                            "direct", "direct", "direct", "pairwise", "bruck", "intercube"));
}

TEST(AlgorithmFilter, LeavesWhatTheTextSays) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"tree", "double_tree_allreduce"},
      {"allreduce:tree;broadcast:ring", "double_tree_allreduce"},
      {" all_reduce : direct ; broadcast:ring", "direct_allreduce"},
      {"AllReduce:Halving_Doubling", "halving_doubling_allreduce"},
      {"grid_ring_allreduce", "grid_ring_allreduce"},
      {"tree,ring", "ring_allreduce"},  // the file's own is allowed
      {"^ring", "direct_allreduce"},    // else the first of the table
      {"^ring,direct,grid_ring", "halving_doubling_allreduce"},
      {"allreduce:^ring", "direct_allreduce"},
      {"broadcast:ring", "ring_allreduce"},
      {"tree;allreduce:direct", "direct_allreduce"},  // what names the operation decides
      {"allreduce:direct;ring", "direct_allreduce"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(left_by_filter(text), expected) << text;
  EXPECT_EQ(left_by_filter("ring", 4, "direct_allreduce"), "ring_allreduce");
}

TEST(AlgorithmFilter, TakesTheFirstThatCanRunOnTheGroup) {
  const int many = 1 + 1000;  // more than a PE has channels for
  EXPECT_EQ(left_by_filter("direct,ring", many, "double_tree_allreduce"), "ring_allreduce");
  EXPECT_EQ(left_by_filter("direct", many), "direct_allreduce") << "which init_process_group refuses with the reason";
}

TEST(AlgorithmFilter, RefusesWhatLeavesNothingOrDoesNotExist) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "has an empty choice"},
      {"allreduce:", "has an empty choice"},
      {"ring,,tree", "has an empty choice"},
      {"^", "has an empty choice"},
      {"allreduce:tree;", "has an empty choice"},
      {"gather:^direct", "leaves no algorithm"},
      {"^ring,direct,grid_ring,halving_doubling,tree,bidirectional_ring,bidirectional_grid,multi_ring,hierarchical,"
       "pairwise,bruck,pat,intercube,dissemination,bidirectional_dissemination",
       "leaves no algorithm"},
      {"allreduce:nvls", "there is no algorithm \"nvls\" for all_reduce (known: ring_allreduce,"},
      {"broadcast:tree", "there is no algorithm \"tree\" for broadcast"},
      {"collnet", "there is no algorithm \"collnet\" for any operation"},
      {"allredux:ring", "there is no operation \"allredux\" (known: all_reduce,"},
      {"allreduce:ring;all_reduce:tree", "all_reduce has two choices"},
      {"ring;tree", "is a second choice for all"},
  };
  for (const auto& [text, expected] : cases) {
    try {
      const AlgorithmFilter filter(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const ConfigurationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("KB_ALGO: ")) << text;
      EXPECT_THAT(error.what(), HasSubstr(expected)) << text;
    }
  }
}

TEST(AlgorithmFilter, NarrowsAutomaticChoicesOperationByOperation) {
  const topology::Topology machine;
  AlgorithmSpec spec;
  spec.module = spec.broadcast = spec.reduce = std::string(kAutomatic);
  const GroupDescription group{4, false, spec, machine};
  const auto candidates = [&](const char* text) { return AlgorithmFilter(text).applied_to(group).candidates; };
  using ::testing::ElementsAre;
  EXPECT_THAT(candidates("broadcast:direct;allreduce:tree,ring"),
              ElementsAre("ring_allreduce", "double_tree_allreduce", "direct_broadcast"));
  EXPECT_THAT(candidates("^direct,grid_ring,bidirectional_grid,tree"),
              ElementsAre("ring_allreduce", "halving_doubling_allreduce", "bidirectional_ring_allreduce",
                          "multi_ring_allreduce", "hierarchical_allreduce", "ring_broadcast",
                          "bidirectional_ring_broadcast", "ring_reduce", "bidirectional_ring_reduce"));
}

/// The variable of the environment while it lives.
class Variable {
 public:
  explicit Variable(const char* text) { ::setenv("KB_ALGO", text, 1); }
  ~Variable() { ::unsetenv("KB_ALGO"); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
};

/// The kernels of an all-reduce of ones over four ranks, whose sums are checked; or the error of rank 0.
std::string kernel_of_all_reduce(const dist::InitOptions& options) {
  constexpr int kRanks = 4;
  const auto outcome = run_ranks(machine_of(kRanks), kRanks, [&](int rank) {
    dist::init_process_group("ahbm", rank, kRanks, options);
    const torch::Tensor x = torch::ones({100}).to("ahbm");
    dist::all_reduce(x);
    const torch::Tensor back = x.cpu();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(back.data_ptr<float>()[i], 4.0F);
  });
  if (!outcome.errors.front().empty()) return outcome.errors.front();
  std::string kernels;
  for (const auto& launch : outcome.run.launches) {
    if (kernels.find(launch.kernel) == std::string::npos) kernels += launch.kernel;
  }
  return kernels;
}

TEST(AlgorithmFilter, ComesBehindTheProgramsChoiceAndBeforeTheFiles) {
  EXPECT_EQ(kernel_of_all_reduce({}), "direct_allreduce") << "of the shipped file, which chooses by cost";
  const Variable variable("allreduce:tree;broadcast:ring");
  EXPECT_EQ(kernel_of_all_reduce({}), "double_tree_allreduce");
  EXPECT_EQ(kernel_of_all_reduce({.algorithm = "direct_allreduce"}), "direct_allreduce");
}

TEST(AlgorithmFilter, StandsAmongTheSwitchesOfAResult) {
  const auto switches = [] { return run_ranks(machine_of(1), 1, [](int) {}).run.switches; };
  EXPECT_FALSE(switches().contains("KB_ALGO"));
  const Variable variable("allreduce:tree");
  EXPECT_EQ(switches().at("KB_ALGO"), "allreduce:tree");
}

TEST(AlgorithmFilter, IsAnErrorOfTheProgramThatUsesIt) {
  const Variable variable("allreduce:nothing");
  EXPECT_THAT(kernel_of_all_reduce({}), HasSubstr("ConfigurationError: KB_ALGO: there is no algorithm \"nothing\""));
  EXPECT_EQ(kernel_of_all_reduce({.algorithm = "ring_allreduce"}), "ring_allreduce");
}

}  // namespace
}  // namespace kernbench::testing
