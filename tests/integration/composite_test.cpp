// composite_gemm: the values of one product in every form, its pipeline's time, its place in program order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "programs.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"

namespace kernbench::composite_test {
namespace {

using testing::error_of;
using testing::error_type_of;
using ::testing::HasSubstr;
using testing::tiny;

struct Case {
  std::int64_t m, n, k;
  DType operand = DType::f16, result = DType::f32;
  bool a_in_tcm = false, b_in_tcm = false, to_tile = false, accumulate = false;
  tl::CompositeGemmOptions options = {};
};

torch::Tensor integers(std::int64_t rows, std::int64_t columns, DType dtype) {
  return torch::randint(-3, 4, {rows, columns}, torch::kDouble).to(dtype);
}

/// a b + c in double; `c` may be undefined.
torch::Tensor expected_product(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& c = {}) {
  const auto x = a.to(torch::kDouble).contiguous(), y = b.to(torch::kDouble).contiguous();
  const std::int64_t m = x.size(0), k = x.size(1), n = y.size(1);
  auto result = c.defined() ? c.to(torch::kDouble).clone() : torch::zeros({m, n}, torch::kDouble);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t p = 0; p < k; ++p) {
        result.data_ptr<double>()[i * n + j] += x.data_ptr<double>()[i * k + p] * y.data_ptr<double>()[p * n + j];
      }
    }
  }
  return result;
}

/// One program computes the product; both PEs' slices hold parts of the matrices.
void product(const Case& c, const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& out) {
  torch::LaunchOptions one;
  one.pes = {{CubeId{0}, PeId{0}}};
  torch::launch(
      one, "product",
      [c](tl::In x, tl::In y, tl::Tensor z) {
        const auto in_tcm = [](const tl::In& t) { return tl::MatrixOperand(tl::load(t, {0, 0}, t.shape())); };
        const tl::MatrixOperand left = c.a_in_tcm ? in_tcm(x) : tl::MatrixOperand(x);
        const tl::MatrixOperand right = c.b_in_tcm ? in_tcm(y) : tl::MatrixOperand(y);
        if (c.to_tile)
          tl::store(z, {0, 0}, tl::composite_gemm(left, right, c.result, c.options));
        else
          tl::composite_gemm(left, right, z, c.options);
      },
      a, b, out);
}

Case random_case(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  Case c{.m = draw(1, 90), .n = draw(1, 90), .k = draw(1, 90)};
  switch (draw(0, 3)) {
    case 0:
      c.operand = DType::f32;
      break;
    case 1:
      c.operand = DType::i8;
      c.result = DType::i32;
      break;
    case 2:
      c.result = DType::f16;
      break;
    default:
      break;
  }
  c.a_in_tcm = draw(0, 3) == 0;
  c.b_in_tcm = draw(0, 3) == 0;
  c.to_tile = draw(0, 3) == 0;
  c.options.accumulate = c.accumulate = !c.to_tile && draw(0, 2) == 0;
  if (draw(0, 2) > 0) {
    c.options.tile_m = draw(1, 40);
    c.options.tile_n = draw(1, 40);
    c.options.tile_k = draw(1, 40);
  }
  return c;
}

RunResult run(const Case& c, std::uint64_t seed, bool exact, bool data = true) {
  SimulateOptions options = tiny({"pe.gemm.array=[8, 8]"});
  options.exact_events = exact;
  options.data = data;
  return simulate(options, [&] {
    torch::manual_seed(seed);
    const auto a = integers(c.m, c.k, c.operand), b = integers(c.k, c.n, c.operand);
    const auto before = integers(c.m, c.n, c.result);
    const auto out = before.to("ahbm");
    product(c, a.to("ahbm"), b.to("ahbm"), out);
    EXPECT_TRUE(check_close("product", out, expected_product(a, b, c.accumulate ? before : torch::Tensor())));
  });
}

TEST(CompositeGemm, YieldsTheProductInEveryFormAndTakesTheSameTimeExactCoalescedAndWithoutData) {
  std::mt19937 random(5);
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(number_of_cases(150, 75, 12)); ++seed) {
    const Case c = random_case(random);
    const RunResult coalesced = run(c, seed, false), exact = run(c, seed, true), times = run(c, seed, false, false);
    ASSERT_EQ(coalesced.status, RunStatus::ok) << "seed " << seed;
    ASSERT_EQ(coalesced.times_fingerprint, exact.times_fingerprint) << "seed " << seed;
    ASSERT_EQ(coalesced.times_fingerprint, times.times_fingerprint) << "seed " << seed;
  }
}

