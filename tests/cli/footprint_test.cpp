// What the largest programs take of the host's memory.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "process.h"

namespace kernbench::cli {
namespace {

TEST(FootprintTest, AllWeightsOfGpt3TakeLessThanAGibibyteOfTheHost) {
  if (KERNBENCH_SANITIZED) GTEST_SKIP() << "not under sanitizers: their own memory would be measured";
  const Finished run =
      cli::run({KERNBENCH_PROGRAM, "run", "gpt3_weights", "--topology", "ahbm-1sip", "--no-data", "-q", "--json", "-"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto result = nlohmann::json::parse(run.out);
  const auto metric = [&](const char* name) { return result.at("metrics").at(name).at("value").get<double>(); };
  // A layer: four matrices of 12 hidden^2, biases of 9 hidden, norms of 4 hidden.
  constexpr std::int64_t kHidden = 12288;
  constexpr std::int64_t kParameters =
      96 * (12 * kHidden * kHidden + 13 * kHidden) + (50257 + 2048) * kHidden + 2 * kHidden;
  static_assert(kParameters == 174'604'259'328);
  EXPECT_EQ(metric("parameters"), kParameters);
  EXPECT_EQ(metric("bytes requested"), 2 * kParameters);
  EXPECT_GE(metric("bytes allocated"), 2 * kParameters);
  // Shards take whole pages, of 64 KiB as shipped: the small ones of biases and norms a page each.
  EXPECT_LT(metric("bytes allocated"), 2.04 * kParameters);
  EXPECT_EQ(metric("tensors"), 96 * 12 + 4);
  EXPECT_EQ(metric("shards"), 128 * metric("tensors"));
  EXPECT_LT(metric("largest slice use"), metric("slice capacity"));
  EXPECT_EQ(metric("bytes left"), 0);
  EXPECT_GT(run.peak_memory, std::int64_t{1} << 20);
  EXPECT_LT(run.peak_memory, std::int64_t{1} << 30);
  RecordProperty("peak_memory", std::to_string(run.peak_memory));
}

}  // namespace
}  // namespace kernbench::cli
