// Lines in order on a device: against stable_sort, and against the host.
#include "tile/library/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernbench/units.h"
#include "support.h"
#include "support/sanitizers.h"
#include "topology/spec.h"

namespace kernbench::sort_test {
namespace {

using testing::Draw;
using testing::elements;
using testing::for_random_cases;
using testing::Pair;
using testing::Sizes;
using tile::library::merge_layers;
using tile::library::MergeLayer;
using tile::library::plan_sort;
using tile::library::SortPlan;

/// Sizes of all cases, of which the first is `extent` along `dimension`.
Sizes sizes_with(Draw& draw, std::int64_t extent, std::size_t& dimension) {
  Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(0, 2)), 12);
  dimension = static_cast<std::size_t>(draw.integer(0, static_cast<std::int64_t>(sizes.size())));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dimension), extent);
  return sizes;
}

/// What has more than one of a number, and of floats what is out of the ordinary.
Pair random_operand(Draw& draw, const Sizes& sizes, DType dtype, testing::ViewKind kind) {
  const std::int64_t most = draw.chance(2) ? 4 : 99;
  Pair x = testing::random_pair(draw, sizes, testing::whole_numbers(dtype, is_signed(dtype) ? -most : 0, most), kind);
  if (!is_floating_point(dtype)) return x;
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  auto holes = x.host.contiguous().clone();
  for (const double value : {kNan, kInfinity, -kInfinity, -0.0, 0.0, -0.0, kNan, -kInfinity})
    holes.view({-1})[draw.integer(0, holes.numel() - 1)] = torch::Scalar(value);
  return {holes, holes.to(torch::device("ahbm").placement(draw.placement()))};
}

/// The same bits, but for those of a NaN.
void expect_same(const torch::Tensor& actual, const torch::Tensor& expected, const char* what) {
  ASSERT_EQ(actual.sizes().vec(), expected.sizes().vec()) << what;
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type()) << what;
  const auto a = elements(actual), b = elements(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i]);
    ASSERT_TRUE(same) << what << " at " << i << ": " << a[i] << " for " << b[i];
  }
}

void expect_host_and_device_agree(const Pair& x, std::int64_t dimension, bool descending) {
  const auto [values, places] = x.device.sort(dimension, descending);
  const auto [expected, where] = x.host.sort(dimension, descending);
  EXPECT_TRUE(values.device().is_ahbm() && places.device().is_ahbm());
  expect_same(values.cpu(), expected, "values");
  expect_same(places.cpu(), where, "indices");
}

TEST(Sort, OnTheHostIsAStableSortWithNanLast) {
  for_random_cases(60, [](Draw& draw) {
    const std::int64_t extent = draw.integer(1, 60);
    auto x = torch::randint(-5, 5, {3, extent, 2}).to(torch::kFloat);
    for (const float value : {std::nanf(""), -0.0F, std::nanf(""), -0.0F})
      x.view({-1})[draw.integer(0, x.numel() - 1)] = torch::Scalar(value);
    const bool descending = draw.chance(2);
    const auto [values, places] = torch::sort(x, 1, descending);
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t c = 0; c < 2; ++c) {
        const auto line = elements(x.select(0, a).select(1, c));
        std::vector<double> order(line.size());
        std::iota(order.begin(), order.end(), 0.0);
        std::ranges::stable_sort(order, [&](double first, double second) {
          if (descending) std::swap(first, second);
          const double left = line[static_cast<std::size_t>(first)], right = line[static_cast<std::size_t>(second)];
          return std::isnan(right) ? !std::isnan(left) : left < right;
        });
        EXPECT_EQ(elements(places.select(0, a).select(1, c)), order);
        const auto sorted = elements(values.select(0, a).select(1, c));
        for (std::size_t j = 0; j < order.size(); ++j) {
          const double expected = line[static_cast<std::size_t>(order[j])];
          EXPECT_TRUE(sorted[j] == expected || (std::isnan(sorted[j]) && std::isnan(expected)));
        }
      }
    }
  });
}

