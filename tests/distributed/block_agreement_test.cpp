// Ranks whose collectives of blocks differ: what each operation compares, who is to blame, and in what words; and what
// is refused before it begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "ranks.h"

namespace kernbench::testing::block_agreement_test {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using torch::Tensor;

Tensor x(std::int64_t n, DType dtype = DType::f32, const DPPolicy& policy = {}) {
  return torch::zeros({n}, torch::dtype(dtype).device("ahbm").placement(policy));
}
std::vector<Tensor> list(int count, std::int64_t n) {
  std::vector<Tensor> all;
  for (int i = 0; i < count; ++i) all.push_back(x(n));
  return all;
}

/// Three ranks; rank 1 calls the second one.
RanksResult differ(const std::function<void()>& most, const std::function<void()>& rank_1) {
  return run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    (rank == 1 ? rank_1 : most)();
  });
}

void expect_culprit(const RanksResult& outcome, const std::string& aspect, const std::string& state) {
  EXPECT_THAT(outcome.errors, Each(AllOf(HasSubstr("Detected mismatch between collectives on ranks"), HasSubstr(aspect),
                                         HasSubstr("Culprit rank 1;"), HasSubstr("Error type: " + state))));
}

TEST(BlockAgreement, NamesTheOperation) {
  expect_culprit(
      differ([] { dist::all_gather_into_tensor(x(12), x(4)); }, [] { dist::reduce_scatter_tensor(x(4), x(12)); }),
      "Op type: _ALLGATHER_BASE vs _REDUCE_SCATTER_BASE", "COLLECTIVE_TYPE_MISMATCH");
  expect_culprit(differ([] { dist::all_to_all_single(x(3), x(3)); }, [] { dist::all_gather(list(3, 1), x(1)); }),
                 "Op type: ALLTOALL_BASE vs ALLGATHER", "COLLECTIVE_TYPE_MISMATCH");
}

TEST(BlockAgreement, NamesShapeTypeRootReductionAndPlacement) {
  expect_culprit(
      differ([] { dist::all_gather_into_tensor(x(12), x(4)); }, [] { dist::all_gather_into_tensor(x(9), x(3)); }),
      "Tensor shapes: [4] vs [3]", "SIZE_OR_SYNTAX_MISMATCH");
  expect_culprit(differ([] { dist::all_to_all_single(x(3), x(3)); },
                        [] { dist::all_to_all_single(x(3, DType::i32), x(3, DType::i32)); }),
                 "Tensor dtypes: Float vs Int", "COLLECTIVE_DTYPE_MISMATCH");
  expect_culprit(differ([] { dist::reduce(x(4), 0); }, [] { dist::reduce(x(4), 2); }), "Root: 0 vs 2",
                 "SIZE_OR_SYNTAX_MISMATCH");
  expect_culprit(differ([] { dist::reduce_scatter_tensor(x(4), x(12)); },
                        [] { dist::reduce_scatter_tensor(x(4), x(12), dist::ReduceOp::MAX); }),
                 "Reduce op: SUM vs MAX", "SIZE_OR_SYNTAX_MISMATCH");
  expect_culprit(
      differ([] { dist::all_gather_into_tensor(x(12), x(4)); },
             [] { dist::all_gather_into_tensor(x(12, DType::f32, {.num_pes = 1}), x(4)); }),
      "Tensor placement: output balanced over 1 cube, balanced over 2 PEs of each vs output balanced over 1 cube, "
      "balanced over 1 PE of each",
      "SIZE_OR_SYNTAX_MISMATCH");
}

TEST(BlockAgreement, OfAnAllToAllIsWhatEachSendsAndTheOtherExpects) {
  // Rank 1 expects an element less of rank 0 than that sends.
  const auto outcome = differ([] { dist::all_to_all_single(x(6), x(6), {2, 2, 2}, {2, 2, 2}); },
                              [] { dist::all_to_all_single(x(5), x(6), {1, 2, 2}, {2, 2, 2}); });
  expect_culprit(outcome, "Split sizes: rank 0 sends 2 elements to rank 1, which expects 1", "SIZE_OR_SYNTAX_MISMATCH");
  EXPECT_THAT(outcome.errors[0], HasSubstr("OpType=ALLTOALL_BASE, InputSplits=[2, 2, 2], OutputSplits=[1, 2, 2], "
                                           "TensorDtypes=Float"));
}

TEST(BlockAgreement, AMissingRankIsInTheDeadlockReport) {
  const auto outcome = run_ranks(machine_of(3), 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    dist::barrier();
    if (rank == 2) return;
    const auto out = x(6);
    dist::all_to_all_single(out, x(6));
    (void)out.cpu();
  });
  EXPECT_THAT(outcome.error.type + ": " + outcome.error.message,
              AllOf(HasSubstr("ALLTOALL_BASE (sequence number 2) of the default group"), HasSubstr("rank 2")));
}

