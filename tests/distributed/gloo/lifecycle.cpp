// The programs of lifecycle.py.
#include <stdexcept>

#include "programs.h"
#include "sim/fiber.h"

namespace kernbench::testing::gloo {
namespace {

void init_and_destroy(Rank& me) {
  me.say(dist::is_initialized());
  join_world(me);
  me.say(dist::is_initialized(), dist::get_rank(), dist::get_world_size());
  dist::destroy_process_group();
  me.say(dist::is_initialized());
}

void init_of_what_spawn_has_given(Rank& me) {
  dist::init_process_group("ahbm");
  const auto x = values(dist::get_rank(), 4);
  dist::all_reduce(x);
  me.show(x);
}

void init_again_after_destroy(Rank& me) {
  for (int i = 0; i < 3; ++i) {
    join_world(me, i);
    const auto x = values(me.rank + i, 5);
    dist::all_reduce(x);
    me.show(x);
    dist::destroy_process_group();
  }
}

void init_with_other_ranks_after_destroy(Rank& me) {
  join_world(me);
  const auto x = values(dist::get_rank(), 3);
  dist::broadcast(x, 1);
  dist::destroy_process_group();
  dist::init_process_group("ahbm", me.world - 1 - me.rank, me.world);
  me.say(dist::get_rank());
  dist::broadcast(x, 1);
  const auto y = values(dist::get_rank(), 3);
  dist::broadcast(y, 1);
  me.show(x, y);
}

void a_smaller_world_after_destroy(Rank& me) {
  join_world(me);
  dist::barrier();
  dist::destroy_process_group();
  if (me.rank == 2) return;
  dist::init_process_group("ahbm", me.rank, 2);
  const auto x = me.values(4);
  dist::all_reduce(x);
  me.show(x);
}

void init_twice(Rank& me) {
  join_world(me);
  me.attempt([&] { join_world(me, 1); });
  const auto x = me.values(4);
  dist::all_reduce(x);
  me.show(x);
}

void before_init(Rank& me) {
  me.attempt([] { dist::get_rank(); });
  me.attempt([] { dist::get_world_size(); });
  me.attempt([&] { dist::all_reduce(me.values(3)); });
  me.attempt([] { dist::barrier(); });
  me.attempt([&] { dist::send(me.values(3), 1 - me.rank); });
  me.attempt([] { dist::new_group({0}); });
  me.attempt([] { dist::destroy_process_group(); });
}

void after_destroy(Rank& me) {
  join_world(me);
  dist::destroy_process_group();
  me.attempt([] { dist::get_rank(); });
  me.attempt([&] { dist::all_reduce(me.values(3)); });
}

void init_of_an_unknown_backend(Rank& me) {
  me.attempt([&] { dist::init_process_group("telepathy", me.rank, me.world); });
  me.say(dist::is_initialized());
}

void pass_without(Rank& me, const std::vector<int>& missing) {
  join_world(me);
  for (const int rank : missing) {
    if (me.rank == rank) return sim::this_fiber::sleep(Time::milliseconds(1500));
  }
  try {
    dist::monitored_barrier({}, Time::seconds(1), true);
    me.say("passed");
  } catch (const ProgramError& error) {
    me.say(me.rank == 0 ? error.what() : "throws");
  }
}

void a_rank_that_ends_early(Rank& me) {
  join_world(me);
  dist::all_reduce(me.values(4));
  if (me.rank == 1) return;
  const auto x = me.values(4);
  dist::all_reduce(x);
  me.show(x);
}

void a_rank_that_throws(Rank& me) {
  join_world(me);
  dist::barrier();
  if (me.rank == 0) throw std::runtime_error("of rank 0");
  dist::barrier();
}

void messages_of_sizes_that_do_not_fit(Rank& me) {
  join_world(me);
  if (me.rank == 0) {
    dist::send(me.values(9), 1);
    dist::barrier();
  } else {
    dist::recv(me.values(4), 0);
  }
}

}  // namespace

std::vector<Program> lifecycle_programs() {
  return {
      {"init_and_destroy", init_and_destroy, false},
      {"init_of_what_spawn_has_given", init_of_what_spawn_has_given, false},
      {"init_again_after_destroy", init_again_after_destroy, false},
      {"init_with_other_ranks_after_destroy", init_with_other_ranks_after_destroy, false},
      {"a_smaller_world_after_destroy", a_smaller_world_after_destroy, false},
      {"init_twice", init_twice, false},
      {"before_init", before_init, false},
      {"after_destroy", after_destroy, false},
      {"init_of_an_unknown_backend", init_of_an_unknown_backend, false},
      {"monitored_barrier_without_a_rank", [](Rank& me) { pass_without(me, {1}); }, false},
      {"monitored_barrier_without_two_ranks", [](Rank& me) { pass_without(me, {1, 3}); }, false},
      {"a_rank_that_ends_early",
       a_rank_that_ends_early,
       false,
       {"DeadlockError", "ALLREDUCE (sequence number 2) of the default group on rank 1, which ended",
        "on rank 1, which ended"}},
      {"a_rank_that_throws",
       a_rank_that_throws,
       false,
       {"-- Process 0 terminated with the following error:", "of rank 0", "Unwound because of it: rank"}},
      {"messages_of_sizes_that_do_not_fit",
       messages_of_sizes_that_do_not_fit,
       false,
       {"Detected mismatch in the transfer from rank 0 to rank 1", "Tensor shapes: [9] vs [4]"}},
  };
}

}  // namespace kernbench::testing::gloo
