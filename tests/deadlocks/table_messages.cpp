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
      {"SendsAgainstSends", kTwoSips, ranks(2, of_size(sends_against_sends, kLarge)), ""},
      {"SendsAgainstSendsOf16", kSixteenSips, ranks(16, of_size(sends_against_sends, kLarge)), ""},
      {"SendAgainstAllReduce", kTwoSips, ranks(2, send_against_all_reduce), ""},
      {"SendAgainstAllReduceOf16", kSixteenSips, ranks(16, send_against_all_reduce), ""},
      {"BarrierAgainstRecv", kTwoSips, ranks(2, barrier_against_recv), ""},
      {"BarrierAgainstRecvOf16", kSixteenSips, ranks(16, barrier_against_recv), ""},
      {"RecvWithoutSend", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 1) receive(small(), 0, 5);
             }),
       ""},
      {"RecvWithoutSendLater", kTwoSips, ranks(2, behind_an_exchange([](int rank) {
                                                 if (rank == 1) receive(small(), 0, 5);
                                               })),
       ""},
      {"RecvFromARankThatHasReturnedOf16", kSixteenSips,
       ranks(16,
             [](int rank) {
               const auto x = small();
               dist::all_reduce(x);
               if (rank == 0) return;
               receive(x, 0);
             }),
       ""},
      {"SendWithoutRecv", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 0) dist::send(small(), 1, {}, 7);
             }),
       ""},
      {"SendWithoutRecvThatIsWaitedFor", kTwoSips, ranks(2, behind_an_exchange([](int rank) {
                                                           if (rank == 0) dist::isend(small(), 1, {}, 7)->synchronize();
                                                         })),
       ""},
      {"AnotherTag", kTwoSips,
       ranks(2,
             [](int rank) {
               if (rank == 0) dist::send(small(), 1, {}, 3);
               if (rank == 1) receive(small(), 0, 4);
             }),
       ""},
      {"TagsOutOfOrder", kTwoSips, ranks(2, of_size(tags_out_of_order, kLarge)), ""},
      {"RingOf3ReceivesFirst", kThreeSips, ranks(3, ring(3)), ""},
      {"RingOf16ReceivesFirst", kSixteenSips, ranks(16, ring(16)), ""},
      {"RingOf64ReceivesFirst", kSixtyFourSips, ranks(64, ring(64)), ""},
      {"RecvFromAnyRank", kThreeSips,
       ranks(3,
             [](int rank) {
               if (rank == 0) receive(small(), std::nullopt, 2);
             }),
       ""},
      {"OneMessageForTwoReceives", kTwoSips, ranks(2, behind_an_exchange([](int rank) {
                                                     if (rank == 1) receive(small(), 0);
                                                   })),
       ""},
      {"FromAnotherRank", kThreeSips,
       ranks(3,
             [](int rank) {
               if (rank == 0) receive(small(), 2);
               if (rank == 1) dist::send(small(), 0);
             }),
       ""},
      {"SendInAnotherGroup", kThreeSips,
       ranks(3,
             [](int rank) {
               const auto pair = dist::new_group({0, 2});
               const auto x = small();
               if (rank == 0) dist::send(x, 2, pair, 3);
               if (rank == 2) receive(x, 0, 3);
               read(x);
             }),
       ""},
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
       ""},
  };
}

}  // namespace kernbench::deadlocks_test
