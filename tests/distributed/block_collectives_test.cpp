// Collectives of blocks: every operation on any number of ranks and elements, of a type of each width, under all
// placements of input and output, in place and not; the times do not depend on the data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "distributed/algorithms/reduction.h"
#include "kernbench/kernbench.h"
#include "ranks.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::testing::block_collectives_test {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::HasSubstr;
using torch::Tensor;
using Tensors = std::vector<Tensor>;

enum class Form : std::uint8_t {
  all_gather_into_tensor,
  all_gather,
  reduce_scatter_tensor,
  reduce_scatter,
  reduce,
  gather,
  scatter,
  all_to_all_single,
  all_to_all_uneven,
  all_to_all,
};
constexpr int kForms = 10;
constexpr std::array<const char*, kForms> kNames{"all_gather_into_tensor",
                                                 "all_gather",
                                                 "reduce_scatter_tensor",
                                                 "reduce_scatter",
                                                 "reduce",
                                                 "gather",
                                                 "scatter",
                                                 "all_to_all_single",
                                                 "all_to_all_single",
                                                 "all_to_all"};
const std::vector<int> kRanks{1, 2, 3, 4, 5, 8, 13, 16};
const std::vector<DType> kTypes{DType::f8e4m3, DType::boolean, DType::bf16, DType::f32, DType::i64};
/// Shapes of a block of 0, 1, 7, 1023 and 4096 elements.
const std::vector<std::vector<std::int64_t>> kShapes{{0}, {1}, {7}, {33, 31}, {64, 64}};
const std::vector<DPPolicy> kPlacements{{},
                                        {.cube = Placement::column_wise, .pe = Placement::column_wise},
                                        {.cube = Placement::replicate, .pe = Placement::replicate},
                                        {.num_cubes = 1, .num_pes = 1},
                                        {.cube = Placement::replicate, .pe = Placement::row_wise},
                                        {.cube = Placement::interleaved, .pe = Placement::interleaved}};
const std::vector<DPPolicy> kOthers{{.cube = Placement::row_wise, .pe = Placement::column_wise},
                                    {},
                                    {.num_cubes = 1, .num_pes = 3},
                                    {.cube = Placement::replicate, .pe = Placement::replicate},
                                    {.cube = Placement::tiled_row_major, .pe = Placement::replicate},
                                    {.pe = Placement::interleaved, .granule = Bytes(64)}};

struct Case {
  Form form = Form::all_gather;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape = {};
  DPPolicy in = {}, out = {};
  bool in_place = false;
  int root = 0;
  ReduceOp op = ReduceOp::SUM;

  std::string text() const {
    return std::string(kNames[static_cast<std::size_t>(form)]) + " of " + name(dtype) + " " +
           ::testing::PrintToString(shape) + (in_place ? ", in place" : "") + ", placements " +
           std::to_string(static_cast<int>(in.cube)) + std::to_string(in.num_cubes) + " to " +
           std::to_string(static_cast<int>(out.cube)) + std::to_string(out.num_cubes);
  }
};

bool reduces(Form form) {
  return form == Form::reduce || form == Form::reduce_scatter || form == Form::reduce_scatter_tensor;
}

/// A pairwise cover: each form on each number of ranks with each size, and in turn every type and placement.
std::vector<Case> cases(int ranks) {
  std::vector<Case> all;
  for (int form = 0; form < kForms; ++form) {
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const std::size_t k = static_cast<std::size_t>(form * 8 + ranks);
      Case each{static_cast<Form>(form), kTypes[(i + k) % 5], kShapes[i], kOthers[(5 * i + k / 5) % 6],
                kPlacements[(i + k) % 6]};
      each.in_place =
          (i + k) % 2 == 1 && (each.form == Form::all_gather_into_tensor || each.form == Form::reduce_scatter_tensor);
      each.root = static_cast<int>((i + k) % static_cast<std::size_t>(ranks));
      if (each.dtype == DType::boolean) each.op = ReduceOp::BOR;
      all.push_back(each);
    }
  }
  return all;
}

/// Element i of the block that rank `from` has for rank `to`.
double element(const Case& what, int from, int to, std::int64_t i) {
  const std::int64_t value = (7 * from + 3 * to + i) % 5;
  return static_cast<double>(what.dtype == DType::boolean ? (value + to) % 3 == 0 : value);
}

using Values = std::vector<double>;
Values block(const Case& what, int from, int to, std::int64_t elements) {
  Values values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(element(what, from, to, i));
  return values;
}
Values folded(const Case& what, int ranks, int to, std::int64_t elements) {
  Values sum = block(what, 0, to, elements);
  for (int from = 1; from < ranks; ++from) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double x = element(what, from, to, static_cast<std::int64_t>(i));
      sum[i] = what.op == ReduceOp::BOR ? std::max(sum[i], x) : sum[i] + x;
    }
  }
  return sum;
}
void append(Values& values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
}

