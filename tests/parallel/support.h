// Ranks of a model in a test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "kernbench/tp.h"
#include "tests/distributed/ranks.h"

namespace kernbench::tp {

/// Runs `body` on so many ranks, in tensor parallel groups of `tensor` of them; 0: without any.
inline testing::RanksResult run_model(int ranks, int tensor, const std::function<void(int rank)>& body) {
  SimulateOptions options = testing::machine_of(ranks);
  options.quick_plans = true;
  return testing::run_ranks(options, ranks, [&](int rank) {
    torch::distributed::init_process_group("ahbm", rank, ranks);
    if (tensor > 0) initialize_model_parallel(tensor);
    body(rank);
  });
}

/// The same, without an error on any rank.
inline RunResult run_sound_model(int ranks, int tensor, const std::function<void(int rank)>& body) {
  const auto result = run_model(ranks, tensor, body);
  EXPECT_THAT(result.errors, ::testing::Each(::testing::IsEmpty())) << ranks << " ranks";
  EXPECT_EQ(result.error.message, "");
  return result.run;
}

/// Whole numbers from -3 to 3: products and sums of them are exact.
inline torch::Tensor whole_numbers(std::vector<std::int64_t> shape, std::int64_t step) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return ((torch::arange(elements, torch::kInt) * step).remainder(7) - 3).to(torch::kFloat).view(shape);
}

/// Shape and elements, on the calling rank.
inline void expect_equal(const torch::Tensor& device, const torch::Tensor& host) {
  ASSERT_EQ(std::vector(device.sizes().begin(), device.sizes().end()),
            std::vector(host.sizes().begin(), host.sizes().end()));
  EXPECT_TRUE(torch::equal(device.cpu().to(torch::kFloat), host)) << "rank " << torch::distributed::get_rank();
}

}  // namespace kernbench::tp
