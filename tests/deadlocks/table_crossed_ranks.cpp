#include "table.h"

namespace kernbench::deadlocks_test {
namespace {

void reduce(const torch::Tensor& x, const dist::ProcessGroup& group) {
  dist::all_reduce(x, dist::ReduceOp::SUM, group);
}

/// Two groups of the same ranks, used in one order by rank 0 and in the other by rank 1.
void in_another_order(int rank, bool used_before, bool read_between) {
  const auto first = dist::new_group({0, 1}), second = dist::new_group({0, 1});
  const auto x = small();
  if (used_before) {
    reduce(x, first);
    reduce(x, second);
  }
  reduce(x, rank == 0 ? first : second);
  if (read_between) read(x);
  reduce(x, rank == 0 ? second : first);
  read(x);
}

void receive_and_answer(const torch::Tensor& x) {
  dist::recv(x, 0);
  read(x);
  dist::send(x, 0, {}, 1);
}

/// The same with asynchronous calls, each of which the rank's stream waits for before it comes to the next one.
void in_another_order_in_streams(int rank) {
  const auto first = dist::new_group({0, 1}), second = dist::new_group({0, 1});
  const auto x = small();
  reduce(x, first);
  reduce(x, second);
  read(x);
  dist::all_reduce(x, dist::ReduceOp::SUM, rank == 0 ? first : second, true)->wait();
  dist::all_reduce(x, dist::ReduceOp::SUM, rank == 0 ? second : first, true)->wait();
  torch::ahbm::synchronize();
}

/// The child of rank 0 waits for all that its device has been given; rank 0 waits for its child.
void child_that_waits_for_its_parent(int rank) {
  const auto x = small();
  if (rank == 1) {
    receive_and_answer(x);
    return;
  }
  dist::recv(x, 1, {}, 1);
  const torch::ahbm::Stream stream = torch::ahbm::current_stream();
  mp::spawn([stream](int) { stream.synchronize(); }, {}, {.nprocs = 1});
  dist::send(x, 1);
}

}  // namespace

std::vector<StuckProgram> crossed_ranks() {
  return {
      {"OrderOfTwoGroups", kTwoSips, ranks(2, [](int rank) { in_another_order(rank, false, true); }),
       "cycle: rank 0 waits in all_reduce at table_crossed_ranks.cpp:~ for ALLREDUCE (sequence number 1) of group 1, "
       "which rank 1 has not called; rank 1 waits in all_reduce at table_crossed_ranks.cpp:~ for ALLREDUCE (sequence "
       "number 1) of group 2, which rank 0 has not called"},
      {"OrderOfTwoGroupsLater", kTwoSips, ranks(2, [](int rank) { in_another_order(rank, true, true); }),
       "cycle: rank 0 waits in to at table_test.cpp:~ for its ALLREDUCE (sequence number 2) of group 1, called at "
       "table_crossed_ranks.cpp:~, which rank 1 has not called; rank 1 waits in to at table_test.cpp:~ for its "
       "ALLREDUCE (sequence number 2) of group 2, called at table_crossed_ranks.cpp:~, which rank 0 has not called"},
      {"OrderOfTwoGroupsInStreams", kTwoSips, ranks(2, in_another_order_in_streams),
       "cycle: ALLREDUCE (sequence number 2) of group 1 on rank 1, called at table_crossed_ranks.cpp:~ -> ALLREDUCE "
       "(sequence number 2) of group 2 on rank 1, called at table_crossed_ranks.cpp:~ (its turn in the stream) -> "
       "ALLREDUCE (sequence number 2) of group 2 on rank 0, called at table_crossed_ranks.cpp:~ (its turn in its "
       "stream) -> ALLREDUCE (sequence number 2) of group 1 on rank 0, called at table_crossed_ranks.cpp:~ (its turn "
       "in the stream) -> ALLREDUCE (sequence number 2) of group 1 on rank 1, called at table_crossed_ranks.cpp:~ (its "
       "turn in its stream), for which rank 0 and rank 1 wait"},
      {"ChildThatWaitsForItsParent", kTwoSips, ranks(2, child_that_waits_for_its_parent),
       "cycle: rank 0 waits in torch::multiprocessing::spawn at table_crossed_ranks.cpp:~ for rank 0.0 (its end); rank "
       "0.0 waits in Stream::synchronize at table_crossed_ranks.cpp:~ for rank 0's recv from rank 1 (tag 1) of the "
       "default group, called at table_crossed_ranks.cpp:~, to which rank 1 has not sent; rank 1 waits in to at "
       "table_test.cpp:~ for its recv from rank 0 (tag 0) of the default group, called at table_crossed_ranks.cpp:~, "
       "to which rank 0 has not sent"},
      {"ThreeGroupsInACircle", kThreeSips,
       ranks(3,
             [](int rank) {
               std::vector<dist::ProcessGroup> groups;
               for (int i = 0; i < 3; ++i) groups.push_back(dist::new_group({i, (i + 1) % 3}));
               dist::barrier(groups[static_cast<std::size_t>(rank)]);
               dist::barrier(groups[static_cast<std::size_t>((rank + 2) % 3)]);
             }),
       "cycle: rank 0 waits in barrier at table_crossed_ranks.cpp:~ for BARRIER (sequence number 1) of group 1, which "
       "rank 1 has not called; rank 1 waits in barrier at table_crossed_ranks.cpp:~ for BARRIER (sequence number 1) of "
       "group 2, which rank 2 has not called; rank 2 waits in barrier at table_crossed_ranks.cpp:~ for BARRIER "
       "(sequence number 1) of group 3, which rank 0 has not called"},
      {"GroupAgainstTheDefaultGroup", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto pair = dist::new_group({3, 12});
               if (rank == 3) dist::barrier(pair);
               dist::barrier();
               if (rank == 12) dist::barrier(pair);
             }),
       "cycle: rank 3 waits in barrier at table_crossed_ranks.cpp:~ for BARRIER (sequence number 1) of group 1, which "
       "rank 12 has not called; rank 12 waits in barrier at table_crossed_ranks.cpp:~ for BARRIER (sequence number 1) "
       "of the default group, which rank 3 has not called"},
      {"RootThatWaitsForAMember", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto x = small(), y = small();
               if (rank == 0) {
                 dist::recv(y, 15, {}, 4);
                 read(y);
               }
               dist::broadcast(x, 0);
               read(x);
               if (rank == 15) dist::send(y, 0, {}, 4);
             }),
       "cycle: rank 0 waits in to at table_test.cpp:~ for its recv from rank 15 (tag 4) of the default group, called "
       "at "
       "table_crossed_ranks.cpp:~, to which rank 15 has not sent; rank 15 waits in broadcast at "
       "table_crossed_ranks.cpp:~ for BROADCAST (sequence number 1) of the default group, which rank 0 has not called"},
  };
}

}  // namespace kernbench::deadlocks_test
