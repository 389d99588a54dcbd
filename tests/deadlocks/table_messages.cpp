#include "table.h"

namespace kernbench::deadlocks_test {
namespace {

constexpr std::int64_t kLarge = 1 << 18;  // more than all slots of a channel hold

void receive(const torch::Tensor& x, std::optional<int> from, int tag = 0) {
  dist::recv(x, from, {}, tag);
  read(x);
}

/// Every rank of a ring receives before it sends.
std::function<void(int)> ring(int count) {
  return [count](int rank) {
    const auto x = small();
    receive(x, (rank + count - 1) % count);
    dist::send(x, (rank + 1) % count);
  };
}

/// What each rank does once both know each other.
std::function<void(int)> behind_an_exchange(const std::function<void(int)>& then) {
  return [then](int rank) {
    const auto x = small();
    if (rank == 0) dist::send(x, 1);
    if (rank == 1) receive(x, 0);
    then(rank);
  };
}

/// Rank 0 sends to rank 1, which reduces with all others first.
void send_against_all_reduce(int rank) {
  const auto x = small();
  if (rank == 0) {
    dist::send(x, 1);
    torch::ahbm::synchronize();
  }
  dist::all_reduce(x);
  if (rank == 1) dist::recv(x, 0);
}

void barrier_against_recv(int rank) {
  const auto x = small();
  if (rank == 1) receive(x, 0);
  dist::barrier();
  if (rank == 0) dist::send(x, 1);
}

/// Both ranks have the same messages, with two tags, in different orders.
void tags_out_of_order(int rank, std::int64_t elements) {
  const auto a = small(elements), b = small(elements);
  if (rank == 0) {
    dist::send(a, 1, {}, 1);
    dist::send(b, 1, {}, 2);
  } else {
    dist::recv(a, 0, {}, 2);
    dist::recv(b, 0, {}, 1);
  }
  read(a);
}

/// Each rank of a pair sends before it receives.
void sends_against_sends(int rank, std::int64_t elements) {
  const auto sent = small(elements), received = small(elements);
  dist::send(sent, rank ^ 1);
  receive(received, rank ^ 1);
}

/// Each rank of a ring sends before it receives.
void ring_of_sends(int rank, std::int64_t elements) {
  const auto sent = small(elements), received = small(elements);
  const int count = dist::get_world_size();
  dist::send(sent, (rank + 1) % count);
  receive(received, (rank + count - 1) % count);
}

std::function<void(int)> of_size(void (*program)(int, std::int64_t), std::int64_t elements) {
  return [=](int rank) { program(rank, elements); };
}

}  // namespace

std::vector<StuckProgram> messages_that_arrive() {
  return {
      {"TagsOutOfOrder", kTwoSips, ranks(2, of_size(tags_out_of_order, 16)), ""},
      {"SendsAgainstSends", kTwoSips, ranks(2, of_size(sends_against_sends, 16)), ""},
      {"SendsAgainstSendsOf16", kSixteenSips, ranks(16, of_size(sends_against_sends, 16)), ""},
  };
}

std::vector<StuckProgram> messages_between_ranks() {
  return {
      {"SendsAgainstSends", kTwoSips, ranks(2, of_size(sends_against_sends, kLarge)),
       "cycle: rank 1's recv from rank 0 (tag 0) of the default group, called at table_messages.cpp:~ -> rank 1's send "
       "to rank 0 (tag 0) of the default group, called at table_messages.cpp:~ (its turn in the stream) -> rank 0's "
       "recv from rank 1 (tag 0) of the default group, called at table_messages.cpp:~ (its turn in its stream) -> rank "
       "0's send to rank 1 (tag 0) of the default group, called at table_messages.cpp:~ (its turn in the stream) -> "
       "rank 1's recv from rank 0 (tag 0) of the default group, called at table_messages.cpp:~ (its turn in its "
       "stream), for which rank 0 and rank 1 wait"},
      {"SendsAgainstSendsOf16", kSixteenSips, ranks(16, of_size(sends_against_sends, kLarge)),
       "cycle: ranks {1, 3, 5, 7, 9, 11, 13, 15}'s recv from ranks {0, 2, 4, 6, 8, 10, 12, 14} (tag 0) of the default "
       "group, called at table_messages.cpp:~ -> ranks {1, 3, 5, 7, 9, 11, 13, 15}'s send to ranks {0, 2, 4, 6, 8, 10, "
       "12, 14} (tag 0) of the default group, called at table_messages.cpp:~ (its turn in the stream) -> ranks {0, 2, "
       "4, 6, 8, 10, 12, 14}'s recv from ranks {1, 3, 5, 7, 9, 11, 13, 15} (tag 0) of the default group, called at "
       "table_messages.cpp:~ (its turn in its stream) -> ~, for which ranks {0, 2, 4, 6, 8, 10, 12, 14} and ranks {1, "
       "3, 5, 7, 9, 11, 13, 15} wait [8 such cycles]"},
      {"SendAgainstAllReduce", kTwoSips, ranks(2, send_against_all_reduce),
       "cycle: rank 0 waits in synchronize at table_messages.cpp:~ for its send to rank 1 (tag 0) of the default "
       "group, called at table_messages.cpp:~, which rank 1 has not received; rank 1 waits in all_reduce at "
       "table_messages.cpp:~ for ALLREDUCE (sequence number 1) of the default group, which rank 0 has not called"},
      {"SendAgainstAllReduceOf16", kSixteenSips, ranks(16, send_against_all_reduce),
       "cycle: rank 0 waits in synchronize at table_messages.cpp:~ for its send to rank 1 (tag 0) of the default "
       "group, called at table_messages.cpp:~, which rank 1 has not received; rank 1 waits in all_reduce at "
       "table_messages.cpp:~ for ALLREDUCE (sequence number 1) of the default group, which rank 0 has not called"},
      {"BarrierAgainstRecv", kTwoSips, ranks(2, barrier_against_recv),
       "cycle: rank 0 waits in barrier at table_messages.cpp:~ for BARRIER (sequence number 1) of the default group, "
       "which rank 1 has not called; rank 1 waits in to at table_test.cpp:~ for its recv from rank 0 (tag 0) of the "
       "default group, called at table_messages.cpp:~, to which rank 0 has not sent"},
      {"BarrierAgainstRecvOf16", kSixteenSips, ranks(16, barrier_against_recv),
       "cycle: rank 0 waits in barrier at table_messages.cpp:~ for BARRIER (sequence number 1) of the default group, "
       "which rank 1 has not called; rank 1 waits in to at table_test.cpp:~ for its recv from rank 0 (tag 0) of the "
       "default group, called at table_messages.cpp:~, to which rank 0 has not sent"},
      {"RecvWithoutSend", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 1) receive(small(), 0, 5);
             }),
       "rank 0 has ended without calling send to rank 1 (tag 5) of the default group, for which rank 1 waits"},
      {"RecvWithoutSendLater", kTwoSips, ranks(2, behind_an_exchange([](int rank) {
                                                 if (rank == 1) receive(small(), 0, 5);
                                               })),
       "rank 0 has ended without calling send to rank 1 (tag 5) of the default group, for which rank 1 waits"},
      {"RecvFromARankThatHasReturnedOf16", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank == 0) return;
               receive(x, 0);
             }),
       "rank 0 has ended without calling send to ranks {1-15} (tag 0) of the default group, for which ranks {1-15} "
       "wait"},
      {"SendWithoutRecv", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 0) dist::send(small(), 1, {}, 7);
             }),
       "rank 1 has ended without calling recv from rank 0 (tag 7) of the default group, for which rank 0 waits"},
      {"SendWithoutRecvThatIsWaitedFor", kTwoSips, ranks(2, behind_an_exchange([](int rank) {
                                                           if (rank == 0) dist::isend(small(), 1, {}, 7)->synchronize();
                                                         })),
       "rank 1 has ended without calling recv from rank 0 (tag 7) of the default group, for which rank 0 waits"},
      {"AnotherTag", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 0) dist::send(small(), 1, {}, 3);
               if (rank == 1) receive(small(), 0, 4);
             }),
       "rank 0 has ended without calling send to rank 1 (tag 4) of the default group (it has called send with tag 3 at "
       "table_messages.cpp:~), for which rank 1 waits"},
      {"TagsOutOfOrder", kTwoSips, ranks(2, of_size(tags_out_of_order, kLarge)),
       "cycle: rank 0's send to rank 1 (tag 2) of the default group, called at table_messages.cpp:~ -> rank 0's send "
       "to rank 1 (tag 1) of the default group, called at table_messages.cpp:~ (its turn in the stream) -> rank 1's "
       "recv from rank 0 (tag 1) of the default group, called at table_messages.cpp:~ (its turn in its stream) -> rank "
       "1's recv from rank 0 (tag 2) of the default group, called at table_messages.cpp:~ (its turn in the stream) -> "
       "rank 0's send to rank 1 (tag 2) of the default group, called at table_messages.cpp:~ (its turn in its stream), "
       "for which rank 1 waits"},
      {"RingOf3ReceivesFirst", kThreeSips, ranks(3, ring(3)),
       "cycle: rank 0 waits in to at table_test.cpp:~ for its recv from rank 2 (tag 0) of the default group, called at "
       "table_messages.cpp:~, to which rank 2 has not sent; rank 2 waits in to at table_test.cpp:~ for its recv from "
       "rank 1 (tag 0) of the default group, called at table_messages.cpp:~, to which rank 1 has not sent; rank 1 "
       "waits in to at table_test.cpp:~ for its recv from rank 0 (tag 0) of the default group, called at "
       "table_messages.cpp:~, to which rank 0 has not sent"},
      {"RingOf16ReceivesFirst", kSixteenSips, ranks(16, ring(16)),
       "cycle: rank 0 waits in to at table_test.cpp:~ for its recv from rank 15 (tag 0) of the default group, called "
       "at table_messages.cpp:~, to which rank 15 has not sent; rank 15 waits in to at table_test.cpp:~ for its recv "
       "from rank 14 (tag 0) of the default group, called at table_messages.cpp:~, to which rank 14 has not sent; … "
       "(13 more); rank 1 waits in to at table_test.cpp:~ for its recv from rank 0 (tag 0) of the default group, "
       "called at table_messages.cpp:~, to which rank 0 has not sent"},
      {"RingOf64ReceivesFirst", kSixtyFourSips, ranks(64, ring(64)),
       "cycle: rank 0 waits in to at table_test.cpp:~ for its recv from rank 63 (tag 0) of the default group, called "
       "at table_messages.cpp:~, to which rank 63 has not sent; rank 63 waits in to at table_test.cpp:~ for its recv "
       "from rank 62 (tag 0) of the default group, called at table_messages.cpp:~, to which rank 62 has not sent; … "
       "(61 more); rank 1 waits in to at table_test.cpp:~ for its recv from rank 0 (tag 0) of the default group, "
       "called at table_messages.cpp:~, to which rank 0 has not sent"},
      {"RingOf3SendsFirst", kThreeSips, ranks(3, of_size(ring_of_sends, kLarge)),
       "cycle: ~, for which ranks {0, 1, 2} wait"},
      {"RingOf16SendsFirst", kSixteenSips, ranks(16, of_size(ring_of_sends, kLarge)),
       "cycle: ~, for which ranks {0-15} wait"},
      {"RecvFromAnyRank", kThreeSips,
       ranks(3,
             [](int rank) {
               if (rank == 0) receive(small(), std::nullopt, 2);
             }),
       "ranks {1, 2} have ended without calling send to rank 0 (tag 2) of the default group, for which rank 0 waits"},
      {"OneMessageForTwoReceives", kTwoSips, ranks(2, behind_an_exchange([](int rank) {
                                                     if (rank == 1) receive(small(), 0);
                                                   })),
       "rank 0 has ended without calling send to rank 1 (tag 0) of the default group, for which rank 1 waits"},
      {"FromAnotherRank", kThreeSips,
       ranks(3,
             [](int rank) {
               if (rank == 0) receive(small(), 2);
               if (rank == 1) dist::send(small(), 0);
             }),
       "rank 2 has ended without calling send to rank 0 (tag 0) of the default group, for which rank 0 waits"},
      {"SendInAnotherGroup", kThreeSips,
       ranks(3,
             [](int rank) {
               const auto pair = dist::new_group({0, 2});
               const auto x = small();
               if (rank == 0) dist::send(x, 2, pair, 3);
               if (rank == 2) receive(x, 0, 3);
               read(x);
             }),
       "cycle: rank 0 waits in send at table_messages.cpp:~ for its send to rank 2 (rank 1 of group 1, tag 3), called "
       "at table_messages.cpp:~, which rank 2 has not received; rank 2 waits in recv at table_messages.cpp:~ for its "
       "recv from rank 0 (tag 3) of the default group, called at table_messages.cpp:~, to which rank 0 has not sent"},
      {"EventBehindARecv", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 1) return;
               const auto x = small();
               dist::irecv(x, 1, {}, 9)->wait();
               torch::ahbm::Event event;
               event.record();
               torch::ahbm::Stream other;
               other.wait_event(event);
               other.synchronize();
             }),
       "rank 1 has ended without calling send to rank 0 (tag 9) of the default group, for which rank 0 waits"},
  };
}

}  // namespace kernbench::deadlocks_test
