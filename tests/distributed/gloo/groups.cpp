// The programs of groups.py.
#include "programs.h"

namespace kernbench::testing::gloo {
namespace {

using dist::ProcessGroup;

dist::WorkRef start_all_reduce_in(const Tensor& x, const ProcessGroup& group) {
  return dist::all_reduce(x, ReduceOp::SUM, group, true);
}

void disjoint_groups(Rank& me) {
  const auto low = dist::new_group({0, 1}), high = dist::new_group({2, 3});
  const auto x = me.values(7);
  dist::all_reduce(x, ReduceOp::SUM, me.rank < 2 ? low : high);
  me.show(x);
}

void overlapping_groups(Rank& me) {
  const auto first = dist::new_group({0, 1}), second = dist::new_group({1, 2});
  const auto x = me.values(7);
  dist::all_reduce(x, ReduceOp::SUM, first);
  dist::all_reduce(x, ReduceOp::SUM, second);
  me.show(x);
}

void ranks_out_of_order(Rank& me) {
  const auto group = dist::new_group({3, 0, 2});
  me.say(dist::get_rank(group), dist::get_world_size(group));
  const auto x = me.values(5);
  dist::broadcast(x, 3, group);
  me.show(x);
}

void numbers_in_groups(Rank& me) {
  const std::vector<ProcessGroup> groups{dist::new_group({0, 2}), dist::new_group({1}), dist::new_group(),
                                         dist::new_group({2, 1})};
  for (const auto& group : groups) me.say(dist::get_rank(group), dist::get_world_size(group));
  me.say(dist::get_rank(), dist::get_world_size());
}

void global_ranks(Rank& me) {
  const auto group = dist::new_group({2, 0});
  if (me.rank != 0 && me.rank != 2) return;
  me.say(dist::get_global_rank(group, 0), dist::get_global_rank(group, 1));
  me.attempt([&] { dist::get_global_rank(group, 2); });
}

void group_of_one(Rank& me) {
  const auto group = dist::new_group({1});
  const auto x = me.values(4);
  dist::all_reduce(x, ReduceOp::SUM, group);
  dist::broadcast(x, 1, group);
  if (me.rank == 1) dist::barrier(group);
  me.show(x);
}

void group_of_all(Rank& me) {
  const auto group = dist::new_group();
  const auto x = me.values(6);
  dist::all_reduce(x, ReduceOp::SUM, group);
  dist::all_reduce(x);
  me.show(x);
}

void group_of_all_backwards(Rank& me) {
  const auto group = dist::new_group({2, 1, 0});
  me.say(dist::get_rank(group));
  const auto x = me.values(6);
  dist::broadcast(x, 2, group);
  me.show(x);
}

void foreign_group(Rank& me) {
  const auto group = dist::new_group({0, 1});
  const auto x = me.values(3);
  const auto work = start_all_reduce_in(x, group);
  me.say(work == nullptr);
  if (work) work->wait();
  me.show(x);
}

void twice_the_same_group(Rank& me) {
  const auto one = dist::new_group({0, 1}), other = dist::new_group({0, 1});
  const auto x = me.values(4), y = me.values(6);
  dist::all_reduce(x, ReduceOp::SUM, one);
  dist::all_reduce(y, ReduceOp::MAX, other);
  me.show(x, y);
}

void rows_and_columns(Rank& me) {
  const int columns = me.world / 2;
  std::vector<ProcessGroup> rows, pairs;
  for (int row = 0; row < 2; ++row) {
    std::vector<int> ranks;
    for (int rank = row * columns; rank < (row + 1) * columns; ++rank) ranks.push_back(rank);
    rows.push_back(dist::new_group(ranks));
  }
  for (int column = 0; column < columns; ++column) pairs.push_back(dist::new_group({column, column + columns}));
  const auto x = me.values(9);
  dist::all_reduce(x, ReduceOp::SUM, rows[static_cast<std::size_t>(me.rank / columns)]);
  dist::all_reduce(x, ReduceOp::MAX, pairs[static_cast<std::size_t>(me.rank % columns)]);
  me.show(x);
}

void works_of_two_groups(Rank& me) {
  const auto even = dist::new_group({0, 2}), front = dist::new_group({0, 1, 2});
  const auto x = me.values(8), y = me.values(5);
  const auto first = start_all_reduce_in(x, even), second = start_all_reduce_in(y, front);
  for (const auto& work : {second, first}) {
    if (work) work->wait();
  }
  me.show(x, y);
}

void groups_in_another_order_on_each_rank(Rank& me) {
  const auto pair = dist::new_group({0, 1}), all_ranks = dist::new_group();
  const auto x = me.values(8), y = me.values(5);
  std::vector<dist::WorkRef> works;
  if (me.rank == 0) works.push_back(start_all_reduce_in(x, pair));
  works.push_back(start_all_reduce_in(y, all_ranks));
  if (me.rank == 1) works.push_back(start_all_reduce_in(x, pair));
  for (const auto& work : works) work->wait();
  me.show(x, y);
}

void broadcast_from_every_member(Rank& me) {
  const auto group = dist::new_group({1, 2, 3});
  for (const int root : {1, 2, 3}) {
    const auto x = me.values(6);
    if (me.rank > 0) dist::broadcast(x, root, group);
    me.show(x);
  }
}

void broadcast_from_outside_of_the_group(Rank& me) {
  const auto group = dist::new_group({0, 1});
  if (me.rank < 2) me.attempt([&] { dist::broadcast(me.values(3), 2, group); });
}

void messages_in_a_group(Rank& me) {
  const auto group = dist::new_group({2, 1});
  const auto x = me.values(5);
  if (me.rank == 1) dist::send(x, 2, group);
  if (me.rank == 2) me.say(dist::recv(x, 1, group));
  me.show(x);
}

void messages_to_outside_of_the_group(Rank& me) {
  const auto group = dist::new_group({0, 1});
  if (me.rank < 2) me.attempt([&] { dist::send(me.values(3), 2, group); });
}

void barriers_of_groups(Rank& me) {
  const auto group = dist::new_group({0, 2});
  if (me.rank == 0 || me.rank == 2) {
    dist::barrier(group);
    dist::monitored_barrier(group, Time::seconds(60));
  }
  dist::barrier();
  me.say("passed");
}

void group_of_ranks_that_do_not_exist(Rank& me) {
  me.attempt([&] { dist::new_group({0, me.world}); });
  me.attempt([&] { dist::new_group({-1, 0}); });
}

void a_group_is_destroyed_and_the_world_goes_on(Rank& me) {
  const auto group = dist::new_group({0, 1});
  const auto x = me.values(4);
  dist::all_reduce(x, ReduceOp::SUM, group);
  if (me.rank < 2) dist::destroy_process_group(group);
  dist::all_reduce(x);
  me.show(x);
}

void many_groups(Rank& me) {
  const auto x = me.values(6);
  for (int i = 0; i < me.world; ++i) {
    const auto group = dist::new_group({i, (i + 1) % me.world, (i + 3) % me.world});
    dist::all_reduce(x, i % 2 == 1 ? ReduceOp::MAX : ReduceOp::MIN, group);
  }
  me.show(x);
}

}  // namespace

std::vector<Program> group_programs() {
  return {
      {"disjoint_groups", disjoint_groups},
      {"overlapping_groups", overlapping_groups},
      {"ranks_out_of_order", ranks_out_of_order},
      {"numbers_in_groups", numbers_in_groups},
      {"global_ranks", global_ranks},
      {"group_of_one", group_of_one},
      {"group_of_all", group_of_all},
      {"group_of_all_backwards", group_of_all_backwards},
      {"foreign_group", foreign_group},
      {"twice_the_same_group", twice_the_same_group},
      {"rows_and_columns", rows_and_columns},
      {"works_of_two_groups", works_of_two_groups},
      {"groups_in_another_order_on_each_rank", groups_in_another_order_on_each_rank},
      {"broadcast_from_every_member", broadcast_from_every_member},
      {"broadcast_from_outside_of_the_group", broadcast_from_outside_of_the_group},
      {"messages_in_a_group", messages_in_a_group},
      {"messages_to_outside_of_the_group", messages_to_outside_of_the_group},
      {"barriers_of_groups", barriers_of_groups},
      {"group_of_ranks_that_do_not_exist", group_of_ranks_that_do_not_exist},
      {"a_group_is_destroyed_and_the_world_goes_on", a_group_is_destroyed_and_the_world_goes_on},
      {"many_groups", many_groups},
  };
}

}  // namespace kernbench::testing::gloo
