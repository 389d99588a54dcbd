// Collectives of host objects, subgroups, and collectives of several tensors.
#include "kernbench/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernbench/kernbench.h"
#include "kernbench/subgroups.h"
#include "ranks.h"

namespace kernbench::testing::objects {
namespace {

namespace dist = torch::distributed;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

/// Of other lengths on each rank, with any bytes; one is empty.
std::string object_of(int rank) {
  return rank == 1 ? std::string() : std::string(static_cast<std::size_t>(3 * rank + 1), static_cast<char>(200 + rank));
}

struct Outcome {
  std::vector<std::string> errors;
  Time end;
};

Outcome run(int ranks, bool data, const std::function<void(int rank)>& body, int sips = 0) {
  SimulateOptions options = machine_of(sips == 0 ? ranks : sips);
  options.data = data;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    body(rank);
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  return {outcome.errors, outcome.run.simulated_time};
}

void all_forms(int rank, int ranks) {
  Strings wanted;
  for (int each = 0; each < ranks; ++each) wanted.push_back(object_of(each));
  for (int again = 0; again < 2; ++again) {
    Strings all(static_cast<std::size_t>(ranks));
    dist::all_gather_object(all, object_of(rank));
    EXPECT_EQ(all, wanted) << "rank " << rank << " of " << ranks;
  }
  const int root = ranks - 1;
  Strings gathered(7);
  dist::gather_object(object_of(rank), rank == root ? &gathered : nullptr, root);
  if (rank == root) {
    EXPECT_EQ(gathered, wanted);
  }
  Strings list = rank == root ? Strings{"weights", "", std::string(5000, 'x')} : Strings(3);
  dist::broadcast_object_list(list, root);
  EXPECT_THAT(list, ElementsAre("weights", "", std::string(5000, 'x')));
  Strings mine{"before", "stays"};
  dist::scatter_object_list(mine, rank == root ? wanted : Strings(), root);
  EXPECT_THAT(mine, ElementsAre(object_of(rank), "stays"));
}

TEST(Objects, ArriveWithAndWithoutDataInTheSameTime) {
  for (const int ranks : {1, 2, 3, 5}) {
    const Outcome with = run(ranks, true, [&](int rank) { all_forms(rank, ranks); });
    const Outcome without = run(ranks, false, [&](int rank) { all_forms(rank, ranks); });
    EXPECT_THAT(with.errors, Each(""));
    EXPECT_THAT(without.errors, Each(""));
    EXPECT_EQ(with.end, without.end);
  }
}

TEST(Objects, ArriveAtRanksThatArePes) {
  EXPECT_THAT(run(4, false, [&](int rank) { all_forms(rank, 4); }, 2).errors, Each(""));
}

TEST(Objects, OfALongerKindTakeLonger) {
  const auto time = [](std::size_t length) {
    return run(2, true,
               [&](int) {
                 Strings all(2);
                 dist::all_gather_object(all, std::string(length, 'x'));
               })
        .end;
  };
  EXPECT_GT(time(1 << 20) - time(1 << 10), Time::microseconds(15)) << "a MiB to the device, and two of them back";
}

TEST(Objects, InASubgroupRootsAreGlobalOrOfTheGroup) {
  const auto outcome = run(4, true, [](int rank) {
    const auto group = dist::new_group({1, 3});
    if (rank % 2 == 0) return;
    Strings list{rank == 3 ? "three" : ""};
    dist::broadcast_object_list(list, 3, group);
    EXPECT_THAT(list, ElementsAre("three"));
    list = {rank == 1 ? "one" : ""};
    dist::broadcast_object_list(list, {}, group, 0);
    EXPECT_THAT(list, ElementsAre("one"));
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

/// Rank 0 sends to the others, and each to rank 0, which takes who comes.
void back_and_forth(int rank, int ranks) {
  const Strings sent{"weights", "", std::string(3000, 'x')};
  Strings list(3), answer(1), none;
  if (rank != 0) {
    EXPECT_EQ(dist::recv_object_list(list, 0), 0);
    EXPECT_EQ(list, sent);
    dist::send_object_list({object_of(rank)}, {}, {}, 0);
    dist::send_object_list(none, 0);
    return;
  }
  for (int other = 1; other < ranks; ++other) dist::send_object_list(sent, other);
  std::vector<int> from;
  for (int other = 1; other < ranks; ++other) {
    from.push_back(dist::recv_object_list(answer));
    EXPECT_THAT(answer, ElementsAre(object_of(from.back())));
    EXPECT_EQ(dist::recv_object_list(none, from.back()), from.back());
  }
  EXPECT_THAT(from, ::testing::UnorderedElementsAreArray(ranks == 2 ? std::vector{1} : std::vector{1, 2}));
}

TEST(Objects, AreSentFromOneRankToAnother) {
  for (const int ranks : {2, 3}) {
    const Outcome with = run(ranks, true, [&](int rank) { back_and_forth(rank, ranks); });
    const Outcome without = run(ranks, false, [&](int rank) { back_and_forth(rank, ranks); });
    EXPECT_THAT(with.errors, Each(""));
    EXPECT_THAT(without.errors, Each(""));
    EXPECT_EQ(with.end, without.end);
  }
}

TEST(Objects, BothSendBeforeTheyReceive) {
  const auto outcome = run(2, true, [](int rank) {
    dist::send_object_list({object_of(rank)}, 1 - rank);
    Strings list(1);
    dist::recv_object_list(list, 1 - rank);
    EXPECT_THAT(list, ElementsAre(object_of(1 - rank)));
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(Objects, ListsOfOtherLengthsDoNotMeet) {
  const auto outcome = run(2, true, [](int rank) {
    Strings list(3);
    if (rank == 0) dist::send_object_list({"a", "b"}, 1);
    if (rank == 1) dist::recv_object_list(list, 0);
  });
  EXPECT_THAT(outcome.errors, Each(HasSubstr("DistributedError")));
}

TEST(Objects, ListsThatDoNotFitAreRefused) {
  const auto outcome = run(2, true, [](int rank) {
    Strings all(rank == 0 ? 3 : 1), none;
    if (rank == 0) dist::all_gather_object(all, "x");
    if (rank == 1) dist::scatter_object_list(none, {}, 0);
  });
  EXPECT_THAT(outcome.errors,
              ElementsAre(HasSubstr("all_gather_object: Incorrect object_list size 3. The size should be 2"),
                          HasSubstr("Expected argument scatter_object_output_list to be a list of size at least 1.")));
  const auto roots = run(2, true, [](int rank) {
    Strings list(2);
    dist::gather_object("x", rank == 0 ? nullptr : &list, 0);
  });
  EXPECT_THAT(roots.errors, ElementsAre(HasSubstr("must be specified on destination rank."),
                                        HasSubstr("must NOT be specified on non-destination ranks.")));
}

TEST(Subgroups, CutAGroupIntoEqualOnes) {
  const auto outcome = run(4, true, [](int rank) {
    const auto [mine, all] = dist::new_subgroups(2);
    EXPECT_EQ(all.size(), 2u);
    EXPECT_THAT(dist::get_process_group_ranks(mine), ElementsAre(rank / 2 * 2, rank / 2 * 2 + 1));
    const auto x = torch::full({8}, rank + 1.0).to("ahbm");
    dist::all_reduce(x, dist::ReduceOp::SUM, mine);
    EXPECT_EQ(x[0].item<float>(), rank < 2 ? 3.0F : 7.0F);
    EXPECT_EQ(dist::new_subgroups().second.size(), 1u) << "as many ranks as devices";
    const auto named = dist::new_subgroups_by_enumeration({{0, 3}, {1}});
    EXPECT_EQ(dist::get_rank(named.first), rank == 3 ? 1 : rank == 2 ? -1 : 0);
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(Subgroups, SizesThatDoNotFitAreRefused) {
  const auto error = [](const std::function<void()>& call) { return run(4, true, [&](int) { call(); }).errors; };
  EXPECT_THAT(error([] { dist::new_subgroups(0); }), Each(HasSubstr("The arg 'group_size' (0) must be positive")));
  EXPECT_THAT(error([] { dist::new_subgroups(5); }),
              Each(HasSubstr("The arg 'group_size' (5) must not exceed the world size (4)")));
  EXPECT_THAT(error([] { dist::new_subgroups(3); }),
              Each(HasSubstr("The world size (4) must be divisible by 'group_size=3'")));
  EXPECT_THAT(error([] { dist::new_subgroups_by_enumeration({}); }), Each(HasSubstr("cannot be empty")));
  EXPECT_THAT(error([] { dist::new_subgroups_by_enumeration({{0, 1}, {1, 2}}); }),
              Each(HasSubstr("Rank 1 has appeared in both subgroup [0, 1] and [1, 2]")));
}

TEST(Coalesced, TakesSeveralTensorsWithOneWork) {
  const auto outcome = run(3, true, [](int rank) {
    const auto a = torch::full({5}, rank + 1.0).to("ahbm"), b = torch::full({4096}, rank * 10.0).to("ahbm");
    const auto work = dist::all_reduce_coalesced({a, b}, dist::ReduceOp::SUM, {}, true);
    work->synchronize();
    EXPECT_TRUE(work->is_completed());
    EXPECT_EQ(a[4].item<float>(), 6.0F);
    EXPECT_EQ(b[4095].item<float>(), 30.0F);
    std::vector<std::vector<torch::Tensor>> lists;
    for (int i = 0; i < 3; ++i)
      lists.push_back({torch::zeros({2}, torch::device("ahbm")), torch::zeros({3}, torch::device("ahbm"))});
    dist::all_gather_coalesced(lists,
                               {torch::full({2}, rank + 1.0).to("ahbm"), torch::full({3}, rank + 10.0).to("ahbm")});
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(lists[static_cast<std::size_t>(i)][0][1].item<float>(), static_cast<float>(i + 1));
      EXPECT_EQ(lists[static_cast<std::size_t>(i)][1][2].item<float>(), static_cast<float>(i + 10));
    }
  });
  EXPECT_THAT(outcome.errors, Each(""));
}

TEST(Coalesced, ListsThatDoNotFitAreRefused) {
  const auto outcome = run(2, true, [](int rank) {
    const auto x = torch::zeros({2}, torch::device("ahbm"));
    if (rank == 0) dist::all_reduce_coalesced({x, torch::zeros({2}, torch::dtype(torch::kInt).device("ahbm"))});
    if (rank == 1) dist::all_gather_coalesced({{x}, {x, x}}, {x});
  });
  EXPECT_THAT(outcome.errors, ElementsAre(HasSubstr("Invalid usage of tensors with different dtypes"),
                                          HasSubstr("output_tensor_lists[1] has 2 tensors, and input_tensor_list 1")));
}

}  // namespace
}  // namespace kernbench::testing::objects
