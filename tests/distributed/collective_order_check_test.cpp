#include "distributed/agreement/collective_order_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/error.h"

namespace kernbench::distributed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::distributed::ReduceOp;

CollectiveFingerprint all_reduce(std::vector<std::int64_t> shape, DType dtype = DType::f32,
                                 ReduceOp op = ReduceOp::SUM) {
  CollectiveFingerprint call;
  call.type = OpType::ALLREDUCE;
  call.has_tensor = true;
  call.shape = std::move(shape);
  call.dtype = dtype;
  call.reduce = op;
  return call;
}

CollectiveFingerprint broadcast(std::vector<std::int64_t> shape, int root) {
  CollectiveFingerprint call = all_reduce(std::move(shape));
  call.type = OpType::BROADCAST;
  call.reduce.reset();
  call.root = root;
  return call;
}

/// The verdict on these calls of ranks 0, 1, … of a group of `size`; the others have left.
std::string verdict(const std::vector<CollectiveFingerprint>& calls, int size = 3) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  CollectiveOrderCheck check(ranks);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) check.call(static_cast<int>(rank), calls[rank]);
  if (!check.conflict()) return "no error";
  const ProgramError error = check.verdict();
  return error.type() + ": " + error.what();
}
std::string error_of(const CollectiveFingerprint& right, const CollectiveFingerprint& wrong) {
  return verdict({right, wrong, right});
}

TEST(CollectiveOrderCheck, OfManySplitSizesTheFirstOnesAreShown) {
  CollectiveFingerprint call = all_reduce({6});
  call.reduce.reset();
  call.sends.assign(16, 2);
  call.receives.assign(64, 3);
  EXPECT_THAT(call.text(), HasSubstr("InputSplits=[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], "
                                     "OutputSplits=[3, 3, 3, 3, 3, 3, 3, 3, … 56 more], "));
}

TEST(CollectiveOrderCheck, NumbersTheCallsOfEachRankFromOne) {
  CollectiveOrderCheck check({0, 1});
  EXPECT_EQ(check.call(0, all_reduce({2})), 1u);
  EXPECT_EQ(check.call(0, broadcast({2}, 0)), 2u);
  EXPECT_EQ(check.call(1, all_reduce({2})), 1u);
  EXPECT_THAT(check.missing(1), ElementsAre());
  EXPECT_THAT(check.missing(2), ElementsAre(1));
  EXPECT_THAT(check.missing(3), ElementsAre(0, 1));
}

TEST(CollectiveOrderCheck, NamesAnotherOperationInTheWordsOfPyTorch) {
  EXPECT_EQ(
      verdict({all_reduce({2}), broadcast({2}, 1)}),
      "DistributedError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=1, OpType=ALLREDUCE, TensorShape=[2], TensorDtypes=Float, "
      "ReduceOp=SUM), but Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=1, "
      "OpType=BROADCAST, TensorShape=[2], TensorDtypes=Float, Root=1). Collectives differ in the following "
      "aspects: Op type: ALLREDUCE vs BROADCAST, Reduce op: SUM vs none, Root: none vs 1. No culprit: none of the "
      "calls is that of more than half of the ranks; Error type: COLLECTIVE_TYPE_MISMATCH; missing ranks: {2}");
}

TEST(CollectiveOrderCheck, NamesEveryAspectThatDiffers) {
  EXPECT_THAT(error_of(all_reduce({2, 3}), all_reduce({3, 2})),
              AllOf(HasSubstr("Tensor shapes: [2, 3] vs [3, 2]"), HasSubstr("SIZE_OR_SYNTAX_MISMATCH")));
  EXPECT_THAT(error_of(all_reduce({2}), all_reduce({2}, DType::bf16)),
              AllOf(HasSubstr("Tensor dtypes: Float vs BFloat16"), HasSubstr("COLLECTIVE_DTYPE_MISMATCH")));
  EXPECT_THAT(error_of(all_reduce({2}), all_reduce({2}, DType::f32, ReduceOp::MAX)),
              AllOf(HasSubstr("Reduce op: SUM vs MAX"), HasSubstr("SIZE_OR_SYNTAX_MISMATCH")));
  EXPECT_THAT(error_of(broadcast({2}, 0), broadcast({2}, 1)), HasSubstr("Root: 0 vs 1"));
  EXPECT_THAT(error_of(all_reduce({2}), all_reduce({3}, DType::f16)),
              AllOf(HasSubstr("Tensor shapes: [2] vs [3], Tensor dtypes: Float vs Half")));
}

TEST(CollectiveOrderCheck, FindsAPlacementThatDiffers) {
  auto first = all_reduce({4}), second = all_reduce({4});
  first.placement_hash = 1;
  first.placement = "rows over 2 PEs";
  second.placement_hash = 2;
  second.placement = "columns over 2 PEs";
  EXPECT_THAT(error_of(first, second), HasSubstr("Tensor placement: rows over 2 PEs vs columns over 2 PEs"));
}

TEST(CollectiveOrderCheck, EveryOrderOfArrivalFindsTheSame) {
  for (int odd = 0; odd < 3; ++odd) {
    std::vector<int> order{0, 1, 2};
    std::string first;
    do {
      CollectiveOrderCheck check({0, 1, 2});
      for (const int member : order) check.call(member, member == odd ? broadcast({2}, 0) : all_reduce({2}));
      ASSERT_EQ(check.conflict(), 1u);
      const std::string text = check.verdict().what();
      EXPECT_THAT(text, HasSubstr("Culprit rank " + std::to_string(odd) + "; Error type: COLLECTIVE_TYPE_MISMATCH"));
      if (first.empty()) first = text;
      EXPECT_EQ(text, first);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(CollectiveOrderCheck, IsJudgedWhenEveryMemberHasCalledOrLeft) {
  CollectiveOrderCheck check({0, 1, 2});
  EXPECT_FALSE(check.can_judge({false, false, false}));
  check.call(0, all_reduce({2}));
  check.call(0, all_reduce({4}));
  check.call(1, all_reduce({2}));
  EXPECT_EQ(check.conflict(), std::nullopt);
  check.call(1, all_reduce({5}));
  EXPECT_EQ(check.conflict(), 2u);
  EXPECT_FALSE(check.can_judge({false, false, false})) << "rank 2 may still call";
  EXPECT_TRUE(check.can_judge({false, false, true}));
  EXPECT_TRUE(check.can_judge({true, false, true}));
  check.call(2, all_reduce({3}));
  EXPECT_EQ(check.conflict(), 1u) << "the first one counts";
  EXPECT_TRUE(check.can_judge({false, false, false}));
  EXPECT_THAT(check.verdict().what(), HasSubstr("Culprit rank 2;"));
}

}  // namespace
}  // namespace kernbench::distributed
