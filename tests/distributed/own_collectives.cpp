#include "own_collectives.h"

#include <gtest/gtest.h>

#include <string>

#include "kernbench/kernbench.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using collectives::Elements;
using collectives::Operation;
using collectives::Program;

constexpr std::int64_t kBlock = 37;

void send_all(const Program& program, int to, const Elements& elements) {
  for (std::int64_t tile = 0; tile < elements.tiles(); ++tile) program.send(to, elements.load(tile));
}
void receive_all(const Program& program, int from, const Elements& elements) {
  for (std::int64_t tile = 0; tile < elements.tiles(); ++tile)
    elements.store(tile, program.receive(from, elements, tile));
}
void keep(const Elements& from, const Elements& to) {
  for (std::int64_t tile = 0; tile < from.tiles(); ++tile) to.store(tile, from.load(tile));
}

void broadcast(Program& program) {
  const auto mine = program.input();
  if (program.rank() != program.root()) return receive_all(program, program.root(), mine);
  for (int step = 1; step < program.ranks(); ++step) send_all(program, program.after(step), mine);
}
void reduce(Program& program) {
  const auto mine = program.input();
  if (program.rank() != program.root()) return send_all(program, program.root(), mine);
  for (std::int64_t tile = 0; tile < mine.tiles(); ++tile) {
    tl::Tile sum = mine.load(tile);
    for (int step = 1; step < program.ranks(); ++step)
      sum = program.reduce(sum, program.receive(program.after(step), mine, tile));
    mine.store(tile, program.finish(sum));
  }
}
void all_gather(Program& program) {
  keep(program.input(), program.output(program.rank()));
  for (int step = 1; step < program.ranks(); ++step) send_all(program, program.after(step), program.input());
  for (int step = 1; step < program.ranks(); ++step)
    receive_all(program, program.before(step), program.output(program.before(step)));
}
void reduce_scatter(Program& program) {
  for (int step = 1; step < program.ranks(); ++step)
    send_all(program, program.after(step), program.input(program.after(step)));
  const auto own = program.input(program.rank()), out = program.output();
  for (std::int64_t tile = 0; tile < own.tiles(); ++tile) {
    tl::Tile sum = own.load(tile);
    for (int step = 1; step < program.ranks(); ++step)
      sum = program.reduce(sum, program.receive(program.before(step), own, tile));
    out.store(tile, program.finish(sum));
  }
}
void gather(Program& program) {
  if (program.rank() != program.root()) return send_all(program, program.root(), program.input());
  keep(program.input(), program.output(program.rank()));
  for (int step = 1; step < program.ranks(); ++step)
    receive_all(program, program.after(step), program.output(program.after(step)));
}
void scatter(Program& program) {
  if (program.rank() != program.root()) return receive_all(program, program.root(), program.output());
  keep(program.input(program.rank()), program.output());
  for (int step = 1; step < program.ranks(); ++step)
    send_all(program, program.after(step), program.input(program.after(step)));
}
void all_to_all(Program& program) {
  keep(program.input(program.rank()), program.output(program.rank()));
  for (int step = 1; step < program.ranks(); ++step)
    send_all(program, program.after(step), program.input(program.after(step)));
  for (int step = 1; step < program.ranks(); ++step)
    receive_all(program, program.before(step), program.output(program.before(step)));
}

collectives::Algorithm relay(const char* name, Operation operation, void (*kernel)(Program&)) {
  return {.name = name,
          .operation = operation,
          .method = "straight",
          .fold_order = "own first, then by distance",
          .channels = [](const collectives::Shape& shape) { return collectives::all_channels(shape.ranks); },
          .kernel = kernel};
}