Tensor host(const Case& what, const Values& values, const std::vector<std::int64_t>& shape) {
  return torch::tensor(values, torch::dtype(torch::kDouble)).to(what.dtype).reshape(shape);
}
Tensor device(const Case& what, const Values& values, const std::vector<std::int64_t>& shape, const DPPolicy& policy) {
  return host(what, values, shape).to(torch::TensorOptions().device("ahbm").placement(policy));
}
std::vector<std::int64_t> rows(std::vector<std::int64_t> shape, std::int64_t count) {
  shape[0] = count;
  return shape;
}

/// One rank's side of a case.
class Side {
 public:
  Side(const Case& what, int rank, int ranks, bool on_pes) : what_(what), rank_(rank), ranks_(ranks) {
    if (on_pes) what_.in = what_.out = {};
    elements_ = 1;
    for (const std::int64_t extent : what_.shape) elements_ *= extent;
  }

  void run() {
    switch (what_.form) {
      case Form::all_gather_into_tensor:
        return gather_into_tensor();
      case Form::all_gather: {
        const auto out = outputs();
        dist::all_gather(out, mine(0));
        return expect(out, [&](int from) { return block(what_, from, 0, elements_); });
      }
      case Form::reduce_scatter_tensor:
        return scatter_tensor();
      case Form::reduce_scatter: {
        const auto out = empty(what_.shape);
        dist::reduce_scatter(out, inputs(), what_.op);
        return expect(out, folded(what_, ranks_, rank_, elements_));
      }
      case Form::reduce: {
        const auto x = device(what_, block(what_, rank_, 0, elements_), what_.shape, what_.out);
        dist::reduce(x, what_.root, what_.op);
        const bool root = rank_ == what_.root;
        return expect(x, root ? folded(what_, ranks_, 0, elements_) : block(what_, rank_, 0, elements_));
      }
      case Form::gather: {
        const auto out = rank_ == what_.root ? outputs() : Tensors{};
        dist::gather(mine(0), out, what_.root);
        return expect(out, [&](int from) { return block(what_, from, 0, elements_); });
      }
      case Form::scatter: {
        const auto out = empty(what_.shape);
        dist::scatter(out, rank_ == what_.root ? inputs() : Tensors{}, what_.root);
        return expect(out, block(what_, what_.root, rank_, elements_));
      }
      case Form::all_to_all_single:
        return exchange_rows([&](int, int) { return what_.shape[0]; }, false);
      case Form::all_to_all_uneven:
        return exchange_rows([&](int from, int to) { return what_.shape[0] == 0 ? 0 : (from + 2 * to) % 4; }, true);
      case Form::all_to_all: {
        const auto out = outputs();
        dist::all_to_all(out, inputs());
        return expect(out, [&](int from) { return block(what_, from, rank_, elements_); });
      }
    }
  }

 private:
  Tensor mine(int to) const { return device(what_, block(what_, rank_, to, elements_), what_.shape, what_.in); }
  Tensors inputs() const {
    Tensors all;
    for (int to = 0; to < ranks_; ++to) all.push_back(mine(to));
    return all;
  }
  Tensor empty(const std::vector<std::int64_t>& shape) const {
    return torch::zeros(shape, torch::dtype(what_.dtype).device("ahbm").placement(what_.out));
  }
  Tensors outputs() const {
    Tensors all;
    for (int from = 0; from < ranks_; ++from) all.push_back(empty(what_.shape));
    return all;
  }

