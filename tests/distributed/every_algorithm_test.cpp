// Every algorithm of collectives that there is: right values on any number of ranks and elements, the same bits on all
// ranks, and an error with the reason where it cannot run.
#include "every_algorithm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/reduction.h"
#include "kernbench/kernbench.h"
#include "kernbench/partials.h"
#include "sim/fiber.h"
#include "sim/scheduler.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"
#include "topology/load.h"

namespace kernbench::testing::every_algorithm_test {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using distributed::CollectiveAlgorithm;
using distributed::CollectiveOperation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::int64_t kMany = number_of_cases(1000003, 100003, 20011);  // no number of ranks here divides it
const std::vector<int> kRanks = kSanitized ? std::vector{2, 5} : std::vector{2, 3, 4, 5, 8};
const std::vector<DType> kTypes{DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8, DType::u8};
const std::vector<ReduceOp> kReductions{ReduceOp::SUM, ReduceOp::AVG,  ReduceOp::PRODUCT, ReduceOp::MIN,
                                        ReduceOp::MAX, ReduceOp::BAND, ReduceOp::BOR,     ReduceOp::BXOR};

struct Case {
  std::int64_t elements = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::SUM;
  std::vector<std::int64_t> shape = {};  // empty: that of a vector
  DPPolicy policy = {};
};

/// Every reduction of every type, and every awkward number of elements. Of the reductions and of many elements a part
/// for each of kTurns turns, unless all are asked for.
constexpr std::size_t kTurns = 5;
std::vector<Case> cases(int ranks, std::size_t turn) {
  std::vector<Case> all;
  std::size_t number = 0;
  const auto has_turn = [&] { return takes_all_cases() || number++ % kTurns == turn % kTurns; };
  for (const DType dtype : kTypes) {
    for (const ReduceOp op : kReductions) {
      if (distributed::can_reduce(op, dtype) && has_turn()) all.push_back({37, dtype, op});
    }
  }
  for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, std::int64_t{ranks - 1}}) {
    all.push_back({elements, DType::f32, ReduceOp::SUM});
    all.push_back({elements, DType::i32, ReduceOp::BXOR});
  }
  if (has_turn()) all.push_back({kMany, DType::f32, ReduceOp::SUM});
  if (has_turn()) all.push_back({kMany, DType::i32, ReduceOp::BXOR});
  return all;
}

/// Element i of rank r: whole numbers so small that every reduction, in whatever order, is exact in every type. Of AVG
/// two ranks have the same power of two and the others 0: its share is rounded once.
double element(const Case& what, int ranks, int rank, std::int64_t i) {
  const std::int64_t k = 7 * rank + i;
  if (what.op == ReduceOp::AVG) {
    const bool counts = rank == i % ranks || rank == (i + 1) % ranks;
    return counts ? static_cast<double>(1 << i % 5) : 0;
  }
  if (what.op == ReduceOp::PRODUCT) return static_cast<double>(rank < 4 ? k % 2 + 1 : 1);
  return static_cast<double>(k % 5);
}

double fold(ReduceOp op, double a, double b) {
  const auto bits = [](double x) { return static_cast<std::int64_t>(x); };
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return std::fmin(a, b);
    case ReduceOp::MAX:
      return std::fmax(a, b);
    case ReduceOp::BAND:
      return static_cast<double>(bits(a) & bits(b));
    case ReduceOp::BOR:
      return static_cast<double>(bits(a) | bits(b));
    case ReduceOp::BXOR:
      return static_cast<double>(bits(a) ^ bits(b));
    default:
      return a + b;
  }
}

torch::Tensor tensor_of(const Case& what, const std::function<double(std::int64_t)>& value) {
  std::vector<double> values(static_cast<std::size_t>(what.elements));
  constexpr std::size_t kPeriod = 10;  // of all values in the elements
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < kPeriod ? value(static_cast<std::int64_t>(i)) : values[i - kPeriod];
  }
  return torch::tensor(values, torch::dtype(torch::kDouble)).to(what.dtype);
}
torch::Tensor input(const Case& what, int ranks, int rank) {
  return tensor_of(what, [&](std::int64_t i) { return element(what, ranks, rank, i); });
}
torch::Tensor expected(const Case& what, int ranks) {
  return tensor_of(what, [&](std::int64_t i) {
    double result = element(what, ranks, 0, i);
    for (int rank = 1; rank < ranks; ++rank) result = fold(what.op, result, element(what, ranks, rank, i));
    return what.op == ReduceOp::AVG ? result / ranks : result;
  });
}

