// The programs of blocks.py.
#include "programs.h"

namespace kernbench::testing::gloo {
namespace {

using Tensors = std::vector<Tensor>;

Tensor blank(std::int64_t n, torch::ScalarType dtype = torch::kFloat) {
  return torch::zeros({n}, torch::dtype(dtype).device("ahbm"));
}
Tensors blanks(int count, std::int64_t n, torch::ScalarType dtype = torch::kFloat) {
  Tensors all;
  for (int i = 0; i < count; ++i) all.push_back(blank(n, dtype));
  return all;
}
void show_all(Rank& me, const Tensors& all) {
  for (const auto& each : all) me.show(each);
}

void all_gather_of_every_type(Rank& me) {
  for (const auto dtype : kTypes) {
    const auto xs = blanks(me.world, 6, dtype);
    dist::all_gather(xs, me.values(6, dtype));
    show_all(me, xs);
  }
}

void all_gather_of_odd_sizes(Rank& me) {
  for (const std::int64_t n : {1, 2, 31, 257}) {
    const auto xs = blanks(me.world, n);
    dist::all_gather(xs, me.values(n));
    show_all(me, xs);
  }
}

void all_gather_of_matrices(Rank& me) {
  Tensors xs;
  for (int i = 0; i < me.world; ++i) xs.push_back(blank(12).reshape({3, 4}));
  dist::all_gather(xs, me.values(12).reshape({3, 4}));
  show_all(me, xs);
}

void all_gather_beside_all_reduce(Rank& me) {
  const auto x = me.values(5);
  const auto xs = blanks(me.world, 5);
  const auto work = dist::all_gather(xs, x, {}, true);
  const auto y = me.values(4);
  dist::all_reduce(y);
  work->wait();
  me.show(y);
  show_all(me, xs);
}

void all_gather_into_what_does_not_fit(Rank& me) {
  me.attempt([&] { dist::all_gather(blanks(me.world - 1, 4), me.values(4)); });
  me.attempt([&] { dist::all_gather(blanks(me.world, 5), me.values(4)); });
  me.attempt([&] { dist::all_gather(blanks(me.world, 4, torch::kInt), me.values(4)); });
}

void gather_at_every_root(Rank& me) {
  for (int root = 0; root < me.world; ++root) {
    const auto xs = me.rank == root ? blanks(me.world, 7) : Tensors{};
    dist::gather(me.values(7), xs, root);
    show_all(me, xs);
  }
}

void gather_with_lists_where_none_should_be(Rank& me) {
  me.attempt([&] { dist::gather(me.values(3), me.rank != 0 ? blanks(me.world, 3) : Tensors{}, 0); });
}

void scatter_from_every_root(Rank& me) {
  for (int root = 0; root < me.world; ++root) {
    const auto x = blank(7);
    Tensors xs;
    for (int i = 0; i < me.world && me.rank == root; ++i) xs.push_back(values(me.rank + 2 * i, 7));
    dist::scatter(x, xs, root);
    me.show(x);
  }
}

void scatter_without_a_list(Rank& me) {
  me.attempt([&] { dist::scatter(blank(3), me.rank != 0 ? blanks(me.world, 3) : Tensors{}, 0); });
}

void reduce_to_every_root(Rank& me) {
  for (int root = 0; root < me.world; ++root) {
    for (const auto op : {ReduceOp::SUM, ReduceOp::MAX}) {
      const auto x = me.values(9);
      dist::reduce(x, root, op);
      if (me.rank == root) me.show(x);
    }
  }
}

void reduce_to_nobody(Rank& me) {
  me.attempt([&] { dist::reduce(me.values(3), me.world); });
}

void all_to_all_of_equal_parts(Rank& me) {
  for (const std::int64_t n : {1, 3}) {
    const auto x = me.values(n * me.world), y = blank(n * me.world);
    dist::all_to_all_single(y, x);
    me.show(y);
  }
}

void all_to_all_of_rows_by_sizes(Rank& me) {
  std::vector<std::int64_t> sends, receives;
  std::int64_t sent = 0, received = 0;
  for (int other = 0; other < me.world; ++other) {
    sent += sends.emplace_back((me.rank + 2 * other) % 3);
    received += receives.emplace_back((other + 2 * me.rank) % 3);
  }
  const auto x = me.values(4 * sent).reshape({sent, 4}), y = blank(4 * received).reshape({received, 4});
  dist::all_to_all_single(y, x, receives, sends);
  me.show(y);
}

void all_to_all_of_sizes_that_do_not_fit(Rank& me) {
  const auto x = me.values(me.world + 1), y = blank(me.world + 1);
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(me.world), 1), one{me.world + 1};
  me.attempt([&] { dist::all_to_all_single(y, x, ones, ones); });
  me.attempt([&] { dist::all_to_all_single(y, x, one, one); });
}

void blocks_in_a_group(Rank& me) {
  const auto group = dist::new_group({1, 2, 3});
  if (me.rank < 1 || me.rank > 3) return;
  const auto xs = blanks(3, 4);
  dist::all_gather(xs, me.values(4), group);
  const auto y = me.values(4);
  dist::reduce(y, 2, ReduceOp::SUM, group);
  show_all(me, xs);
  if (me.rank == 2) me.show(y);
}

void a_mixed_sequence_of_blocks(Rank& me) {
  auto x = me.values(2 * me.world);
  for (int i = 0; i < 4; ++i) {
    const auto y = blank(2 * me.world);
    dist::all_to_all_single(y, x);
    dist::all_reduce(y, i % 2 == 1 ? ReduceOp::MAX : ReduceOp::SUM);
    const auto xs = blanks(me.world, 2);
    dist::all_gather(xs, y.narrow(0, 2 * me.rank, 2).clone());
    x = torch::cat(xs) + me.rank;
  }
  me.show(x);
}

}  // namespace

std::vector<Program> block_programs() {
  return {
      {"all_gather_of_every_type", all_gather_of_every_type},
      {"all_gather_of_odd_sizes", all_gather_of_odd_sizes},
      {"all_gather_of_matrices", all_gather_of_matrices},
      {"all_gather_beside_all_reduce", all_gather_beside_all_reduce},
      {"all_gather_into_what_does_not_fit", all_gather_into_what_does_not_fit},
      {"gather_at_every_root", gather_at_every_root},
      {"gather_with_lists_where_none_should_be", gather_with_lists_where_none_should_be},
      {"scatter_from_every_root", scatter_from_every_root},
      {"scatter_without_a_list", scatter_without_a_list},
      {"reduce_to_every_root", reduce_to_every_root},
      {"reduce_to_nobody", reduce_to_nobody},
      {"all_to_all_of_equal_parts", all_to_all_of_equal_parts},
      {"all_to_all_of_rows_by_sizes", all_to_all_of_rows_by_sizes},
      {"all_to_all_of_sizes_that_do_not_fit", all_to_all_of_sizes_that_do_not_fit},
      {"blocks_in_a_group", blocks_in_a_group},
      {"a_mixed_sequence_of_blocks", a_mixed_sequence_of_blocks},
  };
}

}  // namespace kernbench::testing::gloo
