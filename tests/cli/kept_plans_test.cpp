// Runs of the program that find the plans of runs before.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/process.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json result_of(const std::string& cache, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"/usr/bin/env", "XDG_CACHE_HOME=" + cache, KERNBENCH_PROGRAM, "run", "gemm", "-t", "tiny",
                             "-p", "M=96", "-p", "N=80", "-p", "K=72", "-q", "--json", "-"});
  const Finished finished = run(more);
  EXPECT_EQ(finished.code, 0) << finished.err;
  Json result = Json::parse(finished.out);
  result.erase("wall_time_s");
  return result;
}

std::size_t plans_in(const std::string& cache) {
  std::size_t count = 0;
  std::error_code none;
  for (fs::directory_iterator at(cache + "/kernbench/plans", none), end; !none && at != end; at.increment(none))
    ++count;
  return count;
}

TEST(KeptPlans, ChangeNothingOfAResultAndAreMadeOnce) {
  const TemporaryDirectory directory;
  const std::string cache = directory.path("cache");
  const Json without = result_of(cache, {"--no-cache"});
  EXPECT_EQ(plans_in(cache), 0u);
  EXPECT_EQ(result_of(cache), without);
  EXPECT_EQ(plans_in(cache), 1u);
  EXPECT_EQ(result_of(cache), without);
  EXPECT_EQ(plans_in(cache), 1u);
  result_of(cache, {"--set", "pe.clock=2GHz"});
  EXPECT_EQ(plans_in(cache), 2u) << "another machine";
  EXPECT_EQ(result_of(cache, {"--quick-plans"})["switches"]["quick_plans"], "true");
  EXPECT_EQ(plans_in(cache), 3u) << "chosen in another way";
}

}  // namespace
}  // namespace kernbench::cli