std::string title_of(const CollectiveAlgorithm& algorithm, int ranks) {
  return std::string(algorithm.name) + " on " + std::to_string(ranks) + " ranks";
}

void expect_exact(const CollectiveAlgorithm& algorithm, int ranks, const SimulateOptions& options,
                  const std::vector<Case>& all) {
  const std::string title = title_of(algorithm, ranks);
  std::vector<torch::Tensor> wanted(all.size());  // made by the rank that comes first
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Case& each = all[i];
      const auto x = input(each, ranks, rank)
                         .reshape(each.shape.empty() ? std::vector{each.elements} : each.shape)
                         .to(torch::TensorOptions().device("ahbm").placement(each.policy));
      if (!wanted[i].defined()) wanted[i] = expected(each, ranks);
      dist::all_reduce(x, each.op);
      EXPECT_TRUE(torch::equal(x.cpu().reshape({each.elements}), wanted[i]))
          << title << ", rank " << rank << ": " << each.elements << " of " << name(each.dtype) << ", reduction "
          << static_cast<int>(each.op);
    }
  });
  expect_ok(outcome, title);
}

/// The numbers of ranks take turns, so that each algorithm comes to all of them; which begins differs by algorithm.
TEST(EveryAllReduce, IsExactOnAnyNumberOfRanksAndElementsInEveryTypeWithEveryReduction) {
  std::size_t first = 0;
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    std::size_t turn = first++;
    expect_exact(algorithm, 1, machine_with(algorithm, 1), cases(1, turn));
    for (const int ranks : kRanks) {
      const std::size_t mine = turn++;
      if (!kSanitized || mine % 3 == 0)
        expect_exact(algorithm, ranks, machine_with(algorithm, ranks), cases(ranks, mine));
    }
  }
}

TEST(EveryAllReduce, IsExactUnderEveryPlacement) {
  std::vector<Case> all;
  for (const Placement cube : {Placement::replicate, Placement::row_wise, Placement::tiled_row_major}) {
    for (const Placement pe : {Placement::replicate, Placement::row_wise, Placement::column_wise}) {
      all.push_back({210, DType::f16, ReduceOp::SUM, {30, 7}, {.cube = cube, .pe = pe}});
    }
  }
  for (const Placement cube : {Placement::replicate, Placement::row_wise, Placement::interleaved}) {
    const DPPolicy interleaved{.cube = cube, .pe = Placement::interleaved, .granule = Bytes(64)};
    all.push_back({210, DType::f16, ReduceOp::SUM, {30, 7}, interleaved});
  }
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    expect_exact(algorithm, 3, machine_with(algorithm, 3), all);
  }
}

TEST(EveryAllReduce, IsExactOnPes) {
  std::vector<std::string_view> refused;
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    if (!algorithm.refusal({3, true, {}, {}}).empty()) {
      refused.push_back(algorithm.name);
      continue;
    }
    for (const int ranks : {3, 4}) {
      SimulateOptions options = machine_with(algorithm, 2);
      options.overrides.emplace_back("cube.pes.mesh=[4, 1]");
      expect_exact(algorithm, ranks, options, {{37}, {1}, {5000, DType::f16, ReduceOp::MAX}});
    }
  }
  EXPECT_THAT(refused,
              ElementsAre("bidirectional_ring_allreduce", "bidirectional_grid_allreduce", "multi_ring_allreduce"))
      << "a rank of one PE goes one way";
}

// PEs in more rows than an algorithm has ways, and tensors on one of them.
TEST(EveryAllReduce, IsExactWhereRowsOfPesGoDifferentWays) {
  std::vector<Case> all{{100'000}, {7}, {30'000, DType::f16, ReduceOp::AVG}};
  all.push_back({5000, DType::i32, ReduceOp::MAX, {}, {.num_cubes = 1, .num_pes = 1}});
  all.push_back({5000, DType::f32, ReduceOp::SUM, {}, {.num_cubes = 1, .num_pes = 3}});
  std::size_t first = 0;
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    std::size_t turn = first++;
    for (const int ranks : {2, 3, 4, 6}) {
      if (turn++ % one_case_in(4, 12) != 0) continue;
      SimulateOptions options = machine_with(algorithm, ranks);
      options.overrides.insert(options.overrides.end(), {"sip.cubes.mesh=[2, 2]", "cube.pes.mesh=[2, 4]"});
      expect_exact(algorithm, ranks, options, all);
    }
  }
}

