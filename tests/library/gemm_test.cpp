// The library's matrix product: bits where the data are whole numbers, and within the law of its order where not.
#include <gtest/gtest.h>

#include <cmath>

#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct Extents3 {
  std::int64_t batch, m, n, k;
};

/// sum over k of a[g, i, p] b[g, p, j], in double.
std::vector<double> product(const Extents3& size, const torch::Tensor& a, const torch::Tensor& b) {
  const auto x = elements(a), y = elements(b);
  std::vector<double> c(static_cast<std::size_t>(size.batch * size.m * size.n), 0.0);
  for (std::int64_t g = 0; g < size.batch; ++g) {
    for (std::int64_t i = 0; i < size.m; ++i) {
      for (std::int64_t p = 0; p < size.k; ++p) {
        const double factor = x[static_cast<std::size_t>((g * size.m + i) * size.k + p)];
        for (std::int64_t j = 0; j < size.n; ++j)
          c[static_cast<std::size_t>((g * size.m + i) * size.n + j)] +=
              factor * y[static_cast<std::size_t>((g * size.k + p) * size.n + j)];
      }
    }
  }
  return c;
}

Extents3 random_extents(Draw& draw) {
  const std::vector<std::int64_t> extents{1, 1, 2, 3, 7, 31, 63, 64, 65, 67, 127, 128, 130, 200, 257};
  Extents3 size{draw.chance(3) ? draw.integer(1, 5) : 1, draw.of(extents), draw.of(extents), draw.of(extents)};
  while (size.m * size.n * size.k * size.batch > 3'000'000) size.k = draw.of(extents);
  return size;
}

/// A matrix operand, sometimes transposed, with a batch when `batched` (sometimes one matrix for all).
Pair operand(Draw& draw, std::int64_t batch, std::int64_t rows, std::int64_t columns, const Values& values,
             bool batched) {
  if (draw.chance(3)) {
    const Pair pair = batched ? random_pair(draw, {batch, columns, rows}, values, ViewKind::writable)
                              : random_pair(draw, {columns, rows}, values, ViewKind::writable);
    return {pair.host.transpose(-1, -2), pair.device.transpose(-1, -2)};
  }
  if (batched && draw.chance(4)) {
    const Pair pair = random_pair(draw, {1, rows, columns}, values, ViewKind::writable);
    return {pair.host.expand({batch, rows, columns}), pair.device.expand({batch, rows, columns})};
  }
  return batched ? random_pair(draw, {batch, rows, columns}, values) : random_pair(draw, {rows, columns}, values);
}

struct TypeCase {
  DType operands, out;
  std::int64_t largest;  // whole numbers whose sums of 257 products are exact in f32 and in `out`
};

TEST(LibraryGemm, WholeNumbersAreExactForEveryShapeTypeViewAndPlacement) {
  const std::vector<TypeCase> types{{DType::f16, DType::f16, 2},    {DType::bf16, DType::f32, 3},
                                    {DType::f32, DType::f32, 9},    {DType::f8e4m3, DType::f32, 3},
                                    {DType::f8e5m2, DType::f32, 3}, {DType::i8, DType::i32, 100},
                                    {DType::u8, DType::i32, 2},     {DType::i32, DType::i32, 1000}};
  for_random_cases(160, [&](Draw& draw) {
    const TypeCase& type = draw.of(types);
    const Extents3 size = random_extents(draw);
    const bool batched = size.batch > 1 || draw.chance(4);
    const std::int64_t low = type.operands == DType::u8 ? 0 : -type.largest;
    const auto values = whole_numbers(type.operands, low, type.largest);
    const Pair a = operand(draw, size.batch, size.m, size.k, values, batched);
    const Pair b = operand(draw, size.batch, size.k, size.n, values, batched);
    const Sizes sizes = batched ? Sizes{size.batch, size.m, size.n} : Sizes{size.m, size.n};
    const auto out = random_output(draw, sizes, type.out);
    operations().matmul(a.device, b.device, {}, out);
    expect_equal(out, product(size, a.host, b.host),
                 std::string(name(type.operands)) + " " + std::to_string(size.batch) + " x " + std::to_string(size.m) +
                     " x " + std::to_string(size.n) + " x " + std::to_string(size.k));
  });
}

TEST(LibraryGemm, SplitKRotatedOrderAndOddTilesAreExactForWholeNumbers) {
  for_random_cases(80, [&](Draw& draw) {
    Extents3 size = random_extents(draw);
    size.batch = 1;
    size.k = draw.integer(1, 300);
    const auto values = whole_numbers(DType::f16, -2, 2);
    const Pair a = operand(draw, 1, size.m, size.k, values, false), b = operand(draw, 1, size.k, size.n, values, false);
    torch::ahbm::MatmulOptions options;
    options.exact_order = draw.chance(2);
    options.split_k = draw.integer(0, 2);
    options.out_dtype = torch::kFloat;
    options.placement = draw.placement();
    if (draw.chance(2)) options.tile_m = draw.integer(1, 100);
    if (draw.chance(2)) options.tile_n = draw.integer(1, 100);
    if (draw.chance(2)) options.tile_k = draw.integer(1, 100);
    // The parts of k must fit the PEs: with one PE there is one part.
    const std::vector<torch::Tensor> both{a.device, b.device};
    if (runtime::holders(both).size() % 2 == 1) options.split_k = 0;
    expect_equal(torch::ahbm::matmul(a.device, b.device, options), product(size, a.host, b.host), "split k");
  });
}

