// Runs without floating-point operations: the same times, right integers, and no number that nobody has computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "built_in_bench.h"
#include "programs.h"

namespace kernbench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::one_pe;

SimulateOptions skipping() {
  auto options = testing::tiny();
  options.skip_floating_point_ops = true;
  return options;
}

template <class T>
std::vector<T> values(const torch::Tensor& tensor) {
  const auto host = tensor.cpu().contiguous();
  return {host.data_ptr<T>(), host.data_ptr<T>() + host.numel()};
}

// ---- benches -------------------------------------------------------------------------------------------------------

struct BenchRun {
  const char* bench;
  std::map<std::string, std::string> parameters;
};

TEST(SkipFloatingPoint, BenchesTakeTheSameTimeAndSkipTheirFloatingChecks) {
  const std::vector<BenchRun> runs{
      {"vector_add", {{"n", "20000"}}},
      {"gemm_single_pe", {{"M", "70"}, {"N", "65"}, {"K", "130"}}},
      {"gemm", {{"M", "128"}, {"N", "96"}, {"K", "160"}, {"order", "any"}, {"split_k", "2"}}},
      {"softmax", {{"rows", "33"}, {"columns", "100"}}},
      {"layer_norm", {{"rows", "33"}, {"columns", "100"}, {"dtype", "f32"}}},
      {"gpt3_qkv", {{"hidden", "64"}, {"tokens", "48"}}}};
  for (const BenchRun& each : runs) {
    SimulateOptions options;
    options.topology = "tiny";
    options.overrides = {"sip.cubes.mesh=[2, 1]"};
    options.quick_plans = true;
    const RunResult all = run_built_in(each.bench, each.parameters, options);
    options.skip_floating_point_ops = true;
    const RunResult skipped = run_built_in(each.bench, each.parameters, options);
    ASSERT_FALSE(skipped.error) << each.bench << ": " << skipped.error->message;
    EXPECT_EQ(skipped.simulated_time, all.simulated_time) << each.bench;
    EXPECT_EQ(skipped.times_fingerprint, all.times_fingerprint) << each.bench;
    EXPECT_EQ(skipped.status, RunStatus::ok);
    ASSERT_FALSE(skipped.checks.empty());
    for (const auto& check : skipped.checks) EXPECT_EQ(check.status, CheckStatus::skipped) << check.name;
    for (const auto& check : all.checks) EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
    EXPECT_EQ(skipped.switches.at("skip_floating_point_ops"), "true");
    EXPECT_EQ(all.switches.at("skip_floating_point_ops"), "false");
  }
}

TEST(SkipFloatingPoint, IntegerBenchesAreCheckedAsEver) {
  const cli::ParameterTexts of_gemm{{"M", "40"}, {"N", "30"}, {"K", "50"}, {"dtype", "i8"}};
  for (const auto& [bench, parameters] : {std::pair("gemm", of_gemm), {"va_offset_verify", {}}}) {
    SimulateOptions options;
    options.topology = "tiny";
    options.skip_floating_point_ops = true;
    const RunResult result = run_built_in(bench, parameters, options);
    ASSERT_FALSE(result.checks.empty());
    for (const auto& check : result.checks) EXPECT_EQ(check.status, CheckStatus::passed) << check.name;
  }
}

// ---- what moves, what is left out ----------------------------------------------------------------------------------

/// Doubles `x` into `sums` (left out), copies it into `copies`, and counts in integers into `counts`, at places and
/// under masks that it reads from `places`.
void mixed(tl::In x, tl::In places, tl::Tensor sums, tl::Tensor copies, tl::Tensor counts) {
  const auto lanes = tl::load(x, {0}, {8});
  tl::store(sums, {0}, lanes + lanes);
  const auto at = tl::load(places, {0}, {8});
  tl::store(copies.data_ptr() + at, tl::load(x.data_ptr() + at), {.mask = at > 1});
  tl::store(counts, {0}, tl::cast(lanes, DType::i32) + 10 * at);
  tl::atomic_add(counts.data_ptr() + tl::item<std::int64_t>(tl::sum(at)), 1000);
}

struct Mixed {
  torch::Tensor x, sums, copies, counts;
};

Mixed run_mixed() {
  Mixed t{.x = torch::arange(8, torch::kFloat).to(one_pe()),
          .sums = torch::zeros({8}, one_pe()),
          .copies = torch::zeros({8}, one_pe()),
          .counts = torch::zeros({64}, one_pe(DType::i32))};
  const auto places = torch::arange(8, torch::kInt).to(one_pe(DType::i32));
  torch::launch("mixed", mixed, t.x, places, t.sums, t.copies, t.counts);
  return t;
}