TEST(Sort, ShortLinesAgreeWithTheHostInEveryTypeViewAndPlacement) {
  const std::vector<DType> types{DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2,
                                 DType::i32, DType::u8,  DType::i8,   DType::i64,    DType::boolean};
  for_random_cases(120, [&](Draw& draw) {
    std::size_t dimension = 0;
    const Sizes sizes = sizes_with(draw, draw.integer(1, 140), dimension);
    const DType dtype = draw.of(types);
    Pair x = random_operand(draw, sizes, dtype == DType::boolean ? DType::u8 : dtype, testing::ViewKind::any);
    if (dtype == DType::boolean) x = {x.host > 1, x.device > 1};
    expect_host_and_device_agree(x, static_cast<std::int64_t>(dimension), draw.chance(2));
  });
}

// On tiny, and where few PEs hold the line, one program sorts it soonest.
TEST(Sort, LinesOfSeveralBlocksAgreeWithTheHost) {
  constexpr std::uint64_t kSeeds = kSanitized ? 1 : 12;
  std::uint64_t in_layers = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    std::size_t dimension = 0;
    const RunResult result = simulate({.topology = "ahbm-1sip"}, [&] {
      Sizes sizes = sizes_with(draw, draw.integer(9'000, 40'000), dimension);
      for (std::size_t d = 0; d < sizes.size(); ++d)
        if (d != dimension) sizes[d] = std::min<std::int64_t>(sizes[d], 2);
      const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::i32, DType::i64});
      const Pair x = random_operand(draw, sizes, dtype, testing::ViewKind::any);
      expect_host_and_device_agree(x, static_cast<std::int64_t>(dimension), draw.chance(2));
    });
    EXPECT_FALSE(result.error) << result.error->message;
    if (std::ranges::count(result.launches, "sort", &LaunchResult::kernel) > 4) ++in_layers;
  }
  EXPECT_GE(in_layers, kSeeds * 2 / 3);
}

TEST(Sort, LongsAreComparedWithAllOfTheirBits) {
  for_random_cases(12, [&](Draw& draw) {
    std::vector<std::int64_t> numbers;
    constexpr std::int64_t kHalf = std::int64_t{1} << 32;
    for (int i = 0; i < 90; ++i) numbers.push_back(draw.integer(-2, 2) * kHalf + draw.integer(-2, 2));
    numbers.insert(numbers.end(), {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                   kHalf - 1, -kHalf - 1, (std::int64_t{1} << 31), -(std::int64_t{1} << 31) - 1});
    const auto host = torch::tensor(numbers).view({2, 48});
    const auto device = host.to(torch::device("ahbm").placement(draw.placement()));
    const bool descending = draw.chance(2);
    const auto [values, places] = device.sort(-1, descending);
    EXPECT_TRUE(values.cpu().equal(std::get<0>(host.sort(-1, descending))));
    EXPECT_TRUE(places.cpu().equal(host.argsort(-1, descending)));
  });
}

// A network sorts everything if it sorts every line of zeros and ones.
TEST(Sort, TheNetworkOfBlocksSortsAllZerosAndOnes) {
  for (std::int64_t blocks = 1; blocks <= 13; ++blocks) {
    const auto layers = merge_layers(blocks);
    for (std::uint32_t bits = 0; bits < (1u << blocks); ++bits) {
      std::uint32_t line = bits;
      for (const MergeLayer& layer : layers) {
        std::uint32_t taken = 0;
        for (const auto& [low, high] : layer) {
          ASSERT_LT(low, high);
          ASSERT_LT(high, blocks);
          ASSERT_EQ(taken & (1u << low | 1u << high), 0u) << "a block twice in a layer";
          taken |= 1u << low | 1u << high;
          if ((line >> low & 1) > (line >> high & 1)) line ^= 1u << low | 1u << high;
        }
      }
      const auto ones = static_cast<std::uint32_t>(std::popcount(bits));
      ASSERT_EQ(line, ((1u << ones) - 1) << (static_cast<std::uint32_t>(blocks) - ones)) << blocks << " blocks";
    }
  }
}

