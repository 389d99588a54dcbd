// The programs of collectives.py.
#include "programs.h"

namespace kernbench::testing::gloo {
namespace {

void reduce_and_show(Rank& me, const Tensor& x, ReduceOp op = ReduceOp::SUM) {
  dist::all_reduce(x, op);
  me.show(x);
}

dist::WorkRef start_all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM) {
  return dist::all_reduce(x, op, {}, true);
}

void all_reduce_sum_of_every_type(Rank& me) {
  for (const auto dtype : kTypes) reduce_and_show(me, me.values(9, dtype));
}

void all_reduce_extremes_of_every_type(Rank& me) {
  for (const auto dtype : kTypes) {
    const auto low = me.values(6, dtype), high = me.values(6, dtype);
    dist::all_reduce(low, ReduceOp::MIN);
    dist::all_reduce(high, ReduceOp::MAX);
    me.show(low, high);
  }
}

void all_reduce_product_of_every_type(Rank& me) {
  for (const auto dtype : kTypes) reduce_and_show(me, me.values(5, dtype), ReduceOp::PRODUCT);
}

void all_reduce_bits(Rank& me) {
  for (const auto dtype : kIntegers) {
    for (const auto op : {ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR}) {
      reduce_and_show(me, me.values(10, dtype) + 3, op);
    }
  }
}

void all_reduce_wraps_integers_around(Rank& me) {
  const auto full = [](std::int64_t value, torch::ScalarType dtype) {
    return torch::full({3}, value, torch::dtype(dtype).device("ahbm"));
  };
  for (const auto& x : {full(200, torch::kByte), full(100, torch::kChar), full(2000000000, torch::kInt)}) {
    reduce_and_show(me, x);
  }
}

void all_reduce_of_prime_sizes(Rank& me) {
  for (const std::int64_t n : {13, 127, 1009}) reduce_and_show(me, me.values(n));
}

void all_reduce_of_a_range(Rank& me) {
  const auto x = me.values(20);
  dist::all_reduce(x.narrow(0, 3, 11));
  me.show(x);
}

void all_reduce_of_a_row(Rank& me) {
  const auto x = me.values(24).reshape({4, 6});
  dist::all_reduce(x[2]);
  me.show(x);
}

void all_reduce_of_a_reshaped_tensor(Rank& me) {
  const auto x = me.values(12);
  dist::all_reduce(x.view({3, 4}));
  me.show(x);
}

void all_reduce_again_and_again(Rank& me) {
  const auto x = me.values(5);
  for (int i = 0; i < 6; ++i) dist::all_reduce(x);
  me.show(x);
}

void all_reduce_between_computations(Rank& me) {
  const auto x = me.values(6), y = x * 2 + 1;
  dist::all_reduce(y);
  const auto z = y - x;
  dist::all_reduce(z, ReduceOp::MAX);
  me.show(x, y, z);
}

void all_reduce_of_a_copy_leaves_the_original(Rank& me) {
  const auto x = me.values(6), y = x.clone();
  dist::all_reduce(y);
  me.show(x, y);
}

void all_reduce_returns_nothing(Rank& me) {
  const auto x = me.values(3);
  me.say(dist::all_reduce(x) == nullptr, dist::broadcast(x, 0) == nullptr, dist::barrier() == nullptr);
}

void reductions_that_do_not_exist(Rank& me) {
  for (const auto dtype : {torch::kFloat, torch::kHalf}) {
    for (const auto op : {ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR}) {
      me.attempt([&] { dist::all_reduce(me.values(3, dtype), op); });
    }
  }
}

void broadcast_from_every_root(Rank& me) {
  for (int root = 0; root < me.world; ++root) {
    const auto x = me.values(9);
    dist::broadcast(x, root);
    me.show(x);
  }
}

void broadcast_of_every_type(Rank& me) {
  for (const auto dtype : kTypes) {
    const auto x = me.values(7, dtype);
    dist::broadcast(x, me.world - 1);
    me.show(x);
  }
}

void broadcast_of_odd_sizes(Rank& me) {
  for (const std::int64_t n : {0, 1, 2, 31, 257}) {
    const auto x = me.values(n);
    dist::broadcast(x, 1);
    me.show(x);
  }
}

void broadcast_into_a_range(Rank& me) {
  const auto x = me.values(15).reshape({5, 3});
  dist::broadcast(x.narrow(0, 1, 2), 2);
  me.show(x);
}

void broadcast_from_nobody(Rank& me) {
  me.attempt([&] { dist::broadcast(me.values(3), me.world); });
}

void broadcast_then_all_reduce(Rank& me) {
  auto x = me.values(10);
  dist::broadcast(x, me.world - 1);
  x += me.rank;
  reduce_and_show(me, x);
}

void works_in_order(Rank& me) {
  const std::vector<Tensor> xs{me.values(4), me.values(9), me.values(2)};
  std::vector<dist::WorkRef> works;
  for (const auto& x : xs) works.push_back(start_all_reduce(x));
  for (const auto& work : works) me.say(work->wait());
  for (const auto& x : xs) me.show(x);
}

void works_in_reverse(Rank& me) {
  const std::vector<Tensor> xs{me.values(4), me.values(9), me.values(2), me.values(17)};
  std::vector<dist::WorkRef> works;
  for (const auto& x : xs) works.push_back(start_all_reduce(x, ReduceOp::MAX));
  for (std::size_t i = works.size(); i-- > 0;) works[i]->wait();
  for (const auto& x : xs) me.show(x);
}

void works_in_an_order_of_each_rank(Rank& me) {
  std::vector<Tensor> xs;
  std::vector<dist::WorkRef> works;
  for (int i = 0; i < me.world; ++i) {
    xs.push_back(me.values(i + 3));
    works.push_back(dist::broadcast(xs.back(), i, {}, true));
  }
  for (int i = 0; i < me.world; ++i) works[static_cast<std::size_t>((i + me.rank) % me.world)]->wait();
  for (const auto& x : xs) me.show(x);
}

void works_waited_for_twice(Rank& me) {
  const auto x = me.values(8);
  const auto work = start_all_reduce(x);
  const bool first = work->wait();
  me.say(first, work->wait());
  me.show(x);
}

void works_that_have_ended(Rank& me) {
  const auto x = me.values(8);
  const auto work = start_all_reduce(x);
  finish(work);
  me.show(x);
  me.say(work->is_completed(), work->is_success());
}

void works_of_all_kinds(Rank& me) {
  const auto x = me.values(12), y = me.values(5);
  const auto first = start_all_reduce(x), second = dist::broadcast(y, 1, {}, true), third = dist::barrier({}, true);
  for (const auto& work : {third, second, first}) work->wait();
  me.show(x, y);
}

void synchronous_behind_asynchronous(Rank& me) {
  const auto x = me.values(6), y = me.values(6);
  const auto work = start_all_reduce(x);
  dist::all_reduce(y, ReduceOp::MIN);
  work->wait();
  me.show(x, y);
}

void barriers(Rank& me) {
  const auto x = me.values(3);
  for (int i = 0; i < 3; ++i) {
    dist::barrier();
    dist::all_reduce(x);
  }
  me.show(x);
}

void monitored_barriers(Rank& me) {
  for (int i = 0; i < 2; ++i) dist::monitored_barrier({}, Time::seconds(60));
  me.say("passed");
}

void a_long_mixed_sequence(Rank& me) {
  auto x = me.values(16);
  for (int i = 0; i < 12; ++i) {
    if (i % 4 == 0) {
      dist::all_reduce(x, ReduceOp::MAX);
    } else if (i % 4 == 1) {
      dist::broadcast(x, i % me.world);
    } else if (i % 4 == 2) {
      dist::barrier();
    } else {
      x += me.rank + i;
    }
  }
  me.show(x);
}

}  // namespace

