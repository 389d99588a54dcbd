// The programs of objects.py.
#include "kernbench/objects.h"

#include "kernbench/subgroups.h"
#include "programs.h"

namespace kernbench::testing::gloo {
namespace {

using Strings = std::vector<std::string>;

std::string an_object(int rank) {
  std::string text;
  for (int i = 0; i <= rank && rank != 1; ++i) text += "object " + std::to_string(rank) + " ";
  return text;
}

void say_all(Rank& me, const Strings& words) {
  for (const auto& each : words) me.say(each);
}

void objects_of_all(Rank& me) {
  Strings everyone(static_cast<std::size_t>(me.world));
  dist::all_gather_object(everyone, an_object(me.rank));
  say_all(me, everyone);
}

void objects_to_a_root(Rank& me) {
  Strings everyone(static_cast<std::size_t>(me.world));
  dist::gather_object(an_object(me.rank), me.rank == 1 ? &everyone : nullptr, 1);
  if (me.rank == 1) say_all(me, everyone);
  me.attempt([&] { dist::gather_object("x", me.rank == 0 ? nullptr : &everyone, 0); });
}

void objects_from_a_root(Rank& me) {
  Strings words = me.rank == 1 ? Strings{"one", "", "three"} : Strings(3);
  dist::broadcast_object_list(words, 1);
  say_all(me, words);
  Strings mine(1), all, none;
  for (int rank = 0; rank < me.world; ++rank) all.push_back(an_object(rank));
  dist::scatter_object_list(mine, me.rank == 0 ? all : none, 0);
  me.say(mine.front());
  me.attempt([&] { dist::scatter_object_list(none, {}, 0); });
}

void objects_in_a_group(Rank& me) {
  const auto group = dist::new_group({1, 3});
  if (me.rank % 2 == 0) return;
  Strings everyone(2);
  dist::all_gather_object(everyone, an_object(me.rank), group);
  say_all(me, everyone);
}

void show_sum_in(Rank& me, const dist::Subgroups& subgroups) {
  const auto x = me.values(5);
  dist::all_reduce(x, ReduceOp::SUM, subgroups.first);
  me.say(dist::get_rank(subgroups.first), static_cast<int>(subgroups.second.size()));
  me.show(x);
}

void subgroups_of_a_size(Rank& me) {
  show_sum_in(me, dist::new_subgroups(2));
  me.attempt([] { dist::new_subgroups(0); });
  me.attempt([&] { dist::new_subgroups(me.world + 1); });
  me.attempt([&] { dist::new_subgroups(me.world - 1); });
}

void subgroups_of_these_ranks(Rank& me) {
  show_sum_in(me, dist::new_subgroups_by_enumeration({{0, 3}, {1, 2}}));
  me.attempt([] { dist::new_subgroups_by_enumeration({}); });
}

void several_tensors_at_once(Rank& me) {
  const auto x = values(me.rank, 4), y = values(me.rank + 1, 9);
  dist::all_reduce_coalesced({x, y});
  me.show(x, y);
  std::vector<std::vector<Tensor>> lists;
  for (int rank = 0; rank < me.world; ++rank)
    lists.push_back({torch::zeros({3}, torch::device("ahbm")), torch::zeros({5}, torch::device("ahbm"))});
  dist::all_gather_coalesced(lists, {values(me.rank, 3), values(me.rank + 2, 5)});
  for (const auto& each : lists) me.show(each[0], each[1]);
}

}  // namespace

std::vector<Program> object_programs() {
  return {
      {"objects_of_all", objects_of_all},
      {"objects_to_a_root", objects_to_a_root},
      {"objects_from_a_root", objects_from_a_root},
      {"objects_in_a_group", objects_in_a_group},
      {"subgroups_of_a_size", subgroups_of_a_size},
      {"subgroups_of_these_ranks", subgroups_of_these_ranks},
      {"several_tensors_at_once", several_tensors_at_once},
  };
}

}  // namespace kernbench::testing::gloo