TEST(SkipFloatingPoint, BytesMoveAndIntegersAreComputedWhileSumsReadAsInfinity) {
  std::vector<float> x, sums, copies;
  std::vector<std::int32_t> counts;
  const auto program = [&] {
    const auto t = run_mixed();
    x = values<float>(t.x);
    sums = values<float>(t.sums);
    copies = values<float>(t.copies);
    counts = values<std::int32_t>(t.counts);
  };
  const auto skipped = simulate(skipping(), program);
  EXPECT_THAT(x, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(sums, Each(INFINITY));
  EXPECT_THAT(copies, ElementsAre(0, 0, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(counts[7], 77);
  EXPECT_EQ(counts[28], 1000);
  EXPECT_EQ(simulate(testing::tiny(), program).times_fingerprint, skipped.times_fingerprint);
  EXPECT_EQ(sums[7], 14);
}

TEST(SkipFloatingPoint, ChecksOfFloatsAreSkippedAndOfIntegersThatDeriveFromThem) {
  const auto result = simulate(skipping(), [] {
    const auto t = run_mixed();
    const auto zeros = torch::zeros({8}, torch::kFloat);
    EXPECT_TRUE(check_close("moved", t.copies, zeros));
    EXPECT_TRUE(check_close("left out", t.sums, zeros));
    EXPECT_TRUE(check_close("left out, on the host", t.sums.cpu(), zeros));
    EXPECT_TRUE(check_close("left out, as integers", t.sums.to(torch::kInt), zeros));
    EXPECT_TRUE(check_close("left out, as integers of the host", t.sums.cpu().to(torch::kInt), zeros));
    auto again = torch::empty({8}, one_pe());
    again.copy_(t.sums.cpu());
    EXPECT_TRUE(check_close("left out, back on the device, as integers", again.to(torch::kInt), zeros));
    EXPECT_FALSE(check_close("integers", t.counts, torch::zeros({64}, torch::kInt)));
    EXPECT_FALSE(floating_point_enabled());
    EXPECT_TRUE(data_enabled());
  });
  ASSERT_EQ(result.checks.size(), 7u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(result.checks[i].status, CheckStatus::skipped) << result.checks[i].name;
  EXPECT_EQ(result.checks[6].status, CheckStatus::failed);
}

TEST(SkipFloatingPoint, AReplicaWrittenWithLeftOutValuesIsNoMismatch) {
  simulate(skipping(), [] {
    const auto policy = DPPolicy{.cube = Placement::replicate, .pe = Placement::replicate};
    const auto x = torch::ones({8}, torch::dtype(torch::kFloat).device("ahbm").placement(policy));
    const auto y = x + x;
    EXPECT_THAT(values<float>(y), Each(INFINITY));
  });
}

// ---- what cannot go on ---------------------------------------------------------------------------------------------

TEST(SkipFloatingPoint, ReadingALeftOutValueToGoOnByItIsAnErrorThatNamesTheCall) {
  const auto host = [](auto read) {
    return error_of(
        [read] {
          const auto t = run_mixed();
          read(t);
        },
        skipping());
  };
  const auto names = [](const char* call) {
    return AllOf(HasSubstr(std::string(call) + " reads values of"), HasSubstr("--skip-floating-point-ops"));
  };
  EXPECT_THAT(host([](const Mixed& t) { t.sums[0].item<float>(); }), names("item"));
  EXPECT_THAT(host([](const Mixed& t) { t.sums.cpu()[0].item<float>(); }), names("item"));
  EXPECT_THAT(host([](const Mixed& t) { t.sums.equal(t.x); }), names("equal"));
  EXPECT_THAT(host([](const Mixed& t) { t.x.allclose(t.sums); }), names("allclose"));
  EXPECT_THAT(host([](const Mixed& t) { t.sums.to(torch::dtype(torch::kInt).device("ahbm")).cpu(); }), names("cpu"));
  simulate(skipping(), [] {
    const auto t = run_mixed();
    EXPECT_EQ(t.sums[0].item_or(3.0f), 3.0f);
    EXPECT_EQ(t.copies[4].item_or(3.0f), 4.0f);
    EXPECT_EQ(t.x[4].item<float>(), 4.0f);
  });
}

TEST(SkipFloatingPoint, AKernelCannotBranchOrAddressByALeftOutValue) {
  const auto kernel = [](auto body) {
    const auto program = [body] {
      const auto x = torch::ones({8}, one_pe());
      torch::launch("steered", [body](tl::Tensor t) { body(t); }, x);
      torch::ahbm::synchronize();
    };
    EXPECT_EQ(error_type_of(program, skipping()), "SkippedValueError");
    return error_of(program, skipping());
  };
  EXPECT_THAT(
      kernel([](const tl::Tensor& t) { tl::item<float>(tl::sum(tl::load(t, {0}, {8}))); }),
      AllOf(HasSubstr("tl::item reads a value"), HasSubstr("item_or"), HasSubstr("skip_floating_point_test.cpp")));
  EXPECT_THAT(kernel([](const tl::Tensor& t) {
                const auto lanes = tl::load(t, {0}, {8});
                tl::load(t.data_ptr() + tl::cast(lanes * lanes, DType::i32));
              }),
              AllOf(HasSubstr("tl::load needs the values of its offsets"), HasSubstr("--skip-floating-point-ops")));
  EXPECT_THAT(kernel([](const tl::Tensor& t) {
                const auto lanes = tl::load(t, {0}, {8});
                tl::load(t.data_ptr() + tl::arange(0, 8), {.mask = lanes + lanes > 1.0f});
              }),
              HasSubstr("tl::load needs the values of its mask"));
  simulate(skipping(), [] {
    const auto x = torch::ones({8}, one_pe());
    torch::launch(
        "steered",
        [](tl::Tensor t) {
          const auto lanes = tl::load(t, {0}, {8});
          EXPECT_EQ(tl::item_or(tl::sum(lanes), 2.5f), 2.5f);
          EXPECT_EQ(tl::item<float>(tl::load(t, {3}, {1})), 1.0f);
          tl::device_assert(lanes + lanes < 0.0f, "not looked at");
        },
        x);
  });
}

}  // namespace
}  // namespace kernbench
