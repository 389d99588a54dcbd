#include "table.h"

namespace kernbench::deadlocks_test {
std::vector<StuckProgram> missing_ranks() {
  return {
      {"FirstAllReduce", kTwoSips,
       ranks(2,
             [](int rank) {
               const auto x = spread();
               if (rank != 1) dist::all_reduce(x);
               read(x);
             }),
       "rank 1 has ended without calling ALLREDUCE (sequence number 1) of the default group, for which rank 0 waits"},
      {"LaterAllReduce", kTwoSips,
       ranks(2,
             [](int rank) {
               const auto x = spread();
               dist::all_reduce(x);
               if (rank != 1) dist::all_reduce(x);
               read(x);
             }),
       "rank 1 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which rank 0 waits"},

      {"LaterAllReduceOf16", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto x = spread(64);
               dist::all_reduce(x);
               if (rank != 7) dist::all_reduce(x);
               read(x);
             }),
       "rank 7 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which ranks {0-6, "
       "8-15} wait"},
      {"FirstAllReduceOf64", kSixtyFourSips,
       ranks(64,
             [](int rank) {
               const auto x = small();
               if (rank != 63) dist::all_reduce(x);
               read(x);
             }),
       "rank 63 has ended without calling ALLREDUCE (sequence number 1) of the default group, for which ranks {0-62} "
       "wait"},
      {"LaterAllReduceOf64", kSixtyFourSips,
       ranks(64,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank != 0) dist::all_reduce(x);
               read(x);
             }),
       "rank 0 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which ranks {1-63} "
       "wait"},
      {"LaterAllReduceOf128Pes", kPesOfOneSip,
       ranks(128,
             [](int rank) {
               const auto x = torch::ones({16}, torch::dtype(DType::f32).device("ahbm"));
               dist::all_reduce(x);
               if (rank != 77) dist::all_reduce(x);
               read(x);
             }),
       "rank 77 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which ranks {0-76, "
       "78-127} wait"},
      {"TwoRanksReturnEarly", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank == 3 || rank == 4) return;
               dist::barrier();
             }),
       "ranks {3, 4} have ended without calling BARRIER (sequence number 2) of the default group, for which ranks "
       "{0, 1, 2, 5-15} wait"},
      {"OneStepLess", kThreeSips,
       ranks(3,
             [](int rank) {
               const auto x = small();
               for (int step = 0; step < (rank == 1 ? 3 : 4); ++step) dist::all_reduce(x);
               read(x);
             }),
       "rank 1 has ended without calling ALLREDUCE (sequence number 4) of the default group, for which ranks {0, 2} "
       "wait"},
      {"BroadcastWithoutItsRoot", kThreeSips,
       ranks(3,
             [](int rank) {
               const auto x = small();
               if (rank != 1) dist::broadcast(x, 1);
               read(x);
             }),
       "rank 1 has ended without calling BROADCAST (sequence number 1) of the default group, for which ranks {0, 2} "
       "wait"},
      {"Barrier", kSixteenSips,
       ranks(16,
             [](int rank) {
               if (rank != 9) dist::barrier();
             }),
       "rank 9 has ended without calling BARRIER (sequence number 1) of the default group, for which ranks {0-8, "
       "10-15} wait"},
      {"AsynchronousAllReduceThatIsWaitedFor", kTwoSips,
       ranks(2,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank == 1) return;
               dist::all_reduce(x, dist::ReduceOp::SUM, {}, true)->synchronize();
             }),
       "rank 1 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which rank 0 waits"},
      {"LaterAllReduceThatNobodyReads", kTwoSips,
       ranks(2,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank == 0) dist::all_reduce(x);
             }),
       "rank 1 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which nobody waits: "
       "ALLREDUCE (sequence number 2) of the default group on rank 0, called at table_missing_ranks.cpp:~"},
      {"LaterAllReduceThatNobodyReadsOf16", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank != 5) dist::all_reduce(x);
             }),
       "rank 5 has ended without calling ALLREDUCE (sequence number 2) of the default group, for which nobody waits: "
       "ALLREDUCE (sequence number 2) of the default group on ranks {0-4, 6-15}, called at table_missing_ranks.cpp:~"},
      {"SubgroupWithoutOneOfItsRanks", kThreeSips,
       ranks(3,
             [](int rank) {
               const auto pair = dist::new_group({0, 2});
               const auto x = small();
               if (rank == 0) dist::all_reduce(x, dist::ReduceOp::SUM, pair);
               read(x);
             }),
       "rank 2 has ended without calling ALLREDUCE (sequence number 1) of group 1, for which rank 0 waits"},
      {"NewGroup", kThreeSips,
       ranks(3,
             [](int rank) {
               if (rank != 2) dist::new_group({0, 1});
             }),
       "rank 2 has ended without calling new_group (number 1), for which ranks {0, 1} wait"},
      {"InitProcessGroup", kThreeSips,
       [] {
         mp::spawn(
             [](int rank) {
               torch::ahbm::set_device(rank);
               if (rank != 1) dist::init_process_group("ahbm", rank, 3);
             },
             {}, {.nprocs = 3});
       },
       "rank 1 has not called init_process_group of 3 ranks, for which ranks {0, 2} wait"},
      {"InNestedSpawn", kTwoSips,
       [] {
         mp::spawn(
             [](int parent) {
               if (parent == 1) return;
               ranks(2, [](int rank) {
                 const auto x = small();
                 if (rank == 0) dist::all_reduce(x);
                 read(x);
               })();
             },
             {}, {.nprocs = 2});
       },
       "rank 0.1 has ended without calling ALLREDUCE (sequence number 1) of the default group, for which rank 0.0 "
       "waits"},
  };
}

}  // namespace kernbench::deadlocks_test
