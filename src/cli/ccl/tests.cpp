#include "cli/ccl/tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/quantity.h"
#include "base/text.h"
#include "kernbench/error.h"

namespace kernbench::cli::ccl {
namespace {

namespace dist = torch::distributed;

// ---- counts and factors

/// Every rank has all of the bytes.
Counts whole(std::int64_t bytes, std::int64_t item, int /*ranks*/) {
  const std::int64_t count = bytes / item;
  return {count, count, count, count};
}

/// Of a rank's `bytes`, which are all ranks' blocks together, each block is one of `count`.
Counts blocks_out(std::int64_t bytes, std::int64_t item, int ranks) {
  const std::int64_t block = bytes / (item * ranks);
  return {block, block, block * ranks, block * ranks};
}
Counts blocks_in(std::int64_t bytes, std::int64_t item, int ranks) {
  const std::int64_t block = bytes / (item * ranks);
  return {block, block * ranks, block, block * ranks};
}
Counts blocks_both(std::int64_t bytes, std::int64_t item, int ranks) {
  const std::int64_t block = bytes / (item * ranks);
  return {block, block * ranks, block * ranks, block * ranks};
}
/// In all-gathers blocks are whole multiples of 16 bytes.
Counts aligned_blocks_out(std::int64_t bytes, std::int64_t item, int ranks) {
  constexpr std::int64_t kUnit = 16;
  return blocks_out(bytes / (kUnit * ranks) * kUnit * ranks, item, ranks);
}

Counts nothing(std::int64_t /*bytes*/, std::int64_t /*item*/, int /*ranks*/) {
  return {};
}

double one(int /*ranks*/) {
  return 1;
}
double all_but_one_share(int ranks) {
  return static_cast<double>(ranks - 1) / ranks;
}
double all_but_one_share_twice(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

// ---- calls

void all_reduce(const Call& call) {
  dist::all_reduce(call.output, call.op);
}

void broadcast(const Call& call) {
  dist::broadcast(call.output, call.root);
}

void reduce(const Call& call) {
  dist::reduce(call.output, call.root, call.op);
}

void all_gather(const Call& call) {
  dist::all_gather_into_tensor(call.output, call.input);
}

void reduce_scatter(const Call& call) {
  dist::reduce_scatter_tensor(call.output, call.input, call.op);
}

void all_to_all(const Call& call) {
  dist::all_to_all_single(call.output, call.input);
}

/// The blocks of a tensor as tensors; none but on the root.
std::vector<torch::Tensor> blocks_on_root(const Call& call, const torch::Tensor& whole) {
  std::vector<torch::Tensor> blocks;
  if (call.rank != call.root) return blocks;
  for (int rank = 0; rank < call.ranks; ++rank) blocks.push_back(whole.narrow(0, rank * call.count, call.count));
  return blocks;
}

void gather(const Call& call) {
  dist::gather(call.input, blocks_on_root(call, call.output), call.root);
}

void scatter(const Call& call) {
  dist::scatter(call.output, blocks_on_root(call, call.input), call.root);
}

void barrier(const Call& /*call*/) {
  dist::barrier();
}

/// To the next rank, from the one before.
void send_and_receive(const Call& call) {
  const int next = (call.rank + 1) % call.ranks, previous = (call.rank + call.ranks - 1) % call.ranks;
  if (call.ranks == 1) return;
  for (const auto& work : dist::batch_isend_irecv(
           {{dist::P2POp::isend, call.input, next, {}, 0}, {dist::P2POp::irecv, call.output, previous, {}, 0}})) {
    work->wait();
  }
}

/// An all-gather by pairs at distances 1, 2, 4, …, each of which exchanges all that it has.
void hypercube(const Call& call) {
  const auto blocks = [&](int first, int number) {
    return call.output.narrow(0, first * call.count, number * call.count);
  };
  blocks(call.rank, 1).copy_(call.input);
  for (int distance = 1; distance < call.ranks; distance *= 2) {
    const int peer = call.rank ^ distance, mine = call.rank / distance * distance, theirs = mine ^ distance;
    for (const auto& work : dist::batch_isend_irecv({{dist::P2POp::isend, blocks(mine, distance), peer, {}, 0},
                                                     {dist::P2POp::irecv, blocks(theirs, distance), peer, {}, 0}})) {
      work->wait();
    }
  }
}

// ---- what must cross a cut, of calls of `count` elements

/// A result of all that is on the other side, or what such a result is made from.
Crossing all_both_ways(const Cut& /*cut*/, std::int64_t count) {
  return {count, count};
}
Crossing all_blocks_out(const Cut& cut, std::int64_t count) {
  return {cut.inside * count, (cut.ranks - cut.inside) * count};
}
Crossing all_blocks_in(const Cut& cut, std::int64_t count) {
  return {(cut.ranks - cut.inside) * count, cut.inside * count};
}
Crossing pairs_both_ways(const Cut& cut, std::int64_t count) {
  const std::int64_t pairs = std::int64_t{cut.inside} * (cut.ranks - cut.inside);
  return {pairs * count, pairs * count};
}
Crossing from_root(const Cut& cut, std::int64_t count) {
  return cut.root_inside ? Crossing{count, 0} : Crossing{0, count};
}
Crossing to_root(const Cut& cut, std::int64_t count) {
  return cut.root_inside ? Crossing{0, count} : Crossing{count, 0};
}
Crossing blocks_to_root(const Cut& cut, std::int64_t count) {
  return cut.root_inside ? Crossing{0, (cut.ranks - cut.inside) * count} : Crossing{cut.inside * count, 0};
}
Crossing blocks_from_root(const Cut& cut, std::int64_t count) {
  const Crossing opposite = blocks_to_root(cut, count);
  return {opposite.in, opposite.out};
}

/// All others' elements to each, or all of each to all others; through a reduction each element n - 1 times and back.
std::int64_t to_all_others(int ranks) {
  return std::int64_t{ranks} * (ranks - 1);
}
std::int64_t there_and_back(int ranks) {
  return 2 * std::int64_t{ranks - 1};
}
std::int64_t once_for_each_other(int ranks) {
  return ranks - 1;
}
std::int64_t once_for_each(int ranks) {
  return ranks;
}

// ---- what comes out

std::optional<double> expect_sum(const Call& /*call*/, std::int64_t element, const Values& values) {
  return values.reduced(element);
}
std::optional<double> expect_root(const Call& call, std::int64_t element, const Values& values) {
  return values.of(call.root, element);
}
std::optional<double> expect_sum_on_root(const Call& call, std::int64_t element, const Values& values) {
  if (call.rank != call.root) return std::nullopt;
  return values.reduced(element);
}
std::optional<double> expect_all(const Call& call, std::int64_t element, const Values& values) {
  return values.of(static_cast<int>(element / call.count), element % call.count);
}
std::optional<double> expect_all_on_root(const Call& call, std::int64_t element, const Values& values) {
  if (call.rank != call.root) return std::nullopt;
  return expect_all(call, element, values);
}
std::optional<double> expect_own_sum(const Call& call, std::int64_t element, const Values& values) {
  return values.reduced(call.rank * call.count + element);
}
std::optional<double> expect_own_block(const Call& call, std::int64_t element, const Values& values) {
  return values.of(call.root, call.rank * call.count + element);
}
std::optional<double> expect_transposed(const Call& call, std::int64_t element, const Values& values) {
  return values.of(static_cast<int>(element / call.count), call.rank * call.count + element % call.count);
}
std::optional<double> expect_nothing(const Call& /*call*/, std::int64_t /*element*/, const Values& /*values*/) {
  return std::nullopt;
}
std::optional<double> expect_previous(const Call& call, std::int64_t element, const Values& values) {
  if (call.ranks == 1) return std::nullopt;
  return values.of((call.rank + call.ranks - 1) % call.ranks, element);
}

double combined(dist::ReduceOp op, double a, double b) {
  switch (op) {
    case dist::ReduceOp::PRODUCT:
      return a * b;
    case dist::ReduceOp::MIN:
      return std::min(a, b);
    case dist::ReduceOp::MAX:
      return std::max(a, b);
    default:
      return a + b;
  }
}

/// Two ranks, so that a share is rounded once, whether it is taken before the sum or behind it.
bool counts_in_average(int rank, int ranks, std::int64_t at) {
  return rank == at % ranks || rank == (at + 1) % ranks;
}

/// Of numbers from 0 to 4. Of an average two ranks have the same power of two, and the others 0.
double value_for(dist::ReduceOp op, std::int64_t number, std::int64_t at, bool counts) {
  if (op == dist::ReduceOp::PRODUCT) return number == 0 ? 2 : 1;
  if (op == dist::ReduceOp::AVG) return counts ? static_cast<double>(1 << at % 3) : 0;
  return static_cast<double>(number);
}

}  // namespace

Values::Values(dist::ReduceOp op, int ranks) : values_(index(ranks)) {
  for (std::int64_t at = 0; at < kPeriod; ++at) {
    double& folded = reduced_[place(at)];
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t number = (at + 3 * std::int64_t{rank}) % kPeriod;
      const double value = value_for(op, number, at, counts_in_average(rank, ranks, at));
      values_[index(rank)][place(at)] = value;
      folded = rank == 0 ? value : combined(op, folded, value);
    }
    if (op == dist::ReduceOp::AVG) folded /= ranks;
  }
}

const std::vector<Test>& tests() {
  static const std::vector<Test> all{
      {.name = "all_reduce",
       .spellings = {"allreduce"},
       .form = Forms::in_place,
       .reduces = true,
       .counts = whole,
       .bus_factor = all_but_one_share_twice,
       .run = all_reduce,
       .crossing = all_both_ways,
       .sent = there_and_back,
       .expected = expect_sum},
      {.name = "all_gather",
       .spellings = {"allgather", "all_gather_into_tensor"},
       .form = Forms::out_of_place,
       .counts = aligned_blocks_out,
       .bus_factor = all_but_one_share,
       .run = all_gather,
       .crossing = all_blocks_out,
       .sent = to_all_others,
       .expected = expect_all},
      {.name = "reduce_scatter",
       .spellings = {"reducescatter", "reduce_scatter_tensor"},
       .form = Forms::out_of_place,
       .reduces = true,
       .counts = blocks_in,
       .bus_factor = all_but_one_share,
       .run = reduce_scatter,
       .crossing = all_blocks_in,
       .sent = to_all_others,
       .expected = expect_own_sum},
      {.name = "alltoall",
       .spellings = {"all_to_all", "all_to_all_single"},
       .form = Forms::out_of_place,
       .counts = blocks_both,
       .bus_factor = all_but_one_share,
       .run = all_to_all,
       .crossing = pairs_both_ways,
       .sent = to_all_others,
       .expected = expect_transposed},
      {.name = "broadcast",
       .spellings = {"bcast"},
       .form = Forms::in_place,
       .has_root = true,
       .counts = whole,
       .bus_factor = one,
       .run = broadcast,
       .crossing = from_root,
       .sent = once_for_each_other,
       .expected = expect_root},
      {.name = "reduce",
       .spellings = {},
       .form = Forms::in_place,
       .reduces = true,
       .has_root = true,
       .counts = whole,
       .bus_factor = one,
       .run = reduce,
       .crossing = to_root,
       .sent = once_for_each_other,
       .expected = expect_sum_on_root},
      {.name = "gather",
       .spellings = {},
       .form = Forms::out_of_place,
       .has_root = true,
       .counts = blocks_out,
       .bus_factor = all_but_one_share,
       .run = gather,
       .crossing = blocks_to_root,
       .sent = once_for_each_other,
       .expected = expect_all_on_root},
      {.name = "scatter",
       .spellings = {},
       .form = Forms::out_of_place,
       .has_root = true,
       .counts = blocks_in,
       .bus_factor = all_but_one_share,
       .run = scatter,
       .crossing = blocks_from_root,
       .sent = once_for_each_other,
       .expected = expect_own_block},
      {.name = "sendrecv",
       .spellings = {"send_recv"},
       .form = Forms::out_of_place,
       .counts = whole,
       .bus_factor = one,
       .run = send_and_receive,
       .crossing = all_both_ways,
       .sent = once_for_each,
       .is_local = true,
       .expected = expect_previous},
      {.name = "barrier",
       .spellings = {},
       .form = Forms::in_place,
       .counts = nothing,
       .bus_factor = one,
       .run = barrier,
       .crossing = all_both_ways,
       .sent = to_all_others,
       .has_elements = false,
       .expected = expect_nothing},
      {.name = "hypercube",
       .spellings = {"hyper_cube"},
       .form = Forms::out_of_place,
       .counts = aligned_blocks_out,
       .bus_factor = all_but_one_share,
       .run = hypercube,
       .crossing = all_blocks_out,
       .sent = to_all_others,
       .is_hypercube = true,
       .expected = expect_all},
  };
  return all;
}

bool is_named(const Test& test, std::string_view name) {
  return test.name == name || std::ranges::find(test.spellings, name) != test.spellings.end();
}

const Test& find_test(std::string_view name) {
  constexpr std::string_view kSuffix = "_perf";
  const std::string_view base = name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
  std::vector<std::string_view> names, known;
  for (const Test& test : tests()) {
    if (is_named(test, base)) return test;
    names.push_back(test.name);
    known.push_back(test.name);
    known.insert(known.end(), test.spellings.begin(), test.spellings.end());
  }
  const std::string_view near = nearest(base, known);
  throw ConfigurationError(fmt::format("ccl {}: there is no such operation; {}there are {}", in_quotes(name),
                                       near.empty() ? "" : fmt::format("did you mean \"{}\"? ", near),
                                       fmt::join(names, ", ")));
}

}  // namespace kernbench::cli::ccl