std::vector<Program> collective_programs() {
  return {
      {"all_reduce_sum", [](Rank& me) { reduce_and_show(me, me.values(7)); }},
      {"all_reduce_product", [](Rank& me) { reduce_and_show(me, me.values(11) + 1, ReduceOp::PRODUCT); }},
      {"all_reduce_min", [](Rank& me) { reduce_and_show(me, me.values(13) - 2, ReduceOp::MIN); }},
      {"all_reduce_max", [](Rank& me) { reduce_and_show(me, me.values(13) - 2, ReduceOp::MAX); }},
      {"all_reduce_sum_of_every_type", all_reduce_sum_of_every_type},
      {"all_reduce_extremes_of_every_type", all_reduce_extremes_of_every_type},
      {"all_reduce_product_of_every_type", all_reduce_product_of_every_type},
      {"all_reduce_bits", all_reduce_bits},
      {"all_reduce_wraps_integers_around", all_reduce_wraps_integers_around},
      {"all_reduce_of_fractions", [](Rank& me) { reduce_and_show(me, me.values(8) * 0.25 - 0.125); }},
      {"all_reduce_of_nothing", [](Rank& me) { reduce_and_show(me, me.values(0)); }},
      {"all_reduce_of_one_element", [](Rank& me) { reduce_and_show(me, me.values(1)); }},
      {"all_reduce_of_two_elements", [](Rank& me) { reduce_and_show(me, me.values(2)); }},
      {"all_reduce_of_prime_sizes", all_reduce_of_prime_sizes},
      {"all_reduce_of_a_scalar",
       [](Rank& me) { reduce_and_show(me, torch::tensor(static_cast<float>(me.rank) + 2.0f).to("ahbm")); }},
      {"all_reduce_of_many_dimensions", [](Rank& me) { reduce_and_show(me, me.values(42).reshape({2, 7, 3})); }},
      {"all_reduce_of_a_range", all_reduce_of_a_range},
      {"all_reduce_of_a_row", all_reduce_of_a_row},
      {"all_reduce_of_a_reshaped_tensor", all_reduce_of_a_reshaped_tensor},
      {"all_reduce_again_and_again", all_reduce_again_and_again},
      {"all_reduce_between_computations", all_reduce_between_computations},
      {"all_reduce_of_a_copy_leaves_the_original", all_reduce_of_a_copy_leaves_the_original},
      {"all_reduce_returns_nothing", all_reduce_returns_nothing},
      {"reductions_that_do_not_exist", reductions_that_do_not_exist},
      {"broadcast_from_every_root", broadcast_from_every_root},
      {"broadcast_of_every_type", broadcast_of_every_type},
      {"broadcast_of_odd_sizes", broadcast_of_odd_sizes},
      {"broadcast_into_a_range", broadcast_into_a_range},
      {"broadcast_from_nobody", broadcast_from_nobody},
      {"broadcast_then_all_reduce", broadcast_then_all_reduce},
      {"works_in_order", works_in_order},
      {"works_in_reverse", works_in_reverse},
      {"works_in_an_order_of_each_rank", works_in_an_order_of_each_rank},
      {"works_waited_for_twice", works_waited_for_twice},
      {"works_that_have_ended", works_that_have_ended},
      {"works_of_all_kinds", works_of_all_kinds},
      {"synchronous_behind_asynchronous", synchronous_behind_asynchronous},
      {"barriers", barriers},
      {"monitored_barriers", monitored_barriers},
      {"a_long_mixed_sequence", a_long_mixed_sequence},
  };
}

}  // namespace kernbench::testing::gloo
