// The best word of a vocabulary that is cut over ranks, against the argmax of the whole.
#include "kernbench/tp/argmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernbench/laws.h"
#include "support.h"

namespace kernbench::tp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;

constexpr std::int64_t kWords = 64;

/// Few different numbers, so that many are the largest; some rows with a NaN, or with nothing but -infinity.
Tensor some_logits(std::int64_t rows, torch::ScalarType type, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(end)); };
  const Tensor logits = torch::empty({rows, kWords}, torch::kFloat);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t word = 0; word < kWords; ++word) logits[i][word] = torch::Scalar(below(4));
    if (below(4) == 0) logits[i].fill_(-std::numeric_limits<float>::infinity());
    if (below(4) == 0) logits[i][below(kWords)] = torch::Scalar(std::numeric_limits<float>::infinity());
    if (below(3) == 0) logits[i][below(kWords)] = torch::Scalar(std::numeric_limits<float>::quiet_NaN());
  }
  return logits.to(type);
}

Tensor words_of_rank(const Tensor& logits, int ranks, int rank) {
  return logits.chunk(ranks, -1)[static_cast<std::size_t>(rank)].contiguous().to("ahbm");
}

TEST(VocabParallelArgmax, IsThatOfTheWholeForEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8}) {
    for (const torch::ScalarType type : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
      run_sound_model(ranks, ranks, [&](int rank) {
        const Tensor logits = some_logits(24, type, 7);
        const Tensor words = vocab_parallel_argmax(words_of_rank(logits, ranks, rank));
        EXPECT_EQ(words.scalar_type(), torch::kLong);
        EXPECT_TRUE(words.cpu().equal(logits.argmax(-1))) << ranks << " ranks";
        const Tensor in_rows = vocab_parallel_argmax(words_of_rank(logits.view({4, 6, kWords}), ranks, rank));
        EXPECT_TRUE(in_rows.cpu().equal(logits.view({4, 6, kWords}).argmax(-1)));
        const Tensor of_one = vocab_parallel_argmax(words_of_rank(logits[0], ranks, rank));
        EXPECT_EQ(of_one.dim(), 0);
        EXPECT_TRUE(of_one.cpu().equal(logits[0].argmax(-1)));
      });
    }
  }
}

TEST(VocabParallelArgmax, PassesOverWhatPadsTheVocabulary) {
  for (const std::int64_t vocabulary : {1, 7, 8, 17, 63}) {  // of some ranks all words are padding
    run_sound_model(8, 8, [&](int rank) {
      const Tensor logits = some_logits(12, torch::kFloat, 3);
      const Tensor words = vocab_parallel_argmax(words_of_rank(logits, 8, rank), vocabulary);
      EXPECT_TRUE(words.cpu().equal(logits.narrow(-1, 0, vocabulary).argmax(-1))) << vocabulary;
    });
  }
}

TEST(VocabParallelArgmax, IsKnownOnEveryRankOfItsGroupAfterOneSmallGather) {
  std::vector<std::int64_t> launches(4);
  const RunResult run = run_sound_model(4, 2, [&](int rank) {
    const Tensor logits = some_logits(8, torch::kHalf, static_cast<unsigned>(11 + rank / 2));
    const Tensor part = words_of_rank(logits, 2, rank % 2);
    torch::ahbm::synchronize();
    const std::int64_t before = torch::ahbm::launches_given();
    EXPECT_TRUE(vocab_parallel_argmax(part).cpu().equal(logits.argmax(-1))) << "rank " << rank;
    launches[static_cast<std::size_t>(rank)] = torch::ahbm::launches_given() - before;
  });
  EXPECT_THAT(launches, Each(3)) << "the part's, the gather, the best of the ranks'";
}

TEST(VocabParallelArgmax, RefusesWhatItCannotTellApart) {
  const auto error_of = [](const std::function<Tensor()>& call) {
    std::string message;
    run_sound_model(2, 2, [&](int rank) {
      try {
        call();
      } catch (const ValueError& error) {
        if (rank == 0) message = error.what();
      }
    });
    return message;
  };
  EXPECT_THAT(error_of([] { return vocab_parallel_argmax(torch::zeros({2, 0}, torch::device("ahbm"))); }),
              HasSubstr("at least one word"));
  EXPECT_THAT(error_of([] { return vocab_parallel_argmax(torch::zeros({2, 4}, torch::device("ahbm")), 9); }),
              HasSubstr("vocabulary (9) must be 0 or at most the 8 words that the ranks have"));
  EXPECT_THAT(
      error_of([] {
        return vocab_parallel_argmax(torch::empty({1, (1 << 23) + 1}, torch::dtype(torch::kHalf).device("ahbm")));
      }),
      HasSubstr("16777218 words over 2 ranks are more than 16777216"));
}

}  // namespace
}  // namespace kernbench::tp