  void expect(const Tensor& tensor, const Values& values) const {
    const auto sizes = tensor.sizes();
    const auto wanted = host(what_, values, {sizes.begin(), sizes.end()});
    EXPECT_TRUE(torch::equal(tensor.cpu().to(torch::kDouble), wanted.to(torch::kDouble)))
        << what_.text() << " on rank " << rank_ << " of " << ranks_;
  }
  void expect(const Tensors& tensors, const std::function<Values(int)>& values) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) expect(tensors[i], values(static_cast<int>(i)));
  }

  void gather_into_tensor() const {
    const auto out = empty(rows(what_.shape, what_.shape[0] * ranks_));
    Tensor in = mine(0);
    if (what_.in_place) {
      const auto own = out.narrow(0, rank_ * what_.shape[0], what_.shape[0]);
      own.copy_(in);
      in = own;
    }
    dist::all_gather_into_tensor(out, in);
    Values all;
    for (int from = 0; from < ranks_; ++from) append(all, block(what_, from, 0, elements_));
    expect(out, all);
  }

  void scatter_tensor() const {
    Values all;
    for (int to = 0; to < ranks_; ++to) append(all, block(what_, rank_, to, elements_));
    const auto in = device(what_, all, rows(what_.shape, what_.shape[0] * ranks_), what_.in);
    const auto out = what_.in_place ? in.narrow(0, rank_ * what_.shape[0], what_.shape[0]) : empty(what_.shape);
    dist::reduce_scatter_tensor(out, in, what_.op);
    expect(out, folded(what_, ranks_, rank_, elements_));
  }

  void exchange_rows(const std::function<std::int64_t(int from, int to)>& count, bool splits) const {
    const std::int64_t of_a_row = elements_ == 0 ? 1 : elements_ / what_.shape[0];
    Values in, wanted;
    std::vector<std::int64_t> sends, receives;
    std::int64_t sent = 0, received = 0;
    for (int other = 0; other < ranks_; ++other) {
      sends.push_back(count(rank_, other));
      receives.push_back(count(other, rank_));
      sent += sends.back();
      received += receives.back();
      append(in, block(what_, rank_, other, sends.back() * of_a_row));
      append(wanted, block(what_, other, rank_, receives.back() * of_a_row));
    }
    const auto out = empty(rows(what_.shape, received));
    const auto input = device(what_, in, rows(what_.shape, sent), what_.in);
    if (splits) {
      dist::all_to_all_single(out, input, receives, sends);
    } else {
      dist::all_to_all_single(out, input);
    }
    expect(out, wanted);
  }

  Case what_;
  int rank_, ranks_;
  std::int64_t elements_ = 0;
};

SimulateOptions machine(int ranks) {
  SimulateOptions options = machine_of(ranks);
  options.overrides.emplace_back("sip.cubes.mesh=[2, 1]");
  options.overrides.emplace_back("cube.pes.mesh=[2, 2]");
  return options;
}

void run_matrix(const SimulateOptions& options, int ranks, bool on_pes, const std::string& algorithm = {}) {
  const auto all = cases(ranks);
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = algorithm});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t one_in = ranks > 8 ? one_case_in(7, 41) : one_case_in(1, ranks > 5 ? 23 : 7);
      if ((i + static_cast<std::size_t>(ranks)) % one_in != 0) continue;
      const Case& each = all[i];
      SCOPED_TRACE(each.text());
      if (reduces(each.form) && !distributed::can_reduce(each.op, each.dtype)) {
        std::string error;
        try {
          Side(each, rank, ranks, on_pes).run();
        } catch (const ValueError& refused) {
          error = refused.what();
        }
        EXPECT_THAT(error, HasSubstr("Cannot use ReduceOp.SUM with a tensor of Float8_e4m3fn: the devices have no"));
      } else {
        Side(each, rank, ranks, on_pes).run();
      }
    }
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, ::testing::Each("")) << ranks;
}

class BlockCollectives : public ::testing::TestWithParam<int> {};

TEST_P(BlockCollectives, AreRightInEveryFormSizeTypeAndPlacementInPlaceAndNot) {
  run_matrix(machine(GetParam()), GetParam(), false);
}

INSTANTIATE_TEST_SUITE_P(Ranks, BlockCollectives, ::testing::ValuesIn(kRanks));

class BlockCollectivesByFamily : public ::testing::TestWithParam<std::string> {};

TEST_P(BlockCollectivesByFamily, AreRightInEveryFormSizeTypeAndPlacementInPlaceAndNot) {
  for (const int ranks : {2, 3, 4, 5, 8}) {
    if (kSanitized && ranks != 3 && ranks != 8) continue;
    SCOPED_TRACE(ranks);
    run_matrix(machine(ranks), ranks, false, GetParam());
  }
}

// Blocks of several tiles, of which a channel holds one.
TEST_P(BlockCollectivesByFamily, NeedOneSmallSlotOnly) {
  const std::string& family = GetParam();
  const std::string path = ::testing::TempDir() + "kernbench_" + family + "_" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(path) << "defaults: {algorithm: one_slot, n_slots: 1, slot_size: 1KiB}\n"
                      << "algorithms: {one_slot: {module: " << family << "_allreduce, broadcast: " << family
                      << "_broadcast, reduce: " << family << "_reduce, all_gather: " << family
                      << "_all_gather, reduce_scatter: " << family << "_reduce_scatter}}\n";
  SimulateOptions options = machine(3);
  options.collectives = path;
  run_matrix(options, 3, false);
}

INSTANTIATE_TEST_SUITE_P(Families, BlockCollectivesByFamily, ::testing::Values("ring", "bidirectional_ring", "direct"),
                         [](const auto& family) { return family.param; });

TEST(BlockCollectivesOnPes, AreRightInEveryFormSizeAndType) {
  for (const int ranks : {5, 16}) run_matrix(machine(2), ranks, true);
}

}  // namespace
}  // namespace kernbench::testing::block_collectives_test