TEST(CompositeGemm, AddsInTheOrderOfKWhateverItsTiles) {
  simulate(tiny(), [] {
    const auto a = torch::randn({48, 200}, torch::device("ahbm")), b = torch::randn({200, 56}, torch::device("ahbm"));
    const auto whole = torch::empty({48, 56}, torch::device("ahbm")), tiled = torch::empty_like(whole);
    torch::LaunchOptions one;
    one.pes = {{CubeId{0}, PeId{0}}};
    torch::launch(
        one, "both",
        [](tl::In x, tl::In y, tl::Tensor z, tl::Tensor w) {
          tl::store(z, {0, 0}, tl::dot(tl::load(x, {0, 0}, {48, 200}), tl::load(y, {0, 0}, {200, 56})));
          tl::composite_gemm(x, y, w, {.tile_m = 16, .tile_n = 24, .tile_k = 7});
        },
        a, b, whole, tiled);
    EXPECT_TRUE(tiled.equal(whole.cpu()));
  });
}

TEST(CompositeGemm, KeepsProgramOrderWithWhatStandsBeforeAndAfterIt) {
  simulate(tiny({"pe.dma.queues=1", "pe.dma.depth=1", "pe.gemm.queue=1"}), [] {
    const auto a = integers(64, 64, DType::f32).to("ahbm"), b = integers(64, 64, DType::f32).to("ahbm");
    const auto c = torch::zeros({64, 64}, torch::device("ahbm")), d = torch::zeros({64, 64}, torch::device("ahbm"));
    torch::LaunchOptions one;
    one.pes = {{CubeId{0}, PeId{0}}};
    torch::launch(
        one, "chain",
        [](tl::Tensor x, tl::In y, tl::Tensor z, tl::Tensor w) {
          const auto old = tl::load(x, {0, 0}, {64, 64});
          tl::store(x, {0, 0}, old + 1.0f);  // before: an operand is written
          tl::composite_gemm(x, y, z, {.tile_m = 16, .tile_n = 16, .tile_k = 16});
          tl::store(x, {0, 0}, old);                                  // after: the operand is written again
          const auto sum = tl::composite_gemm(z, y, DType::f32);      // reads what the first one wrote
          tl::store(w, {0, 0}, sum + tl::load(z, {0, 0}, {64, 64}));  // both results are used at once
        },
        a, b, c, d);
    const auto z = expected_product(a.cpu(), b.cpu(), expected_product(torch::ones({64, 64}), b.cpu()));
    EXPECT_TRUE(check_close("c", c, z));
    EXPECT_TRUE(check_close("d", d, expected_product(z, b.cpu(), z)));
  });
}

TEST(CompositeGemm, OfOneStepIsTwoLoadsAProductAndAStore) {
  const RunResult result = simulate(tiny(), [] {
    const auto a = torch::zeros({64, 64}, testing::one_pe(DType::f16)), b = torch::zeros_like(a);
    const auto c = torch::zeros({64, 64}, testing::one_pe());
    torch::launch("one", [](tl::In x, tl::In y, tl::Tensor z) { tl::composite_gemm(x, y, z); }, a, b, c);
    torch::ahbm::synchronize();
  });
  std::map<std::string, OperationResult> operations;
  for (const auto& operation : result.launches.back().operations) operations[operation.operation] = operation;
  EXPECT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations.at("composite_load").count, 2);
  EXPECT_EQ(operations.at("composite_store").count, 1);
  // The engine begins at the next edge of its clock.
  const Time product = Time::nanoseconds(64 + 2 * 64 + 64 - 2);
  EXPECT_GE(operations.at("composite_dot").work, product);
  EXPECT_LT(operations.at("composite_dot").work, product + Time::nanoseconds(1));
}

/// Issue of the command, the scheduler's issue of the first load, and then one after the other what depends on each
/// other: a composite command of one step has no other costs.
TEST(CompositeGemm, OfOneStepHasTheTimeOfItsLaw) {
  const auto duration = [](bool composite) {
    const RunResult result = simulate(tiny({"pe.dma.queues=1", "pe.dma.outstanding=1", "pe.clock=1THz"}), [&] {
      const auto a = torch::zeros({64, 64}, testing::one_pe(DType::f16)), b = torch::zeros_like(a);
      const auto c = torch::zeros({64, 64}, testing::one_pe());
      torch::launch(
          "one",
          [composite](tl::In x, tl::In y, tl::Tensor z) {
            if (composite) return tl::composite_gemm(x, y, z);
            return tl::store(z, {0, 0}, tl::dot(tl::load(x, {0, 0}, {64, 64}), tl::load(y, {0, 0}, {64, 64})));
          },
          a, b, c);
      torch::ahbm::synchronize();
    });
    return result.launches.back().end - result.launches.back().start;
  };
  // The two programs have the same chain on the engines; they differ in how the first load is issued: by the control
  // processor (4 ns), or by it and by the scheduler (1 ns more). All other issues are hidden behind the loads.
  EXPECT_EQ(duration(true), duration(false) + Time::nanoseconds(1));
}

