// MSCCL files: the schedules that are shipped, run on the machine and compared in every bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "distributed/msccl/plan.h"
#include "distributed/msccl/schedule.h"
#include "kernbench/collectives.h"
#include "kernbench/error.h"
#include "kernbench/kernbench.h"
#include "msccl_schedules.h"
#include "ranks.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/test_files.h"

namespace kernbench::testing {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

const std::vector<int> kRanks = kSanitized ? std::vector{4} : std::vector{4, 8};

std::string file_with(const std::string& text, const std::string& name = "schedule.xml") {
  std::string path = test_files::folder() + name;
  std::ofstream(path) << text;
  return path;
}

/// A small machine with small slots, so that there is more than fits into a channel, and a schedule as the algorithm
/// `schedule`.
SimulateOptions machine_with_file(const std::string& path, int ranks) {
  SimulateOptions options = machine_of(ranks);
  options.collectives = file_with(
      "defaults: {algorithm: ring, n_slots: 4, slot_size: 512B, vc_chunk_size: 256B}\n"
      "algorithms: {ring: {module: ring_allreduce}}\n",
      "small_slots.yaml");
  options.algorithms.add(collectives::load_msccl(path, "schedule"));
  return options;
}
SimulateOptions machine_with(const std::string& name, int ranks) {
  return machine_with_file(msccl_path(name + "_" + std::to_string(ranks)), ranks);
}

torch::Tensor filled(std::int64_t elements, DType dtype, const std::function<double(std::int64_t)>& value) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(value(i));
  return torch::tensor(values, torch::dtype(torch::kDouble)).to(dtype);
}
double element(int rank, std::int64_t i) {
  return static_cast<double>((13 * rank + i) % 7);
}
double sum_of(int ranks, std::int64_t i) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += element(rank, i);
  return sum;
}

RanksResult run_all(const SimulateOptions& options, int ranks, const std::function<void(int rank)>& body) {
  auto outcome = run_ranks(options, ranks, [&](int rank) {
    dist::init_process_group("ahbm", rank, ranks, {.algorithm = "schedule"});
    body(rank);
    dist::destroy_process_group();
  });
  EXPECT_EQ(outcome.run.status, RunStatus::ok) << outcome.error.message;
  EXPECT_THAT(outcome.errors, Each(""));
  std::vector<std::string> names;
  for (const auto& launch : outcome.run.launches) names.push_back(launch.name);
  EXPECT_THAT(names, Contains(HasSubstr("schedule")));
  return outcome;
}

const std::vector<std::int64_t> kCounts =
    kSanitized ? std::vector<std::int64_t>{0, 1, 4099} : std::vector<std::int64_t>{0, 1, 7, 1023, 20'011};

void expect_sums(const SimulateOptions& options, int ranks, const DPPolicy& policy = {}) {
  run_all(options, ranks, [&](int rank) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
      for (const std::int64_t count : kCounts) {
        const auto x = filled(count, dtype, [&](std::int64_t i) {
                         return element(rank, i);
                       }).to(torch::TensorOptions().device("ahbm").placement(policy));
        dist::all_reduce(x);
        EXPECT_TRUE(torch::equal(x.cpu(), filled(count, dtype, [&](std::int64_t i) { return sum_of(ranks, i); })))
            << count << " of " << name(dtype);
      }
    }
    const auto y = filled(1000, DType::f32, [&](std::int64_t i) { return ranks * element(rank, i); }).to("ahbm");
    dist::all_reduce(y, ReduceOp::AVG);
    EXPECT_TRUE(torch::equal(y.cpu(), filled(1000, DType::f32, [&](std::int64_t i) { return sum_of(ranks, i); })));
  });
}

TEST(Schedule, OfAnAllReduceAddsInEveryTypeAndCount) {
  for (const char* name : {"ring_allreduce", "allpairs_allreduce", "hierarchical_allreduce"}) {
    for (const int ranks : kRanks) {
      SCOPED_TRACE(std::string(name) + " on " + std::to_string(ranks));
      expect_sums(machine_with(name, ranks), ranks);
    }
  }
}