// Chunks of several tiles, and channels that are full after one.
TEST(EveryAllReduce, NeedsOneSmallSlotOnlyInWhateverMemory) {
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    for (const char* memory : {"tcm", "hbm", "sram"}) {
      const std::string keys = "n_slots: 1, slot_size: 1KiB, buffer_kind: " + std::string(memory);
      for (const int ranks : {2, 3, 5}) {
        if (kSanitized && ranks != 3) continue;
        expect_exact(algorithm, ranks, machine_with(algorithm, ranks, keys), {{7001}});
      }
    }
    const std::string polling = "n_slots: 2, slot_size: 1KiB, backpressure: poll";
    expect_exact(algorithm, 3, machine_with(algorithm, 3, polling), {{7001}});
  }
}

TEST(EveryAverage, OfNumbersWhoseSumTheTypeDoesNotHold) {
  constexpr double kLarge = 30000, kUlp = 16;  // of f16, whose largest number is 65504
  for (const auto& algorithm : distributed::collective_algorithms()) {
    if (!distributed::reduces(algorithm.operation)) continue;
    for (const int ranks : {4, 5}) {
      const auto outcome = run_ranks(machine_with(algorithm, ranks), ranks, [&](int rank) {
        dist::init_process_group("ahbm", rank, ranks);
        const auto large = [](std::int64_t elements, const DPPolicy& policy = {}) {
          return torch::full({elements}, kLarge, torch::dtype(torch::kHalf))
              .to(torch::TensorOptions().device("ahbm").placement(policy));
        };
        auto x = large(40);
        if (algorithm.operation == CollectiveOperation::all_reduce) dist::all_reduce(x, ReduceOp::AVG);
        if (algorithm.operation == CollectiveOperation::reduce) dist::reduce(x, 0, ReduceOp::AVG);
        if (algorithm.operation == CollectiveOperation::reduce_scatter)
          dist::reduce_scatter_tensor(x, large(40 * ranks), ReduceOp::AVG);
        if (algorithm.operation == CollectiveOperation::all_reduce_partials) {
          x = large(40, {.cube = Placement::replicate, .pe = Placement::replicate});
          torch::ahbm::all_reduce_partials(x, ReduceOp::AVG);
        }
        const auto host = x.cpu().to(torch::kDouble);
        for (std::int64_t i = 0; i < host.numel(); ++i)
          EXPECT_NEAR(host[i].item<double>(), kLarge, ranks == 4 ? 0 : ranks * kUlp) << title_of(algorithm, ranks);
      });
      expect_ok(outcome, title_of(algorithm, ranks));
    }
  }
}

TEST(EveryAllReduce, EndsWithTheSameBitsOnAllRanks) {
  constexpr std::int64_t kElements = 1001;
  for (const auto& algorithm : algorithms_of(CollectiveOperation::all_reduce)) {
    for (const int ranks : kRanks) {
      for (const DType dtype : {DType::f32, DType::f16}) {
        std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
        const auto outcome = run_ranks(machine_with(algorithm, ranks), ranks, [&](int rank) {
          dist::init_process_group("ahbm", rank, ranks);
          torch::manual_seed(static_cast<std::uint64_t>(rank + 1));
          const auto x = torch::randn({kElements}).to(dtype).to("ahbm");
          dist::all_reduce(x);
          const auto host = x.cpu().to(torch::kFloat);
          const auto* data = host.data_ptr<float>();
          results[static_cast<std::size_t>(rank)].assign(data, data + kElements);
        });
        expect_ok(outcome, title_of(algorithm, ranks));
        for (const auto& result : results) {
          ASSERT_EQ(result.size(), static_cast<std::size_t>(kElements));
          EXPECT_EQ(std::memcmp(result.data(), results.front().data(), kElements * sizeof(float)), 0)
              << title_of(algorithm, ranks);
        }
      }
    }
  }
}

TEST(EveryBroadcast, GivesAllRanksTheRootsElements) {
  for (const auto& algorithm : algorithms_of(CollectiveOperation::broadcast)) {
    for (const int ranks : kRanks) {
      const auto outcome = run_ranks(machine_with(algorithm, ranks), ranks, [&](int rank) {
        dist::init_process_group("ahbm", rank, ranks);
        for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, std::int64_t{ranks - 1}, kMany}) {
          const int root = static_cast<int>(elements % ranks);
          const auto x = torch::full({elements}, static_cast<double>(rank + 1)).to("ahbm");
          dist::broadcast(x, root);
          EXPECT_TRUE(torch::equal(x.cpu(), torch::full({elements}, static_cast<double>(root + 1))))
              << title_of(algorithm, ranks) << ", rank " << rank << ", " << elements << " elements";
        }
      });
      expect_ok(outcome, title_of(algorithm, ranks));
    }
  }
}

