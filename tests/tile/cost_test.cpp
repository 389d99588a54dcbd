// What each operation costs: the laws of the vector and the GEMM engine, with the operation's own figure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "harness.h"
#include "tile/program/tile_state.h"
#include "topology/engine_operations.h"

namespace kernbench::tile_test {
namespace {

constexpr std::int64_t kStartup = 5, kLanes = 128;

/// Every key has a figure of its own, so that a command's cycles tell which one it was charged.
std::int64_t cycles_of(const std::string& key) {
  std::int64_t index = 0;
  for (const auto& info : topology::kVectorOperations) {
    if (info.key == key) return 2 * index + 3;
    ++index;
  }
  ADD_FAILURE() << "no operation " << key;
  return 0;
}

SimulateOptions distinct_costs() {
  auto options = tiny();
  options.overrides = {"pe.vector.startup_cycles=5", "pe.tcm.bandwidth=100TB/s"};
  for (const auto& info : topology::kVectorOperations) {
    options.overrides.push_back("pe.vector.cycles." + std::string(info.key) + "=" +
                                std::to_string(cycles_of(std::string(info.key))));
  }
  return options;
}

/// Tiles of 21 x 37 in f32, and others.
struct Operands {
  tl::Tile f, g, h, i, b;  // f32, f32, f16, i32, bool
};
constexpr std::int64_t kCount = 21 * 37;

struct CostCase {
  const char* name;
  std::string key;
  std::function<tl::Tile(const Operands&)> compute;
  std::int64_t elements = kCount;
  std::int64_t bytes = 4;  // of the widest element
  std::int64_t reduced = 1;
};

std::int64_t levels(std::int64_t reduced, std::int64_t bytes) {
  const std::int64_t most = std::min(reduced, 4 * kLanes / bytes);
  std::int64_t result = 0;
  while ((std::int64_t{1} << result) < most) ++result;
  return result;
}

const std::vector<CostCase>& cost_cases() {
  static const std::vector<CostCase> cases{
      {"arange", "copy", [](const Operands&) { return tl::arange(0, 1000); }, 1000},
      {"full", "copy", [](const Operands&) { return tl::full({30, 30}, 1, DType::f16); }, 900},
      {"zeros", "copy", [](const Operands&) { return tl::zeros({30, 30}, DType::i64); }, 900, 8},
      {"zeros_like", "copy", [](const Operands& t) { return tl::zeros_like(t.f); }},
      {"+", "add", [](const Operands& t) { return t.f + t.g; }},
      {"- of two", "add", [](const Operands& t) { return t.f - 1; }},
      {"*", "multiply", [](const Operands& t) { return 2 * t.h; }},
      {"/", "divide", [](const Operands& t) { return t.f / t.g; }},
      {"%", "remainder", [](const Operands& t) { return t.f % t.g; }},
      {"idiv", "integer_divide", [](const Operands& t) { return tl::idiv(t.i, 3); }},
      {"-", "add", [](const Operands& t) { return -t.f; }},
      {"&", "bitwise", [](const Operands& t) { return t.i & 3; }},
      {"|", "bitwise", [](const Operands& t) { return t.i | 3; }},
      {"^", "bitwise", [](const Operands& t) { return t.i ^ 3; }},
      {"~", "bitwise", [](const Operands& t) { return ~t.i; }},
      {"<<", "shift", [](const Operands& t) { return t.i << 3; }},
      {">>", "shift", [](const Operands& t) { return t.i >> 3; }},
      {"!", "compare", [](const Operands& t) { return !t.f; }},
      {"<", "compare", [](const Operands& t) { return t.f < t.g; }},
      {"<=", "compare", [](const Operands& t) { return t.f <= t.g; }},
      {">", "compare", [](const Operands& t) { return t.f > t.g; }},
      {">=", "compare", [](const Operands& t) { return t.f >= t.g; }},
      {"==", "compare", [](const Operands& t) { return t.f == t.g; }},
      {"!=", "compare", [](const Operands& t) { return t.f != t.g; }},
      {"maximum", "minimum", [](const Operands& t) { return tl::maximum(t.f, t.g); }},
      {"minimum", "minimum", [](const Operands& t) { return tl::minimum(t.f, 0); }},
      {"clamp", "clamp", [](const Operands& t) { return tl::clamp(t.f, 0, 1); }},
      {"where", "select", [](const Operands& t) { return tl::where(t.b, t.f, 0); }},
      {"fma", "fma", [](const Operands& t) { return tl::fma(t.f, t.g, t.h); }},
      {"fdiv", "divide", [](const Operands& t) { return tl::fdiv(t.f, t.g); }},
      {"abs", "add", [](const Operands& t) { return tl::abs(t.f); }},
      {"floor", "round", [](const Operands& t) { return tl::floor(t.f); }},
      {"ceil", "round", [](const Operands& t) { return tl::ceil(t.f); }},
      {"round", "round", [](const Operands& t) { return tl::round(t.f); }},
      {"trunc", "round", [](const Operands& t) { return tl::trunc(t.f); }},
      {"pow", "pow", [](const Operands& t) { return tl::pow(t.f, t.g); }},
      {"cast", "cast", [](const Operands& t) { return tl::cast(t.f, DType::f16); }},
      {"cast to i64", "cast", [](const Operands& t) { return tl::cast(t.h, DType::i64); }, kCount, 8},
      {"sum of rows", "reduce", [](const Operands& t) { return tl::sum(t.f, 1); }, kCount, 4, 37},
      {"sum of all", "reduce", [](const Operands& t) { return tl::sum(t.f); }, kCount, 4, kCount},
      {"max", "reduce", [](const Operands& t) { return tl::max(t.f, 0); }, kCount, 4, 21},
      {"min", "reduce", [](const Operands& t) { return tl::min(t.h, 0); }, kCount, 4, 21},
      {"argmax", "argreduce", [](const Operands& t) { return tl::argmax(t.f, 0); }, kCount, 4, 21},
      {"argmin", "argreduce", [](const Operands& t) { return tl::argmin(t.f); }, kCount, 4, kCount},
      {"cumsum", "scan", [](const Operands& t) { return tl::cumsum(t.f, 1); }},
      {"cumprod", "scan", [](const Operands& t) { return tl::cumprod(t.f, 1); }},
      // Lines of 37 in the network of 64: 6 * 7 / 2 stages.
      {"sort", "sort", [](const Operands& t) { return tl::sort(t.f, 1); }, 21 * 64 * 21},
      {"sort of lines of one", "sort", [](const Operands& t) { return tl::sort(tl::view(t.f, {-1, 1}), 1); }},
      {"topk", "sort", [](const Operands& t) { return tl::topk(t.f, 5, 0); }, 37 * 32 * 15},
      {"histogram", "compare", [](const Operands& t) { return tl::histogram(t.i, 3); }, 3 * kCount, 4, kCount},
      {"randint", "multiply", [](const Operands& t) { return tl::randint(1, t.i); }, 100 * kCount},
      {"flip", "copy", [](const Operands& t) { return tl::flip(t.f); }},
      {"gather", "gather", [](const Operands& t) { return tl::gather(t.f, t.i, 0); }},
      {"permute", "copy", [](const Operands& t) { return tl::permute(t.f, {1, 0}); }},
      {"trans", "copy", [](const Operands& t) { return tl::trans(t.f); }},
      {"broadcast_to", "copy", [](const Operands& t) { return tl::broadcast_to(t.f, {3, 21, 37}); }, 3 * kCount},
      {"cat", "copy", [](const Operands& t) { return tl::cat({t.f, t.g, t.f}, 1); }, 3 * kCount},
      {"join", "copy", [](const Operands& t) { return tl::join(t.f, t.g); }, 2 * kCount},
      {"first of split", "copy", [](const Operands& t) { return tl::split(tl::join(t.f, t.g)).first; }},
      {"second of split", "copy", [](const Operands& t) { return tl::split(tl::join(t.f, t.g)).second; }}};
  return cases;
}

/// Of functions of floats, as their references say.
std::vector<CostCase> function_cost_cases() {
  std::vector<CostCase> cases;
  for (const auto& reference : elementwise_test::references()) {
    const auto compute = tile_function(reference.name);
    EXPECT_EQ(compute == nullptr, reference.cost.empty()) << reference.name;
    if (compute != nullptr)
      cases.push_back({reference.name, reference.cost, [compute](const Operands& t) { return compute(t.f); }});
  }
  return cases;
}

/// Runs `body` in a kernel with its operands ready.
void with_operands(const SimulateOptions& options, const std::function<void(const Operands&)>& body) {
  simulate(options, [&] {
    auto x = torch::ones({21, 37}, one_pe(DType::f32));
    torch::launch(
        "costs",
        [&](tl::In a) {
          const auto f = tl::load(a, {0, 0}, {21, 37});
          body({f, f * 2, tl::cast(f, DType::f16), tl::cast(f, DType::i32), f > 0});
        },
        x);
    torch::ahbm::synchronize();
  });
}

std::int64_t edge(Time time) {
  return (time.count() + 999) / 1000 * 1000;
}

/// From the clock edge at which the engine begins to the end, in picoseconds.
std::int64_t duration(const tl::Tile& tile) {
  auto& command = *tile.state()->producer;
  command.done.wait();
  return command.times.finished.count() - edge(command.times.started);
}

TEST(TileCost, EveryVectorCommandTakesItsOwnCyclesForEachGroupOfLanes) {
  with_operands(distinct_costs(), [](const Operands& operands) {
    auto cases = cost_cases();
    for (auto& function : function_cost_cases()) cases.push_back(std::move(function));
    for (const auto& what : cases) {
      const std::int64_t width = std::max<std::int64_t>(what.bytes, 4);
      const std::int64_t groups = (what.elements * width + 4 * kLanes - 1) / (4 * kLanes);
      const std::int64_t cycles =
          kStartup + groups * cycles_of(what.key) + levels(what.reduced, width) * cycles_of("reduce_level");
      EXPECT_EQ(duration(what.compute(operands)), cycles * 1000) << what.name;
    }
  });
}

TEST(TileCost, ACommandIsNoFasterThanItsOperandsPassTheTcmPort) {
  auto options = tiny();
  options.overrides = {"pe.tcm.bandwidth=1GB/s"};
  with_operands(options, [](const Operands& t) {
    EXPECT_EQ(duration(t.f + t.g), kCount * 12 * 1000);
    EXPECT_EQ(duration(t.f + t.h), kCount * 10 * 1000);
    EXPECT_EQ(duration(t.f < 0), kCount * 5 * 1000);
    EXPECT_EQ(duration(tl::fma(t.f, t.g, t.h)), kCount * 14 * 1000);
    EXPECT_EQ(duration(tl::cat({t.f, t.g, t.f, t.g}, 0)), kCount * 32 * 1000);
    EXPECT_EQ(duration(tl::sum(t.f)), (kCount + 1) * 4 * 1000);
    EXPECT_EQ(duration(tl::zeros({100}, DType::f32)), 400 * 1000);
  });
}

TEST(TileCost, TimesAreTheSameWithoutData) {
  const auto time = [](bool data) {
    auto options = distinct_costs();
    options.data = data;
    Time end;
    with_operands(options, [&](const Operands& operands) {
      for (const auto& what : cost_cases()) what.compute(operands);
      const auto last = tl::dot(operands.f, tl::trans(operands.g), tl::zeros({21, 21}, DType::f16), DType::bf16);
      duration(last);
      end = last.state()->producer->times.finished;
    });
    return end;
  };
  EXPECT_GT(time(true), Time::zero());
  EXPECT_EQ(time(true), time(false));
}

TEST(TileCost, WhatChangesNothingIsNoCommand) {
  with_operands(tiny(), [](const Operands& t) {
    const auto same_tile = [&](const tl::Tile& x) { return x.state()->producer == t.f.state()->producer; };
    EXPECT_TRUE(same_tile(tl::reshape(t.f, {37, 21})));
    EXPECT_TRUE(same_tile(tl::view(t.f, {-1})));
    EXPECT_TRUE(same_tile(tl::ravel(t.f)));
    EXPECT_TRUE(same_tile(tl::expand_dims(t.f, 1)));
    EXPECT_TRUE(same_tile(tl::bitcast(t.f, DType::i32)));
    EXPECT_TRUE(same_tile(tl::cast(t.f, DType::f32)));
    EXPECT_TRUE(same_tile(tl::broadcast_to(t.f, {21, 37})));
  });
}

TEST(TileCost, ProductsTakeTheArraysLawAtTheRateOfTheirType) {
  auto options = tiny();
  options.overrides = {"pe.gemm.array=[16, 8]", "pe.tcm.bandwidth=100TB/s"};  // 16 columns, 8 rows
  with_operands(options, [](const Operands&) {
    const std::map<DType, double> rate{{DType::f8e4m3, 2}, {DType::f8e5m2, 2}, {DType::i8, 2},     {DType::u8, 2},
                                       {DType::f16, 1},    {DType::bf16, 1},   {DType::f32, 0.25}, {DType::i32, 0.25}};
    for (const auto& [type, steps] : rate) {
      for (const std::int64_t groups : {1, 3}) {
        const std::int64_t m = 20, k = 33, n = 17;
        const auto a = tl::zeros({groups, m, k}, type), b = tl::zeros({groups, k, n}, type);
        const std::int64_t folds = groups * 3 * 2;
        const auto stream = static_cast<std::int64_t>(std::ceil(static_cast<double>(k) / steps));
        EXPECT_EQ(duration(tl::dot(a, b)), (folds * stream + 2 * 8 + 16 - 2) * 1000) << name(type);
      }
    }
  });
}

TEST(TileCost, ScaledProductsTakeTheRateOfTheWiderFormat) {
  auto options = tiny();
  options.overrides = {"pe.gemm.array=[16, 8]", "pe.tcm.bandwidth=100TB/s", "pe.gemm.rate.bf16=1/2"};
  with_operands(options, [](const Operands&) {
    const std::map<std::string, std::pair<DType, double>> formats{{"e2m1", {DType::u8, 4}},
                                                                  {"e4m3", {DType::f8e4m3, 2}},
                                                                  {"e5m2", {DType::f8e5m2, 2}},
                                                                  {"fp16", {DType::f16, 1}},
                                                                  {"bf16", {DType::bf16, 0.5}}};
    const std::int64_t m = 20, k = 96, n = 17;
    for (const auto& [left, l] : formats) {
      for (const auto& [right, r] : formats) {
        const auto a = tl::zeros({m, left == "e2m1" ? k / 2 : k}, l.first),
                   b = tl::zeros({right == "e2m1" ? k / 2 : k, n}, r.first);
        const auto stream = static_cast<std::int64_t>(std::ceil(static_cast<double>(k) / std::min(l.second, r.second)));
        const std::int64_t cycles = 3 * 2 * stream + 2 * 8 + 16 - 2;
        EXPECT_EQ(duration(tl::dot_scaled(a, {}, left, b, {}, right)), cycles * 1000) << left << " and " << right;
        // Scales cost nothing.
        const auto scales = tl::full({m, k / 32}, 120, DType::u8);
        EXPECT_EQ(duration(tl::dot_scaled(a, scales, left, b, {}, right)), cycles * 1000) << left << " and " << right;
      }
    }
  });
}

hardware::Timeline times_of(const tl::Tile& tile) {
  tile.state()->producer->done.wait();
  return tile.state()->producer->times;
}

TEST(TileCost, AProductThatAddsToTheOneBeforeStartsWhenThatOnesOperandsHaveEntered) {
  auto options = tiny();
  options.overrides = {"pe.gemm.array=[16, 8]", "pe.tcm.bandwidth=100TB/s"};
  with_operands(options, [](const Operands&) {
    const auto a = tl::zeros({8, 300}, DType::f16), b = tl::zeros({300, 16}, DType::f16);
    const auto first = tl::dot(a, b);
    const auto second = tl::dot(a, b, first), third = tl::dot(a, b, second, DType::f16);
    EXPECT_EQ((times_of(second).started - times_of(first).started).count(), 300'000);
    EXPECT_EQ((times_of(third).started - times_of(second).started).count(), 300'000);
  });
}

TEST(TileCost, AProductOfWhatTheOneBeforeYieldsStartsWhenThatOneHasFinished) {
  auto options = tiny();
  options.overrides = {"pe.gemm.array=[16, 8]", "pe.tcm.bandwidth=100TB/s"};
  const auto expect_behind = [](const tl::Tile& first, const tl::Tile& second) {
    EXPECT_EQ(times_of(second).started, times_of(first).finished);
  };
  with_operands(options, [&](const Operands&) {
    const auto a = tl::zeros({8, 8}, DType::f32), b = tl::zeros({8, 8}, DType::f32);
    const auto sums = tl::dot(a, b);
    expect_behind(sums, tl::dot(sums, b, sums));
    const auto others = tl::dot(a, b);
    expect_behind(others, tl::dot(a, others, others));
    for (const std::int64_t groups : {1, 2}) {  // folds of the same shape, and of another one
      const tl::Extents left{groups, 8 / groups, 8};
      const auto right = tl::zeros({groups, 8, 8}, DType::f32);
      const auto viewed = tl::dot(a, b);
      expect_behind(viewed, tl::dot(tl::reshape(a, left), right, tl::reshape(viewed, left)));
    }
  });
}

}  // namespace
}  // namespace kernbench::tile_test