std::string refusal(const std::function<void()>& call) {
  std::string error;
  const auto outcome = run_ranks(machine_of(2), 2, [&](int rank) {
    dist::init_process_group("ahbm", rank, 2);
    try {
      call();
    } catch (const ValueError& refused) {
      error = refused.what();
    }
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  return error;
}

TEST(BlockRefusals, AreInPyTorchsWords) {
  EXPECT_THAT(refusal([] { dist::all_gather_into_tensor(x(7), x(4)); }),
              HasSubstr("output tensor size must be equal to world_size times input tensor size"));
  EXPECT_THAT(refusal([] { dist::reduce_scatter_tensor(x(4), x(7)); }),
              HasSubstr("input tensor must be the same size as output size times world size"));
  EXPECT_THAT(refusal([] { dist::all_gather_into_tensor(x(8, DType::i32), x(4)); }),
              HasSubstr("Invalid usage of tensors with different dtypes. Found Int and Float"));
  EXPECT_THAT(refusal([] { dist::all_to_all_single(x(3), x(3)); }),
              HasSubstr("Tensor's dim 0 does not divide equally across group size"));
  EXPECT_THAT(refusal([] { dist::all_to_all_single(x(3), x(3), {1, 1}, {1, 2}); }),
              HasSubstr("Split sizes doesn't match total dim 0 size"));
  EXPECT_THAT(refusal([] { dist::all_to_all_single(x(3), x(3), {3}, {3}); }),
              HasSubstr("Number of tensor splits not equal to group size"));
  EXPECT_THAT(refusal([] { dist::all_gather(list(3, 4), x(4)); }), HasSubstr("Incorrect tensor_list size 3"));
  EXPECT_THAT(refusal([] { dist::reduce(x(4), 0, dist::ReduceOp::SUM, {}, false, 1); }),
              HasSubstr("Can't specify both group_dst and dst"));
  EXPECT_THAT(refusal([] { dist::reduce(x(4), {}, dist::ReduceOp::SUM, {}, false, 2); }),
              HasSubstr("Group rank 2 is not part of the default group"));
  EXPECT_THAT(refusal([] { dist::all_gather_into_tensor(x(8).reshape({4, 2}).t(), x(4)); }),
              HasSubstr("Tensors must be contiguous"));
  EXPECT_THAT(refusal([] {
                const auto both = x(8);
                dist::all_to_all_single(both, both);
              }),
              HasSubstr("output and input share elements"));
  EXPECT_THAT(refusal([] { dist::gather(x(4), list(2, 4), 5); }), HasSubstr("Global rank 5 is not part of"));
}

TEST(BlockRoots, MayBeRanksOfTheGroup) {
  const auto outcome = run_ranks(machine_of(4), 4, [&](int rank) {
    dist::init_process_group("ahbm", rank, 4);
    const auto group = dist::new_group({1, 3});
    const auto y = torch::full({4}, static_cast<double>(rank)).to("ahbm");
    if (rank % 2 == 0) return;
    dist::broadcast(y, {}, group, false, 1);
    EXPECT_EQ(y[0].item<float>(), 3.0f);
    dist::reduce(y, {}, dist::ReduceOp::SUM, group, false, 0);
    EXPECT_EQ(y[0].item<float>(), rank == 1 ? 6.0f : 3.0f);
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(ReduceOpNames, AreThoseOfPyTorchInAnyCase) {
  EXPECT_EQ(dist::reduce_op("sum"), dist::ReduceOp::SUM);
  EXPECT_EQ(dist::reduce_op("AVG"), dist::ReduceOp::AVG);
  EXPECT_EQ(dist::reduce_op("Bxor"), dist::ReduceOp::BXOR);
  for (const char* wrong : {"", "sums", "premul_sum"}) {
    try {
      (void)dist::reduce_op(wrong);
      ADD_FAILURE() << wrong;
    } catch (const ValueError& error) {
      EXPECT_THAT(std::string(error.what()), HasSubstr("Invalid ReduceOp"));
    }
  }
}

/// Times of the launches of a run.
std::vector<std::string> times(bool data) {
  SimulateOptions options = machine_of(3);
  options.data = data;
  std::vector<std::string> found;
  const auto outcome = run_ranks(options, 3, [&](int rank) {
    dist::init_process_group("ahbm", rank, 3);
    const DPPolicy everywhere{.cube = Placement::replicate, .pe = Placement::replicate};
    dist::all_to_all_single(x(300, DType::f16, everywhere), x(300, DType::f16));
    dist::reduce_scatter_tensor(x(100), x(300));
    dist::all_gather_into_tensor(x(300), x(100));
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  for (const auto& launch : outcome.run.launches) {
    found.push_back(launch.name + " " + std::to_string(launch.start.count()) + " " +
                    std::to_string(launch.end.count()));
  }
  return found;
}

TEST(BlockTimes, AreTheSameWithoutDataAndRedistributionHasALaunchOfItsOwn) {
  const auto with = times(true);
  EXPECT_EQ(with, times(false));
  EXPECT_THAT(with, ::testing::Contains(HasSubstr("all_to_all_single: redistribute")).Times(3));
}

}  // namespace
}  // namespace kernbench::testing::block_agreement_test
