// What functions of device tensors attain of the machine's limits without options, on ahbm-1sip: the tables of
// docs/attained.md, each with its floor. KERNBENCH_UPDATE_GOLDEN=1 rewrites them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "support.h"
#include "support/all_cases.h"
#include "support/sanitizers.h"
#include "support/source_tree.h"

namespace kernbench {
namespace {

using torch::Tensor;

/// Of all launches, from the first command to the last completion, and of the last one what holds it at least.
struct Attained {
  double us = 0;
  std::string bound;
};

Attained attained(const std::function<void()>& body, bool quick_plans = false) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  options.quick_plans = quick_plans;
  const RunResult result = simulate(options, [&] {
    body();
    torch::ahbm::synchronize();
  });
  EXPECT_FALSE(result.error) << result.error->message;
  Attained all;
  Time longest, end;
  for (const LaunchResult& launch : result.launches) {
    end = std::max(end, launch.end);
    if (launch.end - launch.start <= longest) continue;
    longest = launch.end - launch.start;
    all.bound = launch.bound_by;
  }
  all.us = (end - result.launches.front().start).in_seconds() * 1e6;
  return all;
}

/// Whether all rows are measured; else a few or none, which then are among those of the document.
bool measures_all() {
  return takes_all_cases() || source_tree::updates_golden();
}

void expect_row(const std::string& row) {
  EXPECT_NE(source_tree::read("docs/attained.md").find(row), std::string::npos)
      << "docs/attained.md has no row " << row << "rewrite it: KERNBENCH_UPDATE_GOLDEN=1";
}

void expect_table(const std::string& part, const std::string& table) {
  source_tree::expect_golden_part("docs/attained.md", "<!-- " + part + ": generated, begin -->\n",
                                  "<!-- " + part + ": generated, end -->", table);
}

// ---- products -----------------------------------------------------------------------------------------------------

struct Product {
  std::vector<std::int64_t> a, b;  // sizes
  DType dtype;
  double least;     // of the peak; 0: none
  double most = 0;  // us; 0: none
  bool linear = false;
};

constexpr double kPes = 128, kGhz = 1e9;
/// FLOP/s of a device: PEs of 64 x 64 at 1 GHz, 0.95 of the cycles (topologies/ahbm-1sip.yaml).
double peak_of(DType dtype) {
  const double rate = dtype == DType::f32 ? 0.25 : item_size(dtype) == 1 ? 2 : 1;
  return 2 * kPes * 64 * 64 * kGhz * 0.95 * rate;
}

Attained attained(const Product& product, bool quick_plans = false) {
  const auto multiply = [&] {
    const auto where = torch::dtype(product.dtype).device("ahbm");
    const Tensor a = torch::empty(product.a, where), b = torch::empty(product.b, where);
    const Tensor c = product.linear ? torch::linear(a, b) : torch::matmul(a, b);
  };
  return attained(multiply, quick_plans);
}

std::string text_of(const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

const std::vector<Product> kProducts{
    {{2048, 2048}, {2048, 2048}, DType::f16, 0.55}, {{1, 2048, 2048}, {2048, 2048}, DType::f16, 0.55},
    {{4096, 4096}, {4096, 4096}, DType::f16, 0.85}, {{4096, 4096}, {4096, 4096}, DType::f8e4m3, 0.80},
    {{4096, 4096}, {4096, 4096}, DType::f32, 0.80}, {{4097, 4097}, {4097, 4097}, DType::f16, 0.70},
    {{4095, 4033}, {4033, 4097}, DType::f16, 0.70}, {{4095, 4097}, {4097, 4033}, DType::f16, 0.70},
};

TEST(Attained, ProductsOfManyRowsReachTheirShareOfThePeak) {
  NOT_UNDER_SANITIZERS("times only");
  if (!measures_all()) GTEST_SKIP() << "half a minute for a row: make test-full";
  std::string table = "| a | b | type | time | of peak | at least |\n|---|---|---|---|---|---|\n";
  for (const Product& product : kProducts) {
    const double us = attained(product).us;
    double flops = 2.0 * static_cast<double>(product.b.back());
    for (const std::int64_t extent : product.a) flops *= static_cast<double>(extent);
    const double share = flops / (us * 1e-6) / peak_of(product.dtype);
    EXPECT_GE(share, product.least) << text_of(product.a) << " " << text_of(product.b) << " " << name(product.dtype);
    table += fmt::format("| {} | {} | {} | {:.1f} us | {:.0f} % | {:.0f} % |\n", text_of(product.a), text_of(product.b),
                         name(product.dtype), us, 100 * share, 100 * product.least);
  }
  expect_table("products", table);
}

TEST(Attained, ABatchOfOneTakesTheTimeOfItsMatrix) {
  NOT_UNDER_SANITIZERS("times only");
  const Product matrix{{512, 512}, {512, 512}, DType::f16, 0}, batch{{1, 512, 512}, {512, 512}, DType::f16, 0};
  EXPECT_EQ(attained(batch, true).us, attained(matrix, true).us);
}

// Weights of 8192 x 8192 in f16. An empty launch takes 2.0 us, the HBM 7.6, the array's folds 8.6.
const std::vector<Product> kFewRows{
    {{1, 8192}, {8192, 8192}, DType::f16, 0, 12.0},       {{8, 8192}, {8192, 8192}, DType::f16, 0, 14.3},
    {{16, 8192}, {8192, 8192}, DType::f16, 0, 15.7},      {{1, 8192}, {8192, 8192}, DType::f16, 0, 10.8, true},
    {{8, 8192}, {8192, 8192}, DType::f16, 0, 12.0, true}, {{16, 8192}, {8192, 8192}, DType::f16, 0, 12.7, true}};

TEST(Attained, ProductsOfFewRowsGoThroughTheirWeightsOnce) {
  NOT_UNDER_SANITIZERS("long");
  std::string table = "| rows | weights | time | bound by |\n|---|---|---|---|\n";
  for (const Product& product : std::span(kFewRows).first(measures_all() ? kFewRows.size() : 1)) {
    const Attained all = attained(product);
    EXPECT_LE(all.us, product.most) << text_of(product.a) << (product.linear ? " linear" : "");
    const std::string row = fmt::format("| {} | {} | {:.1f} us | {} |\n", product.a[0],
                                        product.linear ? "[n, k]" : "[k, n]", all.us, all.bound);
    expect_row(row);
    table += row;
  }
  if (measures_all()) expect_table("few rows", table);
}

// ---- attention of one new token ------------------------------------------------------------------------------------

/// A query row of each head over keys and values that are cached; heads of 128.
struct Decoding {
  std::int64_t sequences, heads, kv_heads, keys;
  double most;  // us
};

const std::vector<Decoding> kDecodings{{1, 64, 8, 4096, 6.4},
                                       {1, 64, 8, 8192, 8.1},
                                       {1, 64, 8, 32768, 16.3},
                                       {32, 64, 8, 4096, 43.4},
                                       {1, 8, 1, 4096, 7.8}};

Attained attained(const Decoding& decoding) {
  return attained([&] {
    const auto options = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor q = torch::empty({decoding.sequences, decoding.heads, 1, 128}, options);
    const Tensor k = torch::empty({decoding.sequences, decoding.kv_heads, decoding.keys, 128}, options),
                 v = torch::empty_like(k);
    torch::scaled_dot_product_attention(q, k, v, {}, 0.0, false, {}, true);
  });
}

TEST(Attained, AttentionOfOneTokenReadsItsKeysAndValuesOnce) {
  NOT_UNDER_SANITIZERS("long");
  std::string table =
      "| sequences | query heads | key heads | keys of each | time | of the HBM's bandwidth | of the roof |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Decoding& decoding : std::span(kDecodings).first(measures_all() ? kDecodings.size() : 2)) {
    const double us = attained(decoding).us;
    EXPECT_LE(us, decoding.most) << decoding.heads << " heads, " << decoding.keys << " keys";
    const double bytes = 2 * 2 * 128.0 * static_cast<double>(decoding.sequences * decoding.kv_heads * decoding.keys);
    const double least = bytes / (16 * 1.2e12 * 0.92) * 1e6;
    const std::string row =
        fmt::format("| {} | {} | {} | {} | {:.1f} us | {:.0f} % | {:.0f} % |\n", decoding.sequences, decoding.heads,
                    decoding.kv_heads, decoding.keys, us, 100 * least / us, 100 * (2.0 + least) / us);
    if (!measures_all()) expect_row(row);
    table += row;
  }
  if (measures_all()) expect_table("decoding", table);
}

// ---- functions of elements and rows -------------------------------------------------------------------------------

/// A function, and the cycles of a lane that its operations take for each element.
struct MeasuredFunction {
  std::string name;
  std::string operations;  // in f32, with casts from f16 and to it
  double cycles;
  std::function<Tensor(const Tensor&)> call;
};

std::vector<MeasuredFunction> functions() {
  return {{"softmax", "2 cast, max, subtract, exp (4), sum, multiply", 10,
           [](const Tensor& x) { return torch::softmax(x, -1); }},
          {"layer_norm", "2 cast, sum, subtract, multiply, sum, multiply", 7,
           [](const Tensor& x) { return torch::layer_norm(x, {x.size(-1)}); }},
          {"rms_norm", "2 cast, multiply, sum, multiply", 5,
           [](const Tensor& x) { return torch::rms_norm(x, {x.size(-1)}); }},
          {"gelu", "2 cast, multiply, erf (16), add, 2 multiply", 22, [](const Tensor& x) { return torch::gelu(x); }},
          {"sum", "cast, sum", 2, [](const Tensor& x) { return x.sum(-1); }}};
}

const std::vector<std::vector<std::int64_t>> kShapes{
    {1, 64},       {1, 8192},        {2, 4096},          {128, 64},         {1, 128, 1024},
    {1024, 1024},  {1823, 781},      {2, 65536},         {1, 1048576},      {8, 512, 4096},
    {4096, 4096},  {4097, 4095},     {8192, 1024},       {65536, 128},      {129, 32768},
    {16384, 4096}, {8, 32, 128, 64}, {2, 32, 1024, 128}, {8, 32, 512, 128}, {8, 32, 2048, 128}};

/// The larger of bytes in and out once over the HBM's bandwidth and of the lanes' cycles, and an empty launch.
double roof_us(const MeasuredFunction& function, const std::vector<std::int64_t>& sizes) {
  double elements = 1;
  for (const std::int64_t extent : sizes) elements *= static_cast<double>(extent);
  const double out = function.name == "sum" ? elements / static_cast<double>(sizes.back()) : elements;
  const double bytes = 2 * (elements + out) / (16 * 1.2e12 * 0.92), lanes = elements * function.cycles / (kPes * 128e9);
  return 2.0 + 1e6 * std::max(bytes, lanes);
}

TEST(Attained, FunctionsOfRowsReachSixTenthsOfTheirRoof) {
  NOT_UNDER_SANITIZERS("long");
  constexpr double kLongUs = 10, kShare = 0.6;
  std::string table = "| shape |", line = "|---|";
  for (const MeasuredFunction& function : functions())
    table += fmt::format(" {} | |", function.name), line += "---|---|";
  table += "\n" + line + "\n";
  std::size_t turn = 0;
  for (const auto& sizes : kShapes) {
    if (!measures_all() && turn++ % 6 != 0) continue;
    std::string row = fmt::format("| {} |", text_of(sizes));
    for (const MeasuredFunction& function : functions()) {
      const double us =
          attained([&] { function.call(torch::empty(sizes, torch::dtype(torch::kHalf).device("ahbm"))); }).us;
      const double roof = roof_us(function, sizes);
      if (roof > kLongUs) {
        EXPECT_GE(roof / us, kShare) << function.name << " of " << text_of(sizes);
      }
      row += fmt::format(" {:.1f} us | {:.0f} % |", us, 100 * roof / us);
    }
    row += "\n";
    if (!measures_all()) expect_row(row);
    table += row;
  }
  if (measures_all()) expect_table("rows", table);
  std::string operations = "| function | operations on each element | cycles |\n|---|---|---|\n";
  for (const MeasuredFunction& function : functions())
    operations += fmt::format("| {} | {} | {:.0f} |\n", function.name, function.operations, function.cycles);
  expect_table("operations", operations);
}

}  // namespace
}  // namespace kernbench