TEST(EveryBarrier, LetsNobodyLeaveBeforeTheLastOneHasCome) {
  const topology::Topology machine = topology::load_topology(source_tree::path("topologies/tiny.yaml"));
  for (const auto& algorithm : algorithms_of(CollectiveOperation::barrier)) {
    for (const int ranks : kSanitized ? std::vector{2, 7} : std::vector{2, 3, 4, 5, 8, 13, 28}) {
      if (!algorithm.refusal({ranks, false, distributed::AlgorithmSpec(), machine}).empty()) continue;
      for (int late = 0; late < ranks; late += 1 + ranks / 9) {
        Time came;
        std::vector<Time> left(static_cast<std::size_t>(ranks));
        const auto outcome = run_ranks(machine_with(algorithm, ranks), ranks, [&](int rank) {
          dist::init_process_group("ahbm", rank, ranks);
          dist::barrier();  // sets up the channels
          if (rank == late) sim::this_fiber::sleep(Time::milliseconds(1));
          if (rank == late) came = sim::this_fiber::scheduler().now();
          dist::barrier();
          left[static_cast<std::size_t>(rank)] = sim::this_fiber::scheduler().now();
        });
        expect_ok(outcome, title_of(algorithm, ranks));
        for (const Time& each : left) EXPECT_GE(each, came) << title_of(algorithm, ranks);
      }
    }
  }
}

/// What a group of so many ranks answers that is to use the algorithm.
std::string answer(const CollectiveAlgorithm& algorithm, int ranks, const SimulateOptions& options) {
  std::string first;
  const auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks);
    dist::barrier();
  });
  for (const auto& error : outcome.errors) EXPECT_EQ(error, outcome.errors.front()) << title_of(algorithm, ranks);
  return outcome.errors.front();
}

TEST(EveryAlgorithm, RunsOnAGroupOrIsRefusedWithTheReason) {
  std::size_t turn = 0;
  for (const auto& algorithm : distributed::collective_algorithms()) {
    for (int ranks = 2; ranks <= 7; ++ranks) {
      if (turn++ % one_case_in(1, 4) != 0) continue;
      SimulateOptions options = machine_with(algorithm, ranks, "n_slots: 2, slot_size: 1KiB");
      options.overrides.emplace_back("pe.ipcq.queues=4");
      topology::Topology machine;
      machine.pe.ipcq.queues = 4;
      machine.cube.pes = {2, 1};  // of tiny
      distributed::AlgorithmSpec spec;
      spec.n_slots = 2;
      spec.slot_size = Bytes(1024);
      const std::string reason = algorithm.refusal({ranks, false, spec, machine});
      const std::string error = answer(algorithm, ranks, options);
      const std::string title = title_of(algorithm, ranks);
      if (reason.empty()) {
        EXPECT_EQ(error, "") << title;
      } else {
        EXPECT_THAT(error, HasSubstr("ConfigurationError: init_process_group: " + std::string(algorithm.name) +
                                     " cannot run on " + std::to_string(ranks) + " ranks, each a SIP: " + reason))
            << title;
      }
    }
  }
}

TEST(EveryAlgorithm, IsTheKernelThatRunsWhenAFileNamesIt) {
  for (const auto& algorithm : distributed::collective_algorithms()) {
    const auto outcome = run_ranks(machine_with(algorithm, 2), 2, [&](int rank) {
      dist::init_process_group("ahbm", rank, 2);
      const auto x = torch::zeros({64}, torch::device("ahbm"));
      dist::all_reduce(x);
      dist::broadcast(x, 0);
      dist::barrier();
      dist::reduce(x, 0);
      const auto half = torch::zeros({32}, torch::device("ahbm")), copy = torch::zeros({64}, torch::device("ahbm"));
      dist::reduce_scatter_tensor(half, x);
      dist::all_gather_into_tensor(x, half);
      const std::vector<torch::Tensor> none;
      dist::gather(half, rank == 0 ? std::vector{half.clone(), half.clone()} : none, 0);
      dist::scatter(half, rank == 0 ? std::vector{half.clone(), half.clone()} : none, 0);
      dist::all_to_all_single(copy, x);
      torch::ahbm::all_reduce_partials(
          torch::zeros({8}, torch::device("ahbm").placement({Placement::replicate, Placement::replicate})));
    });
    expect_ok(outcome, title_of(algorithm, 2));
    std::vector<std::string> launches;
    for (const auto& launch : outcome.run.launches) launches.push_back(launch.name);
    EXPECT_THAT(launches, ::testing::Contains(HasSubstr(std::string(algorithm.name))));
  }
}

}  // namespace
}  // namespace kernbench::testing::every_algorithm_test