TEST(Schedule, RunsOnTheShippedMachine) {
  NOT_UNDER_SANITIZERS("the same code on many more PEs");
  for (const char* name : {"ring_allreduce", "allpairs_allreduce", "hierarchical_allreduce"}) {
    if (name != std::string("hierarchical_allreduce") && !takes_all_cases()) continue;
    SCOPED_TRACE(name);
    SimulateOptions options = machine_of(4);
    options.topology = "ahbm-2sip";
    options.algorithms.add(collectives::load_msccl(msccl_path(std::string(name) + "_4"), "schedule"));
    run_all(options, 4, [&](int rank) {
      const auto x = filled(300'007, DType::f32, [&](std::int64_t i) { return element(rank, i); }).to("ahbm");
      dist::all_reduce(x);
      EXPECT_TRUE(torch::equal(x.cpu(), filled(300'007, DType::f32, [](std::int64_t i) { return sum_of(4, i); })));
    });
  }
}

TEST(Schedule, RunsOnEveryPlacement) {
  for (const Placement cube : {Placement::replicate, Placement::row_wise}) {
    SCOPED_TRACE(static_cast<int>(cube));
    expect_sums(machine_with("allpairs_allreduce", 4), 4, {.cube = cube, .pe = Placement::row_wise});
  }
  expect_sums(machine_with("hierarchical_allreduce", 4), 4, {.num_cubes = 1, .num_pes = 1});
}

TEST(Schedule, OfARingGivesTheBitsOfTheShippedRing) {
  std::vector<torch::Tensor> results(2);
  for (const bool schedule : {false, true}) {
    const auto outcome = run_ranks(machine_with("ring_allreduce", 4), 4, [&](int rank) {
      dist::init_process_group("ahbm", rank, 4, {.algorithm = schedule ? "schedule" : "ring"});
      torch::manual_seed(static_cast<std::uint64_t>(rank));
      const auto x = torch::randn({20'000}, torch::dtype(torch::kHalf)).to("ahbm");
      dist::all_reduce(x);
      if (rank == 2) results[schedule ? 1 : 0] = x.cpu();
    });
    EXPECT_THAT(outcome.errors, Each(""));
  }
  EXPECT_TRUE(torch::equal(results[0], results[1]));
}

TEST(Schedule, OfAnAllGatherHasEveryBlockInAndOutOfPlace) {
  for (const int ranks : kRanks) {
    run_all(machine_with("recursive_doubling_allgather", ranks), ranks, [&](int rank) {
      for (const std::int64_t count : kCounts) {
        const auto all = torch::zeros({ranks * count}, torch::device("ahbm"));
        const auto wanted = filled(ranks * count, DType::f32,
                                   [&](std::int64_t i) { return element(static_cast<int>(i / count), i % count); });
        const auto mine = filled(count, DType::f32, [&](std::int64_t i) { return element(rank, i); });
        dist::all_gather_into_tensor(all, mine.to("ahbm"));
        EXPECT_TRUE(torch::equal(all.cpu(), wanted)) << count;
        const auto again = torch::zeros({ranks * count}, torch::device("ahbm"));
        const auto block = again.narrow(0, rank * count, count);
        block.copy_(mine);
        dist::all_gather_into_tensor(again, block);
        EXPECT_TRUE(torch::equal(again.cpu(), wanted)) << count << " in place";
      }
    });
  }
}

TEST(Schedule, OfAReduceScatterHasTheSumOfItsBlockAndKeepsItsInput) {
  for (const int ranks : kRanks) {
    run_all(machine_with("ring_reducescatter", ranks), ranks, [&](int rank) {
      for (const std::int64_t count : kCounts) {
        const auto values = filled(ranks * count, DType::i32, [&](std::int64_t i) { return element(rank, i); });
        const auto whole = values.to("ahbm");
        const auto mine = torch::zeros({count}, torch::dtype(torch::kInt).device("ahbm"));
        dist::reduce_scatter_tensor(mine, whole);
        EXPECT_TRUE(torch::equal(
            mine.cpu(), filled(count, DType::i32, [&](std::int64_t i) { return sum_of(ranks, rank * count + i); })))
            << count;
        EXPECT_TRUE(torch::equal(whole.cpu(), values)) << count;
      }
    });
  }
}

TEST(Schedule, OfAnAllToAllExchangesBlocks) {
  for (const int ranks : kRanks) {
    run_all(machine_with("pairwise_alltoall", ranks), ranks, [&](int rank) {
      for (const std::int64_t count : kCounts) {
        const auto in = filled(ranks * count, DType::f16, [&](std::int64_t i) { return element(rank, i); }).to("ahbm");
        const auto out = torch::zeros({ranks * count}, torch::dtype(torch::kHalf).device("ahbm"));
        dist::all_to_all_single(out, in);
        EXPECT_TRUE(torch::equal(
            out.cpu(),
            filled(ranks * count, DType::f16,
                   [&](std::int64_t i) { return element(static_cast<int>(i / count), rank * count + i % count); })))
            << count;
      }
    });
  }
}

/// By all step types: gpu 1 folds scratch, forwards and only waits.
TEST(Schedule, MayHaveEveryTypeOfStep) {
  const std::string text = R"(<algo name="all kinds" nchunksperloop="1" ngpus="3" coll="allreduce" inplace="1">
<gpu id="0" i_chunks="1" o_chunks="0" s_chunks="2">
<tb id="4" send="1" recv="2" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0"/>
<step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" hasdep="1"/>
</tb>
<tb id="7"><step s="0" type="nop" depid="4" deps="1" hasdep="1"/>
<step s="1" type="cpy" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0"/></tb>
</gpu>
<gpu id="1" i_chunks="1" o_chunks="0" s_chunks="1">
<tb id="0" send="2" recv="0" chan="0">
<step s="0" type="r" dstbuf="s" dstoff="0" hasdep="1"/>
<step s="1" type="s" srcbuf="s" srcoff="0" depid="1" deps="0"/>
<step s="2" type="rcs" dstbuf="i" dstoff="0"/>
</tb>
<tb id="1"><step s="0" type="re" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" depid="0" deps="0" hasdep="1"/></tb>
</gpu>
<gpu id="2" i_chunks="1" o_chunks="0" s_chunks="0">
<tb id="0" send="0" recv="1" chan="0">
<step s="0" type="rrs" srcbuf="i" srcoff="0"/>
<step s="1" type="r" dstbuf="i" dstoff="0"/>
</tb>
</gpu>
</algo>)";
  // The sum of gpus 0 and 1 goes to gpu 2, which adds its own; gpu 0 must not add its own a second time.
  EXPECT_THAT(msccl_error_of(text), HasSubstr("x.xml:5: step 1 of tb 4 of gpu 0: adds the contribution of rank 0 to "
                                              "chunk 0 a second time"));
  const std::string right = with(text, "type=\"rrcs\" srcbuf=\"i\" srcoff=\"0\"", "type=\"rcs\"");
  ASSERT_EQ(msccl_error_of(right), "");
  expect_sums(machine_with_file(file_with(right), 3), 3);
}

TEST(Schedule, MayMoveManyChunksInAStepInPlaceAndOutOfPlace) {
  for (const bool in_place : {true, false}) {
    std::string text = "<algo name=\"swap\" nchunksperloop=\"6\" ngpus=\"2\" coll=\"allgather\" inplace=\"" +
                       std::string(in_place ? "1" : "0") + "\">";
    for (int gpu = 0; gpu < 2; ++gpu) {
      const std::string other = std::to_string(1 - gpu), own = std::to_string(3 * gpu),
                        far = std::to_string(3 - 3 * gpu);
      text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"3\" o_chunks=\"6\"><tb id=\"0\" send=\"" + other +
              "\" recv=\"" + other + "\">";
      if (in_place)
        text += "<step s=\"0\" type=\"nop\" cnt=\"0\"/>";
      else
        text += "<step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"" + own + "\" cnt=\"3\"/>";
      text +=
          "<step s=\"1\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" cnt=\"3\"/><step s=\"2\" type=\"r\" dstbuf=\"o\" "
          "dstoff=\"" +
          far + "\" cnt=\"3\"/></tb></gpu>";
    }
    text += "</algo>";
    ASSERT_EQ(msccl_error_of(text), "");
    run_all(machine_with_file(file_with(text), 2), 2, [&](int rank) {
      for (const std::int64_t count : kCounts) {
        const auto all = torch::zeros({2 * count}, torch::device("ahbm"));
        dist::all_gather_into_tensor(
            all, filled(count, DType::f32, [&](std::int64_t i) { return element(rank, i); }).to("ahbm"));
        EXPECT_TRUE(torch::equal(
            all.cpu(), filled(2 * count, DType::f32,
                              [&](std::int64_t i) { return element(static_cast<int>(i / count), i % count); })))
            << count;
      }
    });
  }
}

TEST(Schedule, StandsInACollectivesFileByThePathFromThere) {
  file_with(exchange_of_halves(), "halves.xml");
  SimulateOptions options = machine_of(2);
  options.collectives = file_with(
      "defaults: {algorithm: schedule}\nalgorithms: {schedule: {msccl: halves.xml}, ring: {module: ring_allreduce}}\n",
      "with_schedule.yaml");
  expect_sums(options, 2);
  options.collectives = file_with("defaults: {algorithm: a}\nalgorithms: {a: {msccl: none.xml}}\n", "without.yaml");
  const auto outcome = run_ranks(options, 2, [&](int rank) { dist::init_process_group("ahbm", rank, 2); });
  EXPECT_THAT(outcome.errors.front(), HasSubstr("none.xml"));
}

/// What load_msccl says of a file.
std::string load_error_of(const std::string& path) {
  try {
    collectives::load_msccl(path);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleFile, MayBeLargerThanOtherFilesAndIsReadAsAWhole) {
  const std::string comment = "<!--" + std::string(300'000, ' ') + "-->\n";
  EXPECT_EQ(load_error_of(file_with(comment + exchange_of_halves(), "long.xml")), "");
}

TEST(ScheduleFile, ThatIsTooLargeIsRefusedWithItsSizeAndTheLimit) {
  const std::string path = file_with(exchange_of_halves(), "too_long.xml");
  std::filesystem::resize_file(path, (64 << 20) + 1);
  EXPECT_EQ(load_error_of(path), path + ": has 67108865 bytes; an MSCCL file has at most 67108864 (64MiB)");
  std::filesystem::remove(path);
}

TEST(ScheduleFile, IsNoFolder) {
  EXPECT_EQ(load_error_of(test_files::folder()), test_files::folder() + ": is a directory, expected an MSCCL file");
}

TEST(Schedule, OfAnAllToAllRefusesBlocksOfSeveralSizesAtTheCall) {
  SimulateOptions options = machine_with("pairwise_alltoall", 4);
  const auto outcome = run_ranks(options, 4, [](int rank) {
    dist::init_process_group("ahbm", rank, 4, {.algorithm = "schedule"});
    const auto on = torch::device("ahbm");
    const auto input = torch::zeros({10}, on), output = torch::zeros({4 * (rank + 1)}, on);
    dist::all_to_all_single(output, input, std::vector<std::int64_t>(4, rank + 1), {1, 2, 3, 4});
  });
  EXPECT_THAT(outcome.errors,
              Each(::testing::AllOf(HasSubstr("ValueError: all_to_all_single: schedule does not take this call: the "
                                              "schedule of "),
                                    HasSubstr("pairwise_alltoall_4.xml is for blocks of one size; all_to_all that take "
                                              "it: pairwise_all_to_all"))));
}

TEST(Schedule, ForAnotherNumberOfRanksOrMoreSlotsIsRefused) {
  const auto answer = [](SimulateOptions options, int ranks) {
    return run_ranks(options, ranks,
                     [&](int rank) { dist::init_process_group("ahbm", rank, ranks, {.algorithm = "schedule"}); })
        .errors.front();
  };
  SimulateOptions options = machine_of(3);
  options.algorithms.add(collectives::load_msccl(msccl_path("ring_allreduce_4"), "schedule"));
  EXPECT_THAT(answer(options, 3), HasSubstr("is a schedule for 4 ranks; take as many, or a file for 3"));
  // Both send two chunks before they receive the first.
  std::string text = "<algo name=\"late\" nchunksperloop=\"4\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\">";
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::string other = std::to_string(1 - gpu), far = std::to_string(2 - 2 * gpu);
    text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"2\" o_chunks=\"4\"><tb id=\"0\" send=\"" + other +
            "\" recv=\"" + other + "\"><step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" cnt=\"2\"/>" +
            "<step s=\"1\" type=\"r\" dstbuf=\"o\" dstoff=\"" + far + "\" cnt=\"2\"/></tb></gpu>";
  }
  text += "</algo>";
  EXPECT_EQ(distributed::msccl::plan(distributed::msccl::parse(text, "late.xml")).slots, 2);
  SimulateOptions few = machine_of(2);
  few.algorithms.add(collectives::load_msccl(file_with(text), "schedule"));
  few.collectives =
      file_with("defaults: {algorithm: a, n_slots: 1}\nalgorithms: {a: {module: ring_allreduce}}\n", "few.yaml");
  EXPECT_THAT(answer(few, 2), HasSubstr("needs 2 slots in a channel, and there are 1; raise n_slots"));
}

TEST(Schedule, TakesTheSameTimeInEveryRun) {
  const auto time_of = [] {
    return run_all(machine_with("hierarchical_allreduce", 4), 4,
                   [](int) { dist::all_reduce(torch::ones({100'000}, torch::device("ahbm"))); })
        .run.simulated_time;
  };
  EXPECT_EQ(time_of(), time_of());
}

TEST(ScheduleOrder, NeedsAsFewSlotsAsItCan) {
  const auto slots_of = [](const char* name) {
    return distributed::msccl::plan(distributed::msccl::parse(msccl_text(name), name)).slots;
  };
  EXPECT_EQ(slots_of("allpairs_allreduce_8"), 1);
  EXPECT_EQ(slots_of("pairwise_alltoall_8"), 1);
  EXPECT_EQ(slots_of("ring_allreduce_8"), 2);  // all send what goes on before they take out what comes in
  EXPECT_EQ(slots_of("hierarchical_allreduce_8"), 2);
}

}  // namespace
}  // namespace kernbench::testing