TEST(LibraryGemm, ExactOrderHasTheBitsOfOneChainWhateverTheTilesAndThePlacement) {
  for_random_cases(24, [&](Draw& draw) {
    const std::int64_t m = draw.integer(1, 80), n = draw.integer(1, 80), k = draw.integer(1, 400);
    const Pair a = operand(draw, 1, m, k, normal(DType::f16), false),
               b = operand(draw, 1, k, n, normal(DType::f16), false);
    const auto x = elements(a.host), y = elements(b.host);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum = std::fma(static_cast<float>(x[static_cast<std::size_t>(i * k + p)]),
                         static_cast<float>(y[static_cast<std::size_t>(p * n + j)]), sum);
        expected.push_back(sum);
      }
    }
    torch::ahbm::MatmulOptions options;
    options.exact_order = true;
    options.tile_k = draw.integer(0, 100);
    options.out_dtype = torch::kFloat;
    options.placement = draw.placement();
    expect_equal(torch::ahbm::matmul(a.device, b.device, options), expected, "chain");
    EXPECT_FALSE(torch::ahbm::exact_matmul_order());
    torch::ahbm::set_exact_matmul_order(true);
    expect_equal(torch::matmul(a.device.to(torch::kFloat), b.device.to(torch::kFloat)), expected, "torch::matmul");
  });
}

TEST(LibraryGemm, EpilogueScalesAddsAndActivates) {
  for_random_cases(60, [&](Draw& draw) {
    const Extents3 size = random_extents(draw);
    const bool batched = size.batch > 1;
    const DType dtype = draw.of(std::vector{DType::f16, DType::bf16, DType::f32});
    const auto values = normal(dtype, 0.2);
    const Pair a = operand(draw, size.batch, size.m, size.k, values, batched);
    const Pair b = operand(draw, size.batch, size.k, size.n, values, batched);
    const Sizes sizes = batched ? Sizes{size.batch, size.m, size.n} : Sizes{size.m, size.n};
    tensor::MatmulOptions options;
    options.alpha = draw.chance(2) ? 1 : 0.5;
    Pair addend;
    if (draw.chance(2)) {
      options.beta = draw.chance(2) ? 1 : -2;
      addend = random_pair(draw, sizes, normal(dtype), ViewKind::any);
      options.addend = addend.device;
    }
    options.activation =
        draw.of(std::vector{tensor::Activation::none, tensor::Activation::relu, tensor::Activation::silu,
                            tensor::Activation::gelu, tensor::Activation::gelu_tanh});
    const auto out = random_output(draw, sizes, dtype);
    operations().matmul(a.device, b.device, options, out);
    auto expected = product(size, a.host, b.host);
    const auto extra = options.beta != 0 ? elements(addend.host) : std::vector<double>(expected.size(), 0.0);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double x = options.alpha * expected[i] + options.beta * extra[i];
      switch (options.activation) {
        case tensor::Activation::none:
          expected[i] = x;
          break;
        case tensor::Activation::relu:
          expected[i] = std::max(x, 0.0);
          break;
        case tensor::Activation::silu:
          expected[i] = x / (1 + std::exp(-x));
          break;
        case tensor::Activation::gelu:
          expected[i] = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
          break;
        case tensor::Activation::gelu_tanh:
          expected[i] = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
          break;
      }
    }
    // k roundings of sums of size about 1 in f32, and one to the result's type.
    expect_near(out, expected, 2 * unit(dtype), 257 * 0x1p-22, name(dtype));
  });
}

TEST(LibraryGemm, RowsAndColumnsThatAreSharedAsEdgesHaveTheirSums) {
  NOT_UNDER_SANITIZERS("long");
  // 32 programs with arrays of 64 x 64, eight arrays each: a row and a column are left.
  const Extents3 size{1, 1025, 1025, 1000};
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"sip.cubes.mesh=[4, 4]"};
  const RunResult result = simulate(options, [&] {
    const auto a = torch::randint(-2, 3, {size.m, size.k}, torch::kHalf);
    const auto b = torch::randint(-2, 3, {size.k, size.n}, torch::kHalf);
    const auto bias = torch::randint(-9, 10, {size.n}, torch::kHalf);
    const auto x = a.to("ahbm");
    const auto expected = product(size, a, b);
    expect_equal(torch::matmul(x, b.to("ahbm")), expected, "product");
    auto sums = expected;
    const auto added = elements(bias);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += added[i % added.size()];
    expect_equal(torch::addmm(bias.to("ahbm"), x, b.to("ahbm")), sums, "with a bias");
  });
  int with_edges = 0;
  for (const LaunchResult& launch : result.launches)
    for (const auto& [name, value] : launch.plan ? launch.plan->choices : decltype(launch.plan->choices){})
      with_edges += name == "edges" ? 1 : 0;
  EXPECT_GE(with_edges, 1) << "the product may be shorter without";
}

TEST(LibraryGemm, TakesNoPlaceThatItWasNotGiven) {
  // In-place on a slice: what lies around it stays.
  for_random_cases(10, [&](Draw& draw) {
    const auto host = torch::randint(-5, 6, {40, 50}, torch::kFloat);
    auto device = host.to(torch::device("ahbm").placement(draw.placement()));
    const Pair a = random_pair(draw, {16, 9}, whole_numbers(DType::f32, -3, 3));
    const Pair b = random_pair(draw, {9, 21}, whole_numbers(DType::f32, -3, 3));
    const auto slice = [](const torch::Tensor& t) { return t.narrow(0, 7, 16).narrow(1, 11, 21); };
    operations().matmul(a.device, b.device, {}, slice(device));
    const auto c = product({1, 16, 21, 9}, a.host, b.host);
    for (std::int64_t i = 0; i < 16; ++i)
      for (std::int64_t j = 0; j < 21; ++j)
        host.data_ptr<float>()[(i + 7) * 50 + j + 11] = static_cast<float>(c[static_cast<std::size_t>(i * 21 + j)]);
    expect_equal(device, elements(host), "around");
  });
}

}  // namespace
}  // namespace kernbench
