// The loss over a vocabulary that is cut over ranks, against double.
#include "kernbench/tp/cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support.h"

namespace kernbench::tp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;

constexpr std::int64_t kPositions = 10, kClasses = 48;

/// Of both signs, with an exponent that overflows without the largest taken away.
Tensor some_logits(torch::ScalarType type) {
  return ((torch::arange(kPositions * kClasses, torch::kInt) * 37).remainder(101).to(torch::kFloat) * 0.125 + 90)
      .view({2, kPositions / 2, kClasses})
      .to(type);
}
/// The first and last class of each part for 2, 4 and 8 ranks are among these.
Tensor some_targets() {
  return torch::tensor({0, 5, 6, 11, 12, 23, 24, 41, 42, 47}).view({2, kPositions / 2});
}
/// -log softmax at the targets, in double.
Tensor losses_in_double(const Tensor& logits) {
  return -logits.to(torch::kDouble).log_softmax(-1).gather(-1, some_targets().unsqueeze(-1)).squeeze(-1);
}
std::vector<double> doubles(const Tensor& tensor) {
  const Tensor host = tensor.cpu().to(torch::kDouble).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}
void expect_close(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}
Tensor part_of_rank(const Tensor& logits, int ranks, int rank) {
  return logits.chunk(ranks, -1)[static_cast<std::size_t>(rank)].contiguous().to("ahbm");
}

TEST(VocabParallelCrossEntropy, IsThatOfTheWholeForEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8}) {
    for (const torch::ScalarType type : {torch::kFloat, torch::kHalf}) {
      std::vector<std::vector<double>> losses(static_cast<std::size_t>(ranks));
      const RunResult result = run_sound_model(ranks, ranks, [&](int rank) {
        const Tensor loss =
            vocab_parallel_cross_entropy(part_of_rank(some_logits(type), ranks, rank), some_targets().to("ahbm"));
        EXPECT_EQ(loss.scalar_type(), torch::kFloat);
        losses[static_cast<std::size_t>(rank)] = doubles(loss);
        expect_close(doubles(loss), doubles(losses_in_double(some_logits(type))), 1e-5);
      });
      EXPECT_THAT(losses, Each(losses[0])) << "the same bits on each rank";
      const auto all_reduces = std::ranges::count_if(result.launches, [](const LaunchResult& launch) {
        return launch.kernel.find("allreduce") != std::string::npos;
      });
      EXPECT_EQ(all_reduces, ranks == 1 ? 0 : 3 * ranks);
    }
  }
}

TEST(VocabParallelCrossEntropy, ItsGradientIsThatOfTheWhole) {
  for (const int ranks : {1, 4}) {
    for (const torch::ScalarType type : {torch::kFloat, torch::kHalf}) {
      run_sound_model(ranks, ranks, [&](int rank) {
        const Tensor grad = torch::arange(1, kPositions + 1, torch::kFloat).view({2, kPositions / 2});
        const Forward forward = vocab_parallel_cross_entropy_forward(part_of_rank(some_logits(type), ranks, rank),
                                                                     some_targets().to("ahbm"));
        const Tensor mine = vocab_parallel_cross_entropy_backward(forward.saved, grad.to("ahbm"));
        EXPECT_EQ(mine.scalar_type(), type);
        const Tensor hit = (some_targets().unsqueeze(-1) == torch::arange(kClasses)).to(torch::kDouble);
        const Tensor whole = (some_logits(type).to(torch::kDouble).softmax(-1) - hit) * grad.unsqueeze(-1);
        expect_close(doubles(mine), doubles(whole.chunk(ranks, -1)[static_cast<std::size_t>(rank)]),
                     type == torch::kHalf ? 5e-3 : 2e-5);
      });
    }
  }
}

TEST(VocabParallelCrossEntropy, RefusesOtherShapesAndTypes) {
  const auto error_of = [](torch::IntArrayRef shape, torch::ScalarType type) {
    const std::vector<std::int64_t> sizes = shape.vec();
    return run_model(1, 1,
                     [&](int) {
                       vocab_parallel_cross_entropy(some_logits(torch::kFloat).to("ahbm"),
                                                    torch::zeros(sizes, type).to("ahbm"));
                     })
        .errors;
  };
  EXPECT_THAT(
      error_of({kPositions}, torch::kLong),
      Each(HasSubstr("the target must have the shape of the logits, at least 2-D, without their last dimension, but "
                     "it is [10] and the logits are [2, 5, 48]")));
  EXPECT_THAT(error_of({2, kPositions / 2}, torch::kFloat), Each(HasSubstr("must be Int or Long")));
}

TEST(VocabParallelCrossEntropy, RefusesPartsOfUnequalWidth) {
  const auto unequal = [](const std::function<void(const Tensor& logits)>& call) {
    return run_model(2, 2, [&](int rank) { call(torch::ones({3, 4 - rank}).to("ahbm")); }).errors;
  };
  const auto lose = [](const Tensor& logits) {
    vocab_parallel_cross_entropy(logits, torch::zeros({3}, torch::kLong).to("ahbm"));
    torch::ahbm::synchronize();
  };
  const auto choose = [](const Tensor& logits) {
    vocab_parallel_argmax(logits);
    torch::ahbm::synchronize();
  };
  EXPECT_THAT(unequal(lose), Each(HasSubstr("Arguments: vocab_parallel_cross_entropy of 4 words on each rank vs "
                                            "vocab_parallel_cross_entropy of 3 words on each rank")));
  EXPECT_THAT(unequal(choose), Each(HasSubstr("Arguments: vocab_parallel_argmax of 4 words on each rank vs "
                                              "vocab_parallel_argmax of 3 words on each rank")));
}

TEST(VocabParallelCrossEntropy, RefusesTargetsThatAreNoClass) {
  for (const std::int64_t target : {std::int64_t{-100}, std::int64_t{-1}, kClasses, std::int64_t{123456}}) {
    for (const torch::ScalarType type : {torch::kLong, torch::kInt}) {
      const auto lose = [&](int ranks, const char* device) {
        return run_model(ranks, ranks, [&](int rank) {
          const Tensor logits = part_of_rank(some_logits(torch::kFloat), ranks, rank).to(device);
          const Tensor targets = some_targets().clone();
          targets[1].fill_(target);
          vocab_parallel_cross_entropy(logits, targets.to(type).to(device)).cpu();
        });
      };
      EXPECT_THAT(lose(1, "cpu").errors,
                  Each(HasSubstr("index " + std::to_string(target) + " is out of range of a table of 48 rows")));
      EXPECT_THAT(lose(4, "ahbm").error.message,
                  HasSubstr("index " + std::to_string(target) + " is out of bounds for a dimension of size 48"));
    }
  }
}

}  // namespace
}  // namespace kernbench::tp
