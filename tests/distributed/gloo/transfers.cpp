// The programs of transfers.py.
#include <algorithm>

#include "programs.h"

namespace kernbench::testing::gloo {
namespace {

using dist::P2POp;

void wait_for_all(const std::vector<dist::WorkRef>& works) {
  for (const auto& work : works) work->wait();
}

void send_and_recv(Rank& me) {
  const auto x = me.values(7);
  if (me.rank == 0) dist::send(x, 1);
  if (me.rank == 1) me.say(dist::recv(x, 0));
  me.show(x);
}

void messages_of_odd_sizes(Rank& me) {
  for (const std::int64_t n : {0, 1, 2, 17, 1009}) {
    const auto x = me.values(n);
    if (me.rank == 0) {
      dist::send(x, 1);
    } else {
      dist::recv(x, 0);
    }
    me.show(x);
  }
}

void messages_of_every_type(Rank& me) {
  for (const auto dtype : kTypes) {
    const auto x = me.values(6, dtype).reshape({2, 3});
    if (me.rank == 1) {
      dist::send(x, 0);
    } else {
      dist::recv(x, 1);
    }
    me.show(x);
  }
}

void messages_keep_their_order(Rank& me) {
  for (int i = 0; i < 5; ++i) {
    const auto x = values(me.rank + i, 4);
    if (me.rank == 0) {
      dist::send(x, 1);
    } else {
      dist::recv(x, 0);
    }
    me.show(x);
  }
}

void message_into_a_range(Rank& me) {
  const auto x = me.values(18).reshape({6, 3});
  if (me.rank == 0) {
    dist::send(x.narrow(0, 4, 2), 1);
  } else {
    dist::recv(x.narrow(0, 1, 2), 0);
  }
  me.show(x);
}

void tags_in_another_order(Rank& me) {
  const auto x = me.values(5), y = me.values(5) + 10;
  if (me.rank == 0) {
    wait_for_all({dist::isend(x, 1, {}, 7), dist::isend(y, 1, {}, 8)});
  } else {
    wait_for_all({dist::irecv(y, 0, {}, 8), dist::irecv(x, 0, {}, 7)});
  }
  me.show(x, y);
}

void tags_that_cross(Rank& me) {
  std::vector<Tensor> xs;
  for (int n = 0; n < 4; ++n) xs.push_back(me.values(n + 1));
  std::vector<dist::WorkRef> works;
  for (const int i : me.rank == 0 ? std::vector{0, 1, 2, 3} : std::vector{2, 0, 3, 1}) {
    const auto& x = xs[static_cast<std::size_t>(i)];
    works.push_back(me.rank == 0 ? dist::isend(x, 1, {}, i) : dist::irecv(x, 0, {}, i));
  }
  std::ranges::reverse(works);
  wait_for_all(works);
  for (const auto& x : xs) me.show(x);
}

void ring_of_isend_and_irecv(Rank& me) {
  const auto x = me.values(11), y = values(0, 11);
  if (me.world > 1) wait_for_all({dist::isend(x, me.next()), dist::irecv(y, me.previous())});
  me.show(x, y);
}

void ring_of_even_and_odd_ranks(Rank& me) {
  const auto x = me.values(6), y = values(0, 6);
  if (me.rank % 2 == 0) dist::send(x, me.next());
  dist::recv(y, me.previous());
  if (me.rank % 2 == 1) dist::send(x, me.next());
  me.show(y);
}

void ring_of_a_batch(Rank& me) {
  const auto x = me.values(9), y = values(0, 9);
  wait_for_all(dist::batch_isend_irecv({{P2POp::isend, x, me.next()}, {P2POp::irecv, y, me.previous()}}));
  me.show(y);
}

void exchange_in_pairs(Rank& me) {
  const auto x = me.values(13), y = values(0, 13);
  const auto receive = dist::irecv(y, me.rank ^ 1);
  dist::isend(x, me.rank ^ 1)->wait();
  receive->wait();
  me.show(y);
}

void everybody_to_everybody(Rank& me) {
  std::vector<Tensor> received;
  std::vector<dist::WorkRef> works;
  for (int other = 0; other < me.world; ++other) {
    received.push_back(values(0, 3));
    if (other != me.rank) works.push_back(dist::irecv(received.back(), other));
  }
  for (int other = 0; other < me.world; ++other) {
    if (other != me.rank) works.push_back(dist::isend(values(me.rank * me.world + other, 3), other));
  }
  wait_for_all(works);
  for (int other = 0; other < me.world; ++other) {
    if (other != me.rank) me.show(received[static_cast<std::size_t>(other)]);
  }
}

void pipeline(Rank& me) {
  auto x = me.values(8);
  const auto y = values(0, 8);
  if (me.rank > 0) {
    dist::recv(y, me.rank - 1);
    x = x + y;
  }
  if (me.rank + 1 < me.world) dist::send(x, me.rank + 1);
  me.show(x);
}

void gather_by_messages(Rank& me) {
  const auto x = me.values(4);
  if (me.rank > 0) return dist::send(x, 0);
  for (int other = 1; other < me.world; ++other) {
    const auto y = values(0, 4);
    me.say(dist::recv(y, other));
    me.show(y);
  }
}

void scatter_by_messages(Rank& me) {
  const auto x = values(9, 4 * me.world).reshape({me.world, 4});
  if (me.rank == 0) {
    std::vector<dist::WorkRef> works;
    for (int other = 1; other < me.world; ++other) works.push_back(dist::isend(x[other], other));
    wait_for_all(works);
  } else {
    dist::recv(x[me.rank], 0);
  }
  me.show(x);
}

void halo_exchange(Rank& me) {
  const auto x = me.values(6), left = values(0, 1), right = values(0, 1);
  std::vector<dist::WorkRef> works;
  if (me.rank > 0) {
    works.push_back(dist::isend(x.narrow(0, 0, 1), me.rank - 1));
    works.push_back(dist::irecv(left, me.rank - 1));
  }
  if (me.rank + 1 < me.world) {
    works.push_back(dist::isend(x.narrow(0, 5, 1), me.rank + 1));
    works.push_back(dist::irecv(right, me.rank + 1));
  }
  wait_for_all(works);
  me.show(left, right);
}

void messages_between_collectives(Rank& me) {
  const auto x = me.values(7);
  dist::all_reduce(x);
  if (me.rank == 0) dist::send(x + 1, me.world - 1);
  if (me.rank == me.world - 1) dist::recv(x, 0);
  dist::broadcast(x, me.world - 1);
  me.show(x);
}

void messages_beside_collectives(Rank& me) {
  const auto x = me.values(7), y = me.values(9);
  std::vector<dist::WorkRef> works{dist::all_reduce(y, ReduceOp::SUM, {}, true)};
  if (me.rank == 0) works.push_back(dist::isend(x, 1));
  if (me.rank == 1) works.push_back(dist::irecv(x, 0));
  std::ranges::reverse(works);
  wait_for_all(works);
  me.show(x, y);
}

void recv_from_anybody(Rank& me) {
  for (int sender = 1; sender < me.world; ++sender) {
    const auto x = me.values(5);
    if (me.rank == sender) dist::send(x, 0);
    if (me.rank == 0) {
      me.say(dist::recv(x));
      me.show(x);
    }
    dist::barrier();
  }
}

void recv_from_anybody_of_all(Rank& me) {
  const auto x = me.values(5);
  if (me.rank > 0) return dist::send(x, 0, {}, 3);
  std::vector<int> senders;
  auto total = values(0, 5) * 0;
  for (int i = 1; i < me.world; ++i) {
    senders.push_back(dist::recv(x, std::nullopt, {}, 3));
    total = total + x;
  }
  std::ranges::sort(senders);
  std::string text;
  for (const int sender : senders) text += (text.empty() ? "" : ", ") + std::to_string(sender);
  me.say("[" + text + "]");
  me.show(total);
}

void recv_from_anybody_then_from_one(Rank& me) {
  const auto x = me.values(5);
  if (me.rank == 0) {
    me.say(dist::recv(x));
    me.show(x);
    me.say(dist::recv(x, 1));
    me.show(x);
  }
  if (me.rank == 1) {
    dist::send(x, 0);
    dist::send(x + 1, 0);
  }
}

void recv_from_anybody_in_a_group(Rank& me) {
  const auto group = dist::new_group({1, 2});
  const auto x = me.values(5);
  if (me.rank == 2) dist::send(x, 1, group);
  if (me.rank == 1) me.say(dist::recv(x, std::nullopt, group));
  me.show(x);
}

void irecv_from_anybody(Rank& me) {
  const auto x = me.values(5);
  if (me.rank == 0) {
    dist::irecv(x, std::nullopt, {}, 4)->wait();
  } else {
    dist::isend(x, 0, {}, 4)->wait();
  }
  me.show(x);
}

void message_to_oneself(Rank& me) {
  join_world(me);
  me.attempt([&] { dist::send(me.values(3), me.rank); });
}

void message_to_a_rank_that_does_not_exist(Rank& me) {
  join_world(me);
  me.attempt([&] { dist::send(me.values(3), me.world); });
}

void message_from_a_rank_that_does_not_exist(Rank& me) {
  join_world(me);
  me.attempt([&] { dist::recv(me.values(3), me.world); });
}

void batch_of_nothing(Rank& me) {
  me.attempt([] { dist::batch_isend_irecv({}); });
}

}  // namespace

std::vector<Program> transfer_programs() {
  return {
      {"send_and_recv", send_and_recv},
      {"messages_of_odd_sizes", messages_of_odd_sizes},
      {"messages_of_every_type", messages_of_every_type},
      {"messages_keep_their_order", messages_keep_their_order},
      {"message_into_a_range", message_into_a_range},
      {"tags_in_another_order", tags_in_another_order},
      {"tags_that_cross", tags_that_cross},
      {"ring_of_isend_and_irecv", ring_of_isend_and_irecv},
      {"ring_of_even_and_odd_ranks", ring_of_even_and_odd_ranks},
      {"ring_of_a_batch", ring_of_a_batch},
      {"exchange_in_pairs", exchange_in_pairs},
      {"everybody_to_everybody", everybody_to_everybody},
      {"pipeline", pipeline},
      {"gather_by_messages", gather_by_messages},
      {"scatter_by_messages", scatter_by_messages},
      {"halo_exchange", halo_exchange},
      {"messages_between_collectives", messages_between_collectives},
      {"messages_beside_collectives", messages_beside_collectives},
      {"recv_from_anybody", recv_from_anybody},
      {"recv_from_anybody_of_all", recv_from_anybody_of_all},
      {"recv_from_anybody_then_from_one", recv_from_anybody_then_from_one},
      {"recv_from_anybody_in_a_group", recv_from_anybody_in_a_group},
      {"irecv_from_anybody", irecv_from_anybody},
      {"message_to_oneself", message_to_oneself, false},
      {"message_to_a_rank_that_does_not_exist", message_to_a_rank_that_does_not_exist, false},
      {"message_from_a_rank_that_does_not_exist", message_from_a_rank_that_does_not_exist, false},
      {"batch_of_nothing", batch_of_nothing},
  };
}

}  // namespace kernbench::testing::gloo