TEST(CompositeGemm, ProductsOfATileAddToItsSumsInTheArray) {
  SimulateOptions options = tiny({"pe.gemm.array=[8, 8]"});
  const RunResult result = simulate(options, [] {
    const Case c{.m = 8, .n = 8, .k = 400, .a_in_tcm = true, .b_in_tcm = true, .options = {.tile_k = 100}};
    const auto a = torch::empty({c.m, c.k}, torch::kHalf), b = torch::empty({c.k, c.n}, torch::kHalf);
    product(c, a.to("ahbm"), b.to("ahbm"), torch::empty({c.m, c.n}, torch::device("ahbm")));
  });
  const EngineResult& gemm = result.launches.back().engines.front();
  EXPECT_EQ(gemm.engine, "gemm");
  // The first one may wait for an edge of the clock.
  EXPECT_GE(gemm.busiest.count(), (400 + 2 * 8 + 8 - 2) * 1000);
  EXPECT_LT(gemm.busiest.count(), (400 + 2 * 8 + 8 - 1) * 1000);
}

TEST(CompositeGemm, OverlapsLoadsAndProducts) {
  const auto time_of = [](bool composite) {
    return simulate(tiny(),
                    [composite] {
                      const auto a = torch::zeros({256, 2048}, testing::one_pe(DType::f16));
                      const auto b = torch::zeros({2048, 256}, testing::one_pe(DType::f16));
                      const auto c = torch::zeros({256, 256}, testing::one_pe());
                      torch::launch(
                          "one",
                          [composite](tl::In x, tl::In y, tl::Tensor z) {
                            if (composite) return tl::composite_gemm(x, y, z, {.tile_k = 256});
                            auto sum = tl::zeros({256, 256}, DType::f32);
                            for (std::int64_t k = 0; k < 2048; k += 256) {  // one step after the other
                              sum = tl::dot(tl::load(x, {0, k}, {256, 256}), tl::load(y, {k, 0}, {256, 256}), sum);
                              tl::wait(tl::store_async(z, {0, 0}, sum));
                            }
                            return tl::store(z, {0, 0}, sum);
                          },
                          a, b, c);
                      torch::ahbm::synchronize();
                    })
        .launches.back();
  };
  const auto pipelined = time_of(true), serial = time_of(false);
  EXPECT_LT((pipelined.end - pipelined.start).count() * 10, (serial.end - serial.start).count() * 8);
}

std::string error_of_composite(const std::function<void(tl::Tensor, tl::Tensor, tl::Tensor)>& kernel,
                               std::vector<std::string> overrides = {}) {
  return error_of(
      [&] {
        const auto a = torch::zeros({64, 32}, testing::one_pe(DType::f16)),
                   b = torch::zeros({32, 64}, testing::one_pe(DType::f16));
        const auto c = torch::zeros({64, 64}, testing::one_pe());
        torch::launch("bad", [kernel](tl::Tensor x, tl::Tensor y, tl::Tensor z) { kernel(x, y, z); }, a, b, c);
        torch::ahbm::synchronize();
      },
      tiny(std::move(overrides)));
}

TEST(CompositeGemm, RefusesWhatCannotBeWithThePlace) {
  const auto expect = [](const std::function<void(tl::Tensor, tl::Tensor, tl::Tensor)>& kernel, const char* text) {
    const std::string error = error_of_composite(kernel);
    EXPECT_THAT(error, HasSubstr(text));
    EXPECT_THAT(error, HasSubstr("tl::composite_gemm"));
  };
  expect([](auto x, auto, auto z) { tl::composite_gemm(x, x, z); }, "inner extents differ");
  expect([](auto x, auto y, auto) { tl::composite_gemm(x, y, x); }, "c has shape");
  expect([](auto, auto, auto z) { tl::composite_gemm(z, tl::MatrixOperand(z), z); }, "overlaps an operand");
  expect([](auto x, auto y, auto z) { tl::composite_gemm(x, y, z, {.tile_m = -1}); }, "tile_m is -1");
  expect([](auto x, auto y, auto z) { tl::composite_gemm(x, tl::MatrixOperand(y, {0, 64}, {32, 1}), z); },
         "begins at offset 64");
  expect([](auto x, auto y, auto) { tl::composite_gemm(x, y, tl::zeros({64, 64}, DType::f32)); },
         "take the form that returns a tile");
  expect([](auto x, auto, auto z) { tl::composite_gemm(x, tl::zeros({32, 64}, DType::f32), z); }, "cast one of them");
}

TEST(CompositeGemm, SaysWhatDoesNotFitIntoTheTcm) {
  EXPECT_THAT(
      error_of_composite(
          [](auto x, auto y, auto z) { tl::composite_gemm(x, y, z, {.tile_m = 64, .tile_n = 64, .tile_k = 32}); },
          {"pe.tcm.capacity=16KiB"}),
      HasSubstr("is too small"));
}

}  // namespace
}  // namespace kernbench::composite_test
