// The model parallel groups of a rank: who they are, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support.h"

namespace kernbench::tp {
namespace {

namespace dist = torch::distributed;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Megatron's test of the pipeline: with tensor 2 and pipeline 4 the neighbours are two ranks away.
TEST(ParallelState, KnowsTheNeighboursOfThePipeline) {
  run_sound_model(8, 0, [](int rank) {
    initialize_model_parallel(2, 4);
    EXPECT_TRUE(model_parallel_is_initialized());
    EXPECT_EQ(get_tensor_model_parallel_world_size(), 2);
    EXPECT_EQ(get_tensor_model_parallel_rank(), rank % 2);
    EXPECT_EQ(get_tensor_model_parallel_src_rank(), rank / 2 * 2);
    EXPECT_EQ(get_pipeline_model_parallel_world_size(), 4);
    EXPECT_EQ(get_pipeline_model_parallel_rank(), rank / 2);
    EXPECT_EQ(get_pipeline_model_parallel_next_rank(), (rank + 2) % 8);
    EXPECT_EQ(get_pipeline_model_parallel_prev_rank(), (rank + 6) % 8);
    EXPECT_EQ(get_pipeline_model_parallel_first_rank(), rank % 2);
    EXPECT_EQ(get_pipeline_model_parallel_last_rank(), 6 + rank % 2);
    EXPECT_EQ(is_pipeline_first_stage(), rank < 2);
    EXPECT_EQ(is_pipeline_last_stage(), rank >= 6);
    EXPECT_EQ(get_data_parallel_world_size(), 1);
    EXPECT_EQ(dist::get_world_size(get_model_parallel_group()), 8);
    EXPECT_EQ(get_context_parallel_world_size(), 1);
    EXPECT_EQ(get_context_parallel_rank(), 0);
  });
}

TEST(ParallelState, SharesExpertsWithinTheDataParallelRanks) {
  run_sound_model(8, 0, [](int rank) {
    initialize_model_parallel({.tensor_model_parallel_size = 2, .expert_model_parallel_size = 2});
    EXPECT_EQ(get_data_parallel_world_size(), 4);
    EXPECT_EQ(get_data_parallel_rank(), rank / 2);
    EXPECT_EQ(get_data_parallel_src_rank(), rank % 2);
    EXPECT_EQ(get_expert_model_parallel_world_size(), 2);
    EXPECT_EQ(get_expert_model_parallel_rank(), rank / 2 % 2);
    EXPECT_EQ(get_expert_data_parallel_world_size(), 2);
    EXPECT_EQ(get_expert_data_parallel_rank(), rank / 4);
    EXPECT_EQ(dist::get_process_group_ranks(get_expert_data_parallel_group()), (std::vector{rank % 4, rank % 4 + 4}));
  });
}

TEST(ParallelState, CanBeMadeAgainAfterItWasDestroyed) {
  run_sound_model(4, 0, [](int rank) {
    initialize_model_parallel(4);
    EXPECT_EQ(get_tensor_model_parallel_rank(), rank);
    destroy_model_parallel();
    EXPECT_FALSE(model_parallel_is_initialized());
    destroy_model_parallel();
    initialize_model_parallel(2);
    EXPECT_EQ(get_tensor_model_parallel_rank(), rank % 2);
    EXPECT_EQ(get_data_parallel_rank(), rank / 2);
  });
}

// With the default group all groups have gone: nothing is left to be destroyed but what the rank remembers.
TEST(ParallelState, EndsAlsoAfterTheDefaultGroup) {
  for (const bool at_once : {true, false}) {
    run_sound_model(2, 2, [&](int rank) {
      dist::destroy_process_group();
      if (at_once) destroy_model_parallel();
      EXPECT_EQ(model_parallel_is_initialized(), !at_once);
      dist::init_process_group("ahbm", rank, 2);
      if (!at_once) destroy_model_parallel();
      EXPECT_FALSE(model_parallel_is_initialized());
      initialize_model_parallel(2);
      EXPECT_EQ(get_tensor_model_parallel_rank(), rank);
      destroy_model_parallel();
      EXPECT_EQ(dist::get_world_size(), 2) << "the default group stays";
    });
  }
}

TEST(ParallelState, OfOtherSizesOnOtherRanksNamesTheirLines) {
  const auto result = run_model(4, 0, [](int rank) { initialize_model_parallel(rank == 0 ? 4 : 2); });
  EXPECT_THAT(result.error.message + result.errors.front(),
              AllOf(HasSubstr("Detected mismatch between calls of new_group"), HasSubstr("parallel_state_test.cpp:"),
                    ::testing::Not(HasSubstr("parallel_state.cpp"))));
}

TEST(ParallelState, IsAskedForOnlyWhenItIsThere) {
  EXPECT_THAT(run_model(2, 0, [](int) { get_tensor_model_parallel_rank(); }).errors,
              Each(AllOf(HasSubstr("get_tensor_model_parallel_rank: model parallel groups are not initialized"),
                         HasSubstr("call tp::initialize_model_parallel"))));
  EXPECT_THAT(run_model(2, 0,
                        [](int) {
                          initialize_model_parallel(2);
                          initialize_model_parallel(2);
                        })
                  .errors,
              Each(HasSubstr("already initialized")));
  const auto before = testing::run_ranks(testing::machine_of(1), 1, [](int) { initialize_model_parallel(1); });
  EXPECT_THAT(before.errors, Each(HasSubstr("call torch::distributed::init_process_group first")));
}

TEST(ParallelState, RefusesSizesThatCannotBe) {
  EXPECT_THAT(run_model(2, 0, [](int) { initialize_model_parallel(3); }).errors,
              Each(HasSubstr("world_size (2) is not divisible by 3 (tensor times pipeline model parallel size)")));
  EXPECT_THAT(run_model(2, 0, [](int) { initialize_model_parallel(0); }).errors,
              Each(HasSubstr("tensor_model_parallel_size must be at least 1, got 0")));
  EXPECT_THAT(run_model(2, 0, [](int) { initialize_model_parallel({.context_parallel_size = 2}); }).errors,
              Each(HasSubstr("a context_parallel_size of 2 is not supported")));
  EXPECT_THAT(run_model(2, 0, [](int) { initialize_model_parallel({.expert_model_parallel_size = 4}); }).errors,
              Each(HasSubstr("not divisible by 4 (tensor times pipeline times expert size)")));
  EXPECT_THAT(
      run_model(2, 0, [](int) { initialize_model_parallel({.tensor_model_parallel_size = 2, .order = "dp-pp"}); })
          .errors,
      Each(HasSubstr("the size of (tp) is (2)")));
}

}  // namespace
}  // namespace kernbench::tp