/// Element i of block `block` of a rank.
double element(int rank, int block, std::int64_t i) {
  return static_cast<double>(100 * rank + 10 * block + i % 7);
}
torch::Tensor on_device(const std::vector<double>& values) {
  return torch::tensor(values, torch::dtype(torch::kFloat)).to("ahbm");
}
/// Blocks of a rank, one after the other.
torch::Tensor blocks_of(int rank, int first, int count) {
  std::vector<double> values;
  for (int block = first; block < first + count; ++block)
    for (std::int64_t i = 0; i < kBlock; ++i) values.push_back(element(rank, block, i));
  return on_device(values);
}
std::vector<torch::Tensor> list_of(const torch::Tensor& whole, int ranks) {
  std::vector<torch::Tensor> list;
  for (int rank = 0; rank < ranks; ++rank) list.push_back(whole.narrow(0, rank * kBlock, kBlock));
  return list;
}
void expect_values(const torch::Tensor& found, const std::function<double(std::int64_t)>& wanted, const char* what) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < found.numel(); ++i) values.push_back(wanted(i));
  EXPECT_TRUE(torch::equal(found.cpu(), torch::tensor(values, torch::dtype(torch::kFloat)))) << what;
}
double sum_of(int ranks, int block, std::int64_t i) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += element(rank, block, i);
  return sum;
}

}  // namespace

std::vector<collectives::Algorithm> relays_of_all_operations() {
  return {relay("relay_broadcast", Operation::broadcast, broadcast),
          relay("relay_reduce", Operation::reduce, reduce),
          relay("relay_all_gather", Operation::all_gather, all_gather),
          relay("relay_reduce_scatter", Operation::reduce_scatter, reduce_scatter),
          relay("relay_gather", Operation::gather, gather),
          relay("relay_scatter", Operation::scatter, scatter),
          relay("relay_all_to_all", Operation::all_to_all, all_to_all)};
}

void check_relays(int rank, int ranks) {
  dist::init_process_group("ahbm", rank, ranks);
  const auto group = [](const char* algorithm) { return dist::new_group({}, {.algorithm = algorithm}); };
  const int root = ranks - 1;
  const auto x = blocks_of(rank, 0, 1);
  dist::broadcast(x, root, group("relay_broadcast"));
  expect_values(x, [&](std::int64_t i) { return element(root, 0, i); }, "broadcast");

  const auto y = blocks_of(rank, 0, 1);
  dist::reduce(y, root, dist::ReduceOp::SUM, group("relay_reduce"));
  expect_values(y, [&](std::int64_t i) { return rank == root ? sum_of(ranks, 0, i) : element(rank, 0, i); }, "reduce");

  const auto all = torch::zeros({ranks * kBlock}, torch::device("ahbm"));
  dist::all_gather_into_tensor(all, blocks_of(rank, 3, 1), group("relay_all_gather"));
  expect_values(
      all, [&](std::int64_t i) { return element(static_cast<int>(i / kBlock), 3, i % kBlock); }, "all_gather");

  const auto one = torch::zeros({kBlock}, torch::device("ahbm"));
  dist::reduce_scatter_tensor(one, blocks_of(rank, 0, ranks), dist::ReduceOp::SUM, group("relay_reduce_scatter"));
  expect_values(one, [&](std::int64_t i) { return sum_of(ranks, rank, i); }, "reduce_scatter");

  const auto gathered = torch::zeros({ranks * kBlock}, torch::device("ahbm"));
  dist::gather(blocks_of(rank, 5, 1), rank == root ? list_of(gathered, ranks) : std::vector<torch::Tensor>{}, root,
               group("relay_gather"));
  expect_values(
      gathered, [&](std::int64_t i) { return rank == root ? element(static_cast<int>(i / kBlock), 5, i % kBlock) : 0; },
      "gather");

  const auto part = torch::zeros({kBlock}, torch::device("ahbm"));
  const auto whole = blocks_of(rank, 0, ranks);
  dist::scatter(part, rank == root ? list_of(whole, ranks) : std::vector<torch::Tensor>{}, root,
                group("relay_scatter"));
  expect_values(part, [&](std::int64_t i) { return element(root, rank, i); }, "scatter");

  const auto exchanged = torch::zeros({ranks * kBlock}, torch::device("ahbm"));
  dist::all_to_all_single(exchanged, blocks_of(rank, 0, ranks), {}, {}, group("relay_all_to_all"));
  expect_values(
      exchanged, [&](std::int64_t i) { return element(static_cast<int>(i / kBlock), rank, i % kBlock); }, "all_to_all");
  dist::destroy_process_group();
}

}  // namespace kernbench::testing