TEST(Sort, APlanHasBlocksThatFitTheTcmAndHoldTheLine) {
  topology::PeSpec pe;
  pe.clock = Frequency::gigahertz(1);
  for (const std::int64_t kib : {1, 64, 4096}) {
    pe.tcm.capacity = Bytes(kib * 1024);
    for (std::int64_t extent = 1; extent < 2'000'000; extent = extent * 3 + 1) {
      for (const std::int64_t lines : {1, 7, 4096}) {
        const SortPlan plan = plan_sort(pe, lines, extent, 128);
        EXPECT_GE(plan.block * plan.blocks, extent);
        EXPECT_LT(plan.block * (plan.blocks - 1), extent);
        EXPECT_LE(plan.block * 8 * 12, kib * 1024);
      }
    }
  }
  // Many lines keep all programs busy by themselves; a lone one is shared.
  EXPECT_EQ(plan_sort(pe, 1024, 8000, 128).blocks, 1);
  EXPECT_GT(plan_sort(pe, 1, 100'000, 128).blocks, 8);
}

TEST(Sort, AllPesShareALineOfAVocabulary) {
  NOT_UNDER_SANITIZERS("times only");
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  const RunResult result = simulate(options, [&] {
    torch::empty({1, 128'256}, torch::dtype(torch::kFloat).device("ahbm")).argsort(-1, true);
    torch::ahbm::synchronize();
  });
  ASSERT_FALSE(result.error) << result.error->message;
  const Time time = result.launches.back().end - result.launches.front().start;
  // One PE sorts blocks of 16 Ki elements in 81 us each.
  EXPECT_LT(time, Time::microseconds(150));
  EXPECT_GT(time, Time::microseconds(81));
}

TEST(IndexAdd, OnADeviceHasTheBitsOfTheHost) {
  for_random_cases(60, [&](Draw& draw) {
    std::size_t dimension = 0;
    const Sizes sizes = sizes_with(draw, draw.integer(1, 40), dimension);
    Sizes many = sizes;
    many[dimension] = draw.integer(1, 50);
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const auto along = static_cast<std::int64_t>(dimension);
    Pair x = testing::random_pair(draw, sizes, testing::normal(dtype), testing::ViewKind::writable);
    const Pair source = testing::random_pair(draw, many, testing::normal(dtype), testing::ViewKind::any);
    const auto index = torch::randint(0, sizes[dimension], {many[dimension]}).to(torch::kLong);
    const double alpha = draw.of(std::vector{1.0, 0.5, -3.0});
    x.device.index_add_(along, index.to("ahbm"), source.device, alpha);
    const auto expected = x.host.index_add(along, index, source.host, alpha);
    testing::expect_equal(x.device, elements(expected), "index_add_");
  });
}

TEST(IndexAdd, RefusesWhatItCannotAdd) {
  for_random_cases(2, [](Draw&) {
    const auto whole = torch::zeros({4}, torch::kLong), index = torch::tensor({0, 3}).to(torch::kLong);
    const auto ones = torch::ones({2}, torch::kLong);
    EXPECT_THROW(whole.index_add(0, index, ones, 0.5), ValueError) << "libtorch takes half of a one for none";
    EXPECT_THROW(whole.index_add(0, index + 1, ones), torch::IndexError);
    EXPECT_THROW(whole.to("ahbm").index_add(0, index.to("ahbm"), ones.to("ahbm")), ValueError);
  });
}

TEST(Bincount, OnADeviceCountsAsOnTheHost) {
  for_random_cases(20, [&](Draw& draw) {
    const auto host = torch::randint(0, draw.integer(1, 30), {draw.integer(1, 200)}).to(torch::kLong);
    const auto device = host.to(torch::device("ahbm").placement(draw.placement()));
    const std::int64_t least = draw.integer(0, 40);
    EXPECT_TRUE(torch::bincount(device, {}, least).cpu().equal(torch::bincount(host, {}, least)));
    const auto weights = torch::randint(-8, 8, {host.numel()}).to(torch::kFloat);
    const auto sums = torch::bincount(device, weights.to("ahbm"), least);
    EXPECT_TRUE(sums.cpu().equal(torch::bincount(host, weights, least)));
  });
}

}  // namespace
}  // namespace kernbench::sort_test
