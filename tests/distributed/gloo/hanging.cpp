// The programs of hanging.py: gloo waits for ever, or for its timeout of half an hour. Here they end with an error that
// says who is to blame. A rank that is to be missing returns.
#include "programs.h"

namespace kernbench::testing::gloo {
namespace {

/// Waits until the device has what was asked of it: the calls themselves leave the host alone.
void wait_for(const Tensor& x) {
  x.cpu();
}

void receive(Rank& me, std::optional<int> src, int tag = 0) {
  const auto x = me.values(4);
  dist::recv(x, src, {}, tag);
  wait_for(x);
}

void reduce(Rank& me, const dist::ProcessGroup& group = {}) {
  const auto x = me.values(5);
  dist::all_reduce(x, ReduceOp::SUM, group);
  wait_for(x);
}

void recv_with_another_tag(Rank& me) {
  if (me.rank == 0) {
    dist::send(me.values(4), 1, {}, 1);
  } else {
    receive(me, 0, 2);
  }
}

void ring_that_receives_first(Rank& me) {
  receive(me, me.previous());
  dist::send(me.values(4), me.next());
}

void broadcast_without_its_root(Rank& me) {
  if (me.rank == 1) return;
  const auto x = me.values(5);
  dist::broadcast(x, 1);
  wait_for(x);
}

void one_collective_more(Rank& me) {
  reduce(me);
  if (me.rank == 0) reduce(me);
}

void groups_crosswise(Rank& me) {
  const auto one = dist::new_group({0, 1}), other = dist::new_group({0, 1});
  reduce(me, me.rank == 0 ? one : other);
  reduce(me, me.rank == 0 ? other : one);
}

void groups_in_a_circle(Rank& me) {
  std::vector<dist::ProcessGroup> groups;
  for (int i = 0; i < 3; ++i) groups.push_back(dist::new_group({i, (i + 1) % 3}));
  dist::barrier(groups[static_cast<std::size_t>(me.rank)]);
  dist::barrier(groups[static_cast<std::size_t>(me.previous())]);
}

void send_against_all_reduce(Rank& me) {
  if (me.rank == 0) {
    receive(me, 1);
    reduce(me);
  } else {
    reduce(me);
    dist::send(me.values(4), 0);
  }
}

void a_barrier_against_a_recv(Rank& me) {
  if (me.rank == 0) {
    dist::barrier();
  } else {
    receive(me, 0);
  }
}

void one_message_for_two_receives(Rank& me) {
  if (me.rank == 0) dist::send(me.values(4), 1);
  if (me.rank != 1) return;
  receive(me, 0);
  receive(me, 0);
}

}  // namespace

std::vector<Program> hanging_programs() {
  return {
      {"recv_without_send",
       [](Rank& me) {
         if (me.rank == 0) receive(me, 1);
       },
       true,
       {"DeadlockError", "rank 1, which ended"}},
      {"recv_with_another_tag",
       recv_with_another_tag,
       true,
       {"DeadlockError", "send to rank 1 (tag 2) of the default group", "on rank 0, which ended"}},
      {"recv_from_anybody_without_send",
       [](Rank& me) {
         if (me.rank == 0) receive(me, std::nullopt);
       },
       true,
       {"DeadlockError", "on rank 1, which ended"}},
      {"ring_that_receives_first",
       ring_that_receives_first,
       true,
       {"DeadlockError", "[cycle]", "its recv from rank 2 (tag 0) of the default group, called at ",
        "to which rank 2 has not sent"}},
      {"barrier_without_a_rank",
       [](Rank& me) {
         if (me.rank != 2) dist::barrier();
       },
       true,
       {"DeadlockError", "BARRIER (sequence number 1) of the default group, missing ranks: {2}",
        "on rank 2, which ended"}},
      {"all_reduce_without_a_rank",
       [](Rank& me) {
         if (me.rank != 0) reduce(me);
       },
       true,
       {"DeadlockError", "ALLREDUCE (sequence number 1) of the default group, missing ranks: {0}"}},
      {"broadcast_without_its_root",
       broadcast_without_its_root,
       true,
       {"DeadlockError", "BROADCAST (sequence number 1) of the default group, missing ranks: {1}"}},
      {"one_collective_more",
       one_collective_more,
       true,
       {"DeadlockError", "ALLREDUCE (sequence number 2) of the default group on rank 1, which ended"}},
      {"groups_crosswise",
       groups_crosswise,
       true,
       {"DeadlockError", "[cycle]", "ALLREDUCE (sequence number 1) of group 1, missing ranks: {1}",
        "ALLREDUCE (sequence number 1) of group 2, missing ranks: {0}"}},
      {"groups_in_a_circle",
       groups_in_a_circle,
       true,
       {"DeadlockError", "[cycle]", "BARRIER (sequence number 1) of group 1, missing ranks: {1}"}},
      {"send_against_all_reduce",
       send_against_all_reduce,
       true,
       {"DeadlockError", "[cycle]", "ALLREDUCE (sequence number 1) of the default group, missing ranks: {0}",
        "its recv from rank 1 (tag 0) of the default group, called at "}},
      {"new_group_of_some",
       [](Rank& me) {
         if (me.rank != 2) dist::new_group({0, 1});
       },
       true,
       {"DeadlockError", "new_group (number 1), missing ranks: {2}"}},
      {"a_barrier_against_a_recv",
       a_barrier_against_a_recv,
       true,
       {"DeadlockError", "[cycle]", "BARRIER (sequence number 1) of the default group, missing ranks: {1}",
        "its recv from rank 0 (tag 0) of the default group, called at "}},
      {"one_message_for_two_receives",
       one_message_for_two_receives,
       true,
       {"DeadlockError", "send to rank 1 (tag 0) of the default group", "on rank 0, which ended"}},
  };
}

}  // namespace kernbench::testing::gloo
