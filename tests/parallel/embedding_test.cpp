// Embeddings whose table is cut over ranks: the rows of the whole table, whatever the number of ranks.
#include "kernbench/tp/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support.h"

namespace kernbench::tp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;

constexpr std::int64_t kVocabulary = 40, kWidth = 6;

Tensor whole_table() {
  return ((torch::arange(kVocabulary * kWidth, torch::kInt) * 5).remainder(23) - 11)
      .to(torch::kFloat)
      .view({kVocabulary, kWidth});
}
EmbeddingOptions table_options() {
  return {.num_embeddings = kVocabulary, .embedding_dim = kWidth, .init_method = [](Tensor& weight) {
            weight.copy_(whole_table());
          }};
}
/// The first and last word of each part for 2, 4 and 8 ranks are among these.
Tensor words() {
  return (torch::arange(64) * 7).remainder(kVocabulary).view({4, 16});
}

TEST(VocabParallelEmbedding, IsTheRowsOfTheWholeTableForEveryNumberOfRanks) {
  for (const int ranks : {1, 2, 4, 8}) {
    for (const char* type : {"f32", "f16"}) {
      const RunResult result = run_sound_model(ranks, ranks, [&](int) {
        EmbeddingOptions options = table_options();
        options.dtype = type;
        expect_equal(VocabParallelEmbedding(options)(words().to("ahbm")), torch::embedding(whole_table(), words()));
      });
      const auto all_reduces = std::ranges::count_if(result.launches, [](const LaunchResult& launch) {
        return launch.kernel.find("allreduce") != std::string::npos;
      });
      EXPECT_EQ(all_reduces, ranks == 1 ? 0 : ranks);
    }
  }
}

TEST(VocabParallelEmbedding, HasMegatronsRanges) {
  run_sound_model(8, 4, [](int rank) {
    const VocabParallelEmbedding embedding({.num_embeddings = 1600, .embedding_dim = 1});
    EXPECT_EQ(embedding.vocab_start_index(), rank % 4 * 400);
    EXPECT_EQ(embedding.vocab_end_index(), (rank % 4 + 1) * 400);
    EXPECT_EQ(embedding.weight().size(0), 400);
  });
}

TEST(VocabParallelEmbedding, SharesTheSequenceByAReduceScatter) {
  run_sound_model(4, 4, [](int rank) {
    EmbeddingOptions options = table_options();
    options.reduce_scatter_embeddings = true;
    const Tensor expected = torch::embedding(whole_table(), words()).transpose(0, 1);
    expect_equal(VocabParallelEmbedding(options)(words().to("ahbm")),
                 expected.chunk(4, 0)[static_cast<std::size_t>(rank)]);
  });
}

TEST(VocabParallelEmbedding, ItsGradientIsTheRanksRowsOfTheWhole) {
  for (const bool shared : {false, true}) {
    run_sound_model(4, 4, [&](int rank) {
      const auto mine = static_cast<std::size_t>(rank);
      EmbeddingOptions options = table_options();
      options.reduce_scatter_embeddings = shared;
      const VocabParallelEmbedding embedding(options);
      const Forward forward = embedding.forward_saving(words().to("ahbm"));
      const Tensor whole =
          ((torch::arange(64 * kWidth, torch::kInt) * 3).remainder(7) - 3).to(torch::kFloat).view({4, 16, kWidth});
      const Tensor given = shared ? whole.transpose(0, 1).chunk(4, 0)[mine].contiguous() : whole;
      expect_equal(embedding.backward(forward.saved, given.to("ahbm")),
                   torch::embedding_dense_backward(whole, words(), kVocabulary).chunk(4, 0)[mine]);
    });
  }
}

TEST(VocabParallelEmbedding, RefusesWhatCannotBe) {
  EXPECT_THAT(run_model(4, 4, [](int) { VocabParallelEmbedding({.num_embeddings = 10, .embedding_dim = 2}); }).errors,
              Each(HasSubstr("num_embeddings (10) must be divisible by TP world size (4)")));
  EXPECT_THAT(run_model(2, 2, [](int) { VocabParallelEmbedding({.num_embeddings = 10}); }).errors,
              Each(HasSubstr("embedding_dim (0) must be at least 1")));
  EXPECT_THAT(run_model(2, 2,
                        [](int) {
                          const VocabParallelEmbedding embedding(table_options());
                          embedding(torch::full({3}, kVocabulary, torch::kLong).to("ahbm"));
                          torch::ahbm::synchronize();
                        })
                  .error.message,
              HasSubstr("index " + std::to_string(kVocabulary) + " is out of bounds for a dimension of size"));
}

TEST(VocabParallelEmbedding, TakesWholeNumbersOnly) {
  EXPECT_THAT(
      run_model(2, 2, [](int) { VocabParallelEmbedding{table_options()}(torch::zeros({3}).to("ahbm")); }).errors,
      Each(HasSubstr("VocabParallelEmbedding: the indices must be Int or Long, but are Float; convert them with "
                     ".to(torch::kLong)")));
}

TEST(VocabParallelEmbedding, SharesSequencesOfTwoDimensionsOnly) {
  const std::vector<std::vector<std::int64_t>> shapes{{}, {4}, {4, 2, 3}};
  for (const auto& shape : shapes) {
    EXPECT_THAT(run_model(2, 2,
                          [&](int) {
                            EmbeddingOptions options = table_options();
                            options.reduce_scatter_embeddings = true;
                            const VocabParallelEmbedding embedding(options);
                            embedding(torch::zeros(shape, torch::kLong).to("ahbm"));
                          })
                    .errors,
                Each(HasSubstr("with reduce_scatter_embeddings the indices must be 2-D [b, s], of which the ranks "
                               "share s, but they are " +
                               std::to_string(shape.size()) + "-D")));
  }
}

TEST(VocabParallelEmbedding, RefusesAFirstValueOfAnotherShape) {
  EXPECT_THAT(run_model(2, 2,
                        [](int) {
                          EmbeddingOptions options = table_options();
                          options.init_method = [](Tensor& weight) { weight = torch::zeros({kVocabulary, 3}); };
                          const VocabParallelEmbedding embedding(options);
                        })
                  .errors,
              Each(HasSubstr("VocabParallelEmbedding: init_method must leave the weight's shape [40, 6], but has "
                             "assigned [40, 3]")));
}

}  // namespace
}  // namespace kernbench::tp
