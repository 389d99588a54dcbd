#include "every_algorithm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace kernbench::testing {

using distributed::CollectiveAlgorithm;
using distributed::CollectiveOperation;

std::vector<CollectiveAlgorithm> algorithms_of(CollectiveOperation operation) {
  std::vector<CollectiveAlgorithm> algorithms;
  for (const auto& each : distributed::collective_algorithms()) {
    if (each.operation == operation) algorithms.push_back(each);
  }
  return algorithms;
}

std::string collectives_text(const CollectiveAlgorithm& algorithm, const std::string& keys) {
  const bool reduces = algorithm.operation == CollectiveOperation::all_reduce;
  const std::string name(algorithm.name);
  const std::string module = reduces ? name : std::string(algorithms_of(CollectiveOperation::all_reduce).front().name);
  std::string own = "module: " + module;
  if (reduces) own += ", topology: " + std::string(algorithm.topology);
  if (!reduces) own += ", " + std::string(distributed::name(algorithm.operation)) + ": " + name;
  return "defaults: {algorithm: a" + (keys.empty() ? "" : ", " + keys) + "}\nalgorithms: {a: {" + own + "}}\n";
}

SimulateOptions machine_with(const CollectiveAlgorithm& algorithm, int sips, const std::string& keys) {
  static int files = 0;
  const std::string path = ::testing::TempDir() + "kernbench_algorithm_" + std::to_string(::getpid()) + "_" +
                           std::to_string(++files) + ".yaml";
  std::ofstream(path) << collectives_text(algorithm, keys);
  SimulateOptions options = machine_of(sips);
  options.collectives = path;
  options.detect_races = true;
  return options;
}

void expect_ok(const RanksResult& outcome, const std::string& title) {
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << title << ": " << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each("")) << title;
  EXPECT_THAT(outcome.run.races, ::testing::IsEmpty()) << title;
  for (const LaunchResult& launch : outcome.run.launches)
    EXPECT_LE(launch.bound, launch.end - launch.start) << title << ": " << launch.name << " by " << launch.bound_by;
}

}  // namespace kernbench::testing
