// Tensors between the ranks of a tensor parallel group: the facts of Megatron-LM's own tests, world 8, tensor 4.
#include "kernbench/tp/mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support.h"

namespace kernbench::tp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;

constexpr int kWorld = 8, kTensor = 4;

void on_ranks(const std::function<void(int)>& body) {
  run_sound_model(kWorld, kTensor, body);
}

Tensor on_device(const Tensor& host) {
  return host.to("ahbm");
}
Tensor all(std::vector<std::int64_t> shape, float value) {
  return on_device(torch::full(shape, value));
}
/// Rows (or columns) 0 to 3 or 4 to 7: the numbers of the ranks of the caller's group.
Tensor ranks_of_group(int rank) {
  return torch::arange(rank / kTensor * kTensor, rank / kTensor * kTensor + kTensor, torch::kFloat);
}

TEST(Mappings, ReduceSumsWithinTheGroup) {
  on_ranks([](int rank) {
    const float sum = rank < kTensor ? 6 : 22;
    expect_equal(reduce_from_tensor_model_parallel_region(all({3}, static_cast<float>(rank))), torch::full({3}, sum));
    expect_equal(copy_to_tensor_model_parallel_region_backward(all({3}, static_cast<float>(rank))),
                 torch::full({3}, sum));
    const Tensor x = all({3}, 5);
    EXPECT_TRUE(copy_to_tensor_model_parallel_region(x).is_same(x));
    EXPECT_TRUE(reduce_from_tensor_model_parallel_region_backward(x).is_same(x));
  });
}

TEST(Mappings, ReduceChangesAContiguousInput) {
  on_ranks([](int rank) {
    const Tensor x = all({2, 4}, static_cast<float>(rank)), view = x.t();
    reduce_from_tensor_model_parallel_region(view);
    expect_equal(x, torch::full({2, 4}, static_cast<float>(rank)));
    reduce_from_tensor_model_parallel_region(x);
    expect_equal(x, torch::full({2, 4}, rank < kTensor ? 6.0F : 22.0F));
  });
}

TEST(Mappings, ScatterKeepsTheOwnColumnAndGatherBringsAllBack) {
  on_ranks([](int rank) {
    const Tensor rows = torch::arange(kTensor, torch::kFloat).expand({8, kTensor}).contiguous();  // row: 0 1 2 3
    const Tensor own = torch::full({8, 1}, static_cast<float>(rank % kTensor));
    expect_equal(scatter_to_tensor_model_parallel_region(on_device(rows)), own);
    expect_equal(gather_from_tensor_model_parallel_region_backward(on_device(rows)), own);
    const Tensor mine = all({8, 1}, static_cast<float>(rank));
    const Tensor gathered = ranks_of_group(rank).expand({8, kTensor}).contiguous();
    expect_equal(gather_from_tensor_model_parallel_region(mine), gathered);
    expect_equal(scatter_to_tensor_model_parallel_region_backward(mine), gathered);
  });
}

TEST(Mappings, SequencesAreSharedAlongTheFirstDimension) {
  on_ranks([](int rank) {
    const Tensor column = torch::arange(kTensor, torch::kFloat).view({kTensor, 1}).expand({kTensor, 8}).contiguous();
    const Tensor own = torch::full({1, 8}, static_cast<float>(rank % kTensor));
    expect_equal(scatter_to_sequence_parallel_region(on_device(column)), own);
    const Tensor mine = all({1, 8}, static_cast<float>(rank));
    const Tensor gathered = ranks_of_group(rank).view({kTensor, 1}).expand({kTensor, 8}).contiguous();
    expect_equal(gather_from_sequence_parallel_region(mine), gathered);
    expect_equal(scatter_to_sequence_parallel_region_backward(mine), gathered);
    expect_equal(reduce_scatter_to_sequence_parallel_region_backward(mine), gathered);
    const Tensor sum = torch::full({1, 8}, static_cast<float>(kTensor * (rank % kTensor)));
    expect_equal(reduce_scatter_to_sequence_parallel_region(on_device(column)), sum);
    expect_equal(gather_from_sequence_parallel_region_backward(on_device(column)), sum);
  });
}

TEST(Mappings, AllToAllTransposesRanksAndBlocks) {
  on_ranks([](int rank) {
    const Tensor blocks =
        torch::arange(kTensor, torch::kFloat).view({kTensor, 1}).expand({kTensor, 6}).contiguous() + 10 * rank;
    const Tensor expected = ranks_of_group(rank).view({kTensor, 1}).expand({kTensor, 6}).contiguous() * 10 +
                            static_cast<float>(rank % kTensor);
    expect_equal(all_to_all(on_device(blocks)), expected);
  });
}

TEST(Mappings, AGroupMayBeGivenAndOneRankAloneChangesNothing) {
  on_ranks([](int rank) {
    const Tensor x = all({2, 4}, static_cast<float>(rank));
    const auto alone = get_pipeline_model_parallel_group();
    for (const auto function : {copy_to_tensor_model_parallel_region, reduce_from_tensor_model_parallel_region,
                                scatter_to_tensor_model_parallel_region, gather_from_tensor_model_parallel_region,
                                scatter_to_sequence_parallel_region, gather_from_sequence_parallel_region,
                                reduce_scatter_to_sequence_parallel_region, all_to_all}) {
      EXPECT_TRUE(function(x, alone, Where::current()).is_same(x));
    }
    expect_equal(reduce_from_tensor_model_parallel_region(x, get_data_parallel_group()),
                 torch::full({2, 4}, static_cast<float>(2 * (rank % kTensor) + kTensor)));
  });
}

TEST(Mappings, RefuseWhatTheGroupDoesNotDivide) {
  EXPECT_THAT(run_model(kWorld, kTensor, [](int) { scatter_to_tensor_model_parallel_region(all({4, 6}, 0)); }).errors,
              Each(HasSubstr("Last dimension of the tensor (6) should be divisible by tensor parallel size (4)")));
  EXPECT_THAT(
      run_model(kWorld, kTensor, [](int) { reduce_scatter_to_sequence_parallel_region(all({6, 4}, 0)); }).errors,
      Each(HasSubstr("First dimension of the tensor (6) should be divisible by tensor parallel size (4)")));
}

TEST(Primitives, CutTensorsAndVocabularies) {
  on_ranks([](int rank) {
    const Tensor x = torch::arange(24, torch::kFloat).view({2, 12});
    const auto parts = split_tensor_along_last_dim(x, 3);
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_TRUE(torch::equal(parts[1], x.narrow(1, 4, 4)));
    EXPECT_TRUE(parts[1].is_alias_of(x));
    EXPECT_TRUE(split_tensor_along_last_dim(x, 3, true)[1].is_contiguous());
    const Tensor chunk = split_tensor_into_1d_equal_chunks(on_device(x));
    expect_equal(chunk, torch::arange(24, torch::kFloat).narrow(0, 6 * (rank % kTensor), 6));
    expect_equal(gather_split_1d_tensor(chunk), torch::arange(24, torch::kFloat));
    EXPECT_EQ(VocabUtility::vocab_range_from_global_vocab_size(1600, rank % kTensor, kTensor),
              (std::pair<std::int64_t, std::int64_t>(400 * (rank % kTensor), 400 * (rank % kTensor) + 400)));
    EXPECT_THROW(divide(7, 2), ValueError);
  });
}

}  // namespace
}  // namespace kernbench::tp
