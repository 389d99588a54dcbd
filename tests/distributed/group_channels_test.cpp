// Groups that come and go: what has been destroyed on all its ranks gives its channels back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "spawning.h"
#include "support/sanitizers.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;

constexpr int kGroups = 50;  // many more than a PE has queues

torch::Tensor filled(float value) {
  return torch::full({48}, value, one_pe());
}

std::string end_of_ranks(int ranks, const std::function<void(int rank)>& worker) {
  return error_of(
      [&] {
        mp::spawn(
            [&](int rank) {
              torch::ahbm::set_device(rank);
              dist::init_process_group("ahbm", rank, ranks);
              worker(rank);
              EXPECT_EQ(ambiguous_orders(), 0);
            },
            {}, {.nprocs = ranks});
      },
      devices(ranks));
}

/// Reduces over the group and passes a value around in it; both must come out right.
void use(const dist::ProcessGroup& group, int rank, int ranks, int round) {
  const auto sum = filled(static_cast<float>(rank + round));
  dist::all_reduce(sum, dist::ReduceOp::SUM, group);
  const auto mine = filled(static_cast<float>(100 * rank + round)), came = filled(-1);
  const int previous = (rank + ranks - 1) % ranks;
  dist::isend(mine, (rank + 1) % ranks, group);
  dist::recv(came, previous, group);
  EXPECT_EQ(sum[47].item<float>(), static_cast<float>(ranks * (ranks - 1) / 2 + ranks * round)) << round;
  EXPECT_EQ(came[47].item<float>(), static_cast<float>(100 * previous + round)) << round;
}

TEST(GroupChannels, AreGivenBackWithTheGroup) {
  for (const int ranks : {2, 3, 4}) {
    if (kSanitized && ranks != 3) continue;
    EXPECT_EQ(end_of_ranks(ranks,
                           [ranks](int rank) {
                             for (int round = 0; round < kGroups; ++round) {
                               const auto group = dist::new_group();
                               use(group, rank, ranks, round);
                               dist::destroy_process_group(group);
                             }
                             use({}, rank, ranks, 7);
                           }),
              "no error")
        << ranks;
  }
}

TEST(GroupChannels, AreGivenBackWithTheDefaultGroupAndWithWhatWasMadeInIt) {
  EXPECT_EQ(end_of_ranks(2,
                         [](int rank) {
                           for (int round = 0; round < kGroups; ++round) {
                             const auto group = dist::new_group();
                             use(round % 2 == 0 ? group : dist::ProcessGroup(), rank, 2, round);
                             dist::destroy_process_group();
                             dist::init_process_group("ahbm", rank, 2);
                           }
                         }),
            "no error");
}

TEST(GroupChannels, StayForWorkThatIsUnderWayWhenTheGroupIsDestroyed) {
  EXPECT_EQ(end_of_ranks(3,
                         [](int rank) {
                           std::vector<torch::Tensor> sums, came;
                           std::vector<dist::WorkRef> kept;  // handles keep nothing of the machine
                           for (int round = 0; round < kGroups; ++round) {
                             const auto group = dist::new_group();
                             sums.push_back(filled(static_cast<float>(rank + round)));
                             kept.push_back(dist::all_reduce(sums.back(), dist::ReduceOp::SUM, group, true));
                             came.push_back(filled(-1));
                             kept.push_back(dist::isend(filled(static_cast<float>(rank)), (rank + 1) % 3, group));
                             kept.push_back(dist::irecv(came.back(), (rank + 2) % 3, group));
                             dist::destroy_process_group(group);
                           }
                           for (int round = 0; round < kGroups; ++round) {
                             const auto at = static_cast<std::size_t>(round);
                             EXPECT_EQ(sums[at][3].item<float>(), static_cast<float>(3 + 3 * round)) << round;
                             EXPECT_EQ(came[at][3].item<float>(), static_cast<float>((rank + 2) % 3)) << round;
                           }
                         }),
            "no error");
}

TEST(GroupChannels, StayWhileARankStillHasTheGroup) {
  EXPECT_EQ(end_of_ranks(2,
                         [](int rank) {
                           const auto group = dist::new_group();
                           use(group, rank, 2, 1);
                           const auto x = filled(1);
                           if (rank == 0) {
                             dist::isend(x, 1, group);
                             dist::destroy_process_group(group);
                           } else {
                             sleep(50'000);
                             dist::recv(x, 0, group);
                             EXPECT_EQ(x[0].item<float>(), 1);
                             dist::destroy_process_group(group);
                           }
                         }),
            "no error");
}

}  // namespace
}  // namespace kernbench::testing
