// What the largest programs take of the host's memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "process.h"
#include "support/all_cases.h"

namespace kernbench::cli {
namespace {

// A quarter of the layers, but in the slow tests, has a quarter of the room.
TEST(FootprintTest, AllWeightsOfGpt3TakeLessThanAGibibyteOfTheHost) {
  if (KERNBENCH_SANITIZED) GTEST_SKIP() << "not under sanitizers: their own memory would be measured";
  const std::int64_t layers = takes_all_cases() ? 96 : 24;
  const Finished run = cli::run({KERNBENCH_PROGRAM, "run", "gpt3_weights", "-p", "layers=" + std::to_string(layers),
                                 "--topology", "ahbm-1sip", "--no-data", "-q", "--json", "-"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto result = nlohmann::json::parse(run.out);
  const auto metric = [&](const char* name) { return result.at("metrics").at(name).at("value").get<double>(); };
  // A layer: four matrices of 12 hidden^2, biases of 9 hidden, norms of 4 hidden.
  constexpr std::int64_t kHidden = 12288;
  constexpr auto parameters_of = [](std::int64_t of_layers) {
    return of_layers * (12 * kHidden * kHidden + 13 * kHidden) + (50257 + 2048) * kHidden + 2 * kHidden;
  };
  static_assert(parameters_of(96) == 174'604'259'328);
  const auto parameters = static_cast<double>(parameters_of(layers));
  EXPECT_EQ(metric("parameters"), parameters);
  EXPECT_EQ(metric("bytes requested"), 2 * parameters);
  EXPECT_GE(metric("bytes allocated"), 2 * parameters);
  // Shards take whole pages, of 64 KiB as shipped: the small ones of biases and norms a page each.
  EXPECT_LT(metric("bytes allocated"), 2.04 * parameters);
  EXPECT_EQ(metric("tensors"), static_cast<double>(layers * 12 + 4));
  EXPECT_EQ(metric("shards"), 128 * metric("tensors"));
  EXPECT_LT(metric("largest slice use"), metric("slice capacity"));
  EXPECT_EQ(metric("bytes left"), 0);
  EXPECT_GT(run.peak_memory, std::int64_t{1} << 20);
  EXPECT_LT(run.peak_memory, (std::int64_t{1} << 30) / 96 * layers);
  RecordProperty("peak_memory", std::to_string(run.peak_memory));
}

}  // namespace
}  // namespace kernbench::cli
