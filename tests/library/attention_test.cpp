// Scaled dot product attention: plans, values against a composition in double, and the time against the engines' roof.
#include "tile/library/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kernbench/error.h"
#include "support.h"
#include "support/sanitizers.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using tile::library::AttentionPlan;
using tile::library::AttentionShape;
using tile::library::AttentionUnit;
using tile::library::plan_attention;
using torch::Tensor;

constexpr std::int64_t kBudget = 1 << 20;

/// How many keys each row of each head is given, in how many splits.
using Seen = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<const AttentionUnit*>>;
Seen rows_of(const AttentionPlan& plan) {
  Seen seen;
  for (const auto& units : plan.units) {
    for (const AttentionUnit& unit : units) {
      for (std::int64_t head = unit.head; head < unit.head + unit.heads; ++head)
        for (std::int64_t row = unit.row; row < unit.row + unit.rows; ++row)
          seen[{unit.batch, head, row}].push_back(&unit);
    }
  }
  return seen;
}

AttentionShape random_shape(Draw& draw) {
  AttentionShape shape;
  shape.batch = draw.integer(1, 3);
  shape.kv_heads = draw.integer(1, 5);
  shape.heads = shape.kv_heads * draw.integer(1, 4);
  shape.length = draw.of(std::vector<std::int64_t>{1, 2, 7, 63, 64, 65, 130, 300});
  shape.keys = draw.of(std::vector<std::int64_t>{1, 2, 7, 63, 64, 65, 130, 1000});
  shape.size = draw.of(std::vector<std::int64_t>{1, 16, 64, 80, 128});
  shape.value_size = draw.chance(2) ? shape.size : draw.integer(1, 40);
  shape.causal = draw.chance(2);
  shape.dtype = draw.of(std::vector{DType::f16, DType::f32});
  return shape;
}

TEST(AttentionPlans, GiveEachRowEachKeyThatItSeesOnce) {
  for (std::uint64_t seed = 0; seed < (kSanitized ? 50 : 200); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const AttentionShape shape = random_shape(draw);
    const auto plan = plan_attention(shape, draw.of(std::vector<std::int64_t>{1, 2, 8, 128}), kBudget);
    ASSERT_NE(plan, nullptr);
    const Seen rows = rows_of(*plan);
    ASSERT_EQ(std::ssize(rows), shape.batch * shape.heads * shape.length);
    for (const auto& [place, units] : rows) {
      const std::int64_t row = std::get<2>(place);
      ASSERT_EQ(std::ssize(units), plan->splits);
      std::vector<int> times(static_cast<std::size_t>(shape.keys));
      std::vector<int> splits(static_cast<std::size_t>(plan->splits));
      for (const AttentionUnit* unit : units) {
        ++splits[static_cast<std::size_t>(unit->split)];
        ASSERT_LT(unit->key, unit->key_end);
        ASSERT_GE(unit->first_key, unit->key);
        ASSERT_LT(unit->first_key, unit->key_end);
        ASSERT_EQ((unit->first_key - unit->key) % plan->keys, 0);
        for (std::int64_t key = unit->key; key < unit->key_end; ++key) ++times[static_cast<std::size_t>(key)];
      }
      const std::int64_t needed = shape.causal ? std::min(row + 1, shape.keys) : shape.keys;
      for (std::int64_t key = 0; key < shape.keys; ++key)
        ASSERT_TRUE(key < needed ? times[static_cast<std::size_t>(key)] == 1
                                 : times[static_cast<std::size_t>(key)] <= 1);
      EXPECT_THAT(splits, ::testing::Each(1));
    }
  }
}

TEST(AttentionPlans, LeaveNoProgramWithoutWorkWhereThereIsEnough) {
  const auto idle = [](const AttentionShape& shape) {
    int count = 0;
    const auto plan = plan_attention(shape, 128, kBudget);
    for (const auto& units : plan->units) count += units.empty() ? 1 : 0;
    return count;
  };
  const AttentionShape prefill{.heads = 32,
                               .kv_heads = 32,
                               .length = 4096,
                               .keys = 4096,
                               .size = 128,
                               .value_size = 128,
                               .causal = true,
                               .dtype = DType::f16};
  EXPECT_EQ(idle(prefill), 0);
  AttentionShape decode = prefill;
  decode.length = 1;
  decode.kv_heads = 8;
  decode.keys = 8192;
  decode.causal = false;
  EXPECT_EQ(idle(decode), 0) << "the keys are split";
  AttentionShape one = decode;
  one.heads = one.kv_heads = 1;
  EXPECT_LE(idle(one), 64);
}

// One row more than a power of two must not be a unit of its own, on a program that has one already; nor are the keys
// split, with a second launch for the sums, where rows are enough.
TEST(AttentionPlans, ShareRowsEvenly) {
  for (const std::int64_t length : {128, 129, 160, 257, 320, 513}) {
    const AttentionShape shape{.heads = 32,
                               .kv_heads = 32,
                               .length = length,
                               .keys = length,
                               .size = 128,
                               .value_size = 128,
                               .dtype = DType::f16};
    const auto plan = plan_attention(shape, 128, kBudget);
    EXPECT_EQ(plan->splits, 1) << length;
    std::int64_t most = 0;
    for (const auto& units : plan->units) {
      std::int64_t rows = 0;
      for (const AttentionUnit& unit : units) rows += unit.rows;
      most = std::max(most, rows);
    }
    EXPECT_LE(most, (length + 3) / 4) << length << ": four programs for each head";
  }
}

TEST(AttentionPlans, AreNoneWhereOneRowDoesNotFit) {
  const AttentionShape shape{.size = 4096, .value_size = 4096};
  EXPECT_EQ(plan_attention(shape, 4, 64 << 10), nullptr);
  EXPECT_NE(plan_attention(shape, 4, 2 << 20), nullptr);
}

/// The same by other functions, in double.
Tensor composed(const Tensor& query, const Tensor& key, const Tensor& value, double scale, bool causal) {
  const auto wide = [](const Tensor& x) { return x.to(torch::kDouble); };
  const std::int64_t group = query.size(1) / key.size(1), length = query.size(2), keys = key.size(2);
  const auto shared = [&](const Tensor& x) {
    return x.unsqueeze(2)
        .expand({x.size(0), x.size(1), group, x.size(2), x.size(3)})
        .reshape({x.size(0), x.size(1) * group, x.size(2), x.size(3)});
  };
  Tensor scores = wide(query).matmul(wide(shared(key)).transpose(-2, -1)) * scale;
  if (causal) scores = scores.masked_fill(torch::ones({length, keys}, torch::kBool).triu(1), -INFINITY);
  return scores.softmax(-1).matmul(wide(shared(value)));
}

/// f32: scores of up to 40, whose sums of up to 128 products are off by that many units; the weights by as much.
double tolerance_of(DType dtype) {
  return dtype == DType::f32 ? 0x1p-15 : 6 * unit(dtype);
}

TEST(Attention, IsTheCompositionOnHostAndDevice) {
  for_random_cases(120, [](Draw& draw) {
    AttentionShape shape = random_shape(draw);
    shape.keys = std::min<std::int64_t>(shape.keys, 130);
    shape.length = std::min<std::int64_t>(shape.length, 130);
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const auto tensor = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
      return random_pair(draw, {shape.batch, heads, rows, columns}, normal(dtype));
    };
    const Pair q = tensor(shape.heads, shape.length, shape.size), k = tensor(shape.kv_heads, shape.keys, shape.size),
               v = tensor(shape.kv_heads, shape.keys, shape.value_size);
    std::optional<double> scale;
    if (draw.chance(3)) scale = draw.of(std::vector{0.3, 1.0, -0.5, 0.0});
    const auto call = [&](const Tensor& query, const Tensor& key, const Tensor& value) {
      return torch::scaled_dot_product_attention(query, key, value, {}, 0.0, shape.causal, scale, true);
    };
    const Tensor expected = composed(q.host, k.host, v.host, scale.value_or(1 / std::sqrt(shape.size)), shape.causal);
    expect_near(call(q.host, k.host, v.host), elements(expected), unit(dtype), 0x1p-24, "host");
    const double tolerance = tolerance_of(dtype);
    expect_near(call(q.device, k.device, v.device), elements(expected), tolerance, tolerance, "device");
  });
}

TEST(Attention, TakesTwoToFiveDimensions) {
  for_random_cases(2, [](Draw&) {
    for (const Sizes& lead : std::vector<Sizes>{{}, {3}, {2, 3}, {2, 2, 3}}) {
      const auto with = [&](std::int64_t rows, std::int64_t columns) {
        Sizes sizes = lead;
        sizes.insert(sizes.end(), {rows, columns});
        return sizes;
      };
      const Tensor q = torch::randn(with(5, 8)), k = torch::randn(with(9, 8)), v = torch::randn(with(9, 4));
      const Tensor host = torch::nn::functional::scaled_dot_product_attention(q, k, v);
      EXPECT_EQ(host.sizes().vec(), with(5, 4));
      const Tensor device = torch::scaled_dot_product_attention(q.to("ahbm"), k.to("ahbm"), v.to("ahbm"));
      EXPECT_TRUE(torch::allclose(device.cpu(), host, 1e-5, 1e-6));
    }
  });
}

// Scores of 1e4 and more: weights that are 0 and 1 in f32, no infinity on the way.
TEST(Attention, KeepsLargeScoresFinite) {
  for_random_cases(2, [](Draw&) {
    const Tensor q = torch::randn({2, 40, 16}) * 300, k = torch::randn({2, 300, 16}) * 300,
                 v = torch::randn({2, 300, 8});
    for (const bool causal : {false, true}) {
      const Tensor host = torch::scaled_dot_product_attention(q, k, v, {}, 0.0, causal);
      const Tensor device =
          torch::scaled_dot_product_attention(q.to("ahbm"), k.to("ahbm"), v.to("ahbm"), {}, 0.0, causal);
      EXPECT_TRUE(torch::allclose(device.cpu(), host, 1e-3, 1e-3));
    }
  });
}

TEST(Attention, RefusesWhatDoesNotFitTogether) {
  for_random_cases(1, [](Draw&) {
    const Tensor q = torch::zeros({2, 4, 5, 8}), k = torch::zeros({2, 2, 6, 8});
    const auto error = [&](const auto& call) -> std::string {
      try {
        call();
      } catch (const ValueError& caught) {
        return caught.what();
      }
      return "no error";
    };
    const auto attend = [](const Tensor& a, const Tensor& b, const Tensor& c, bool grouped = false) {
      return [=] { torch::scaled_dot_product_attention(a, b, c, {}, 0.0, false, {}, grouped); };
    };
    EXPECT_EQ(error(attend(q, k, k, true)), "no error");
    EXPECT_THAT(error(attend(q, k, k)), HasSubstr("query and key must have as many heads (dimension -3), unless "
                                                  "enable_gqa is set; query is"));
    EXPECT_THAT(error(attend(q, torch::zeros({2, 3, 6, 8}), torch::zeros({2, 3, 6, 8}), true)),
                HasSubstr("the heads of query must be a multiple of those of key"));
    EXPECT_THAT(error(attend(q, torch::zeros({2, 4, 6, 7}), torch::zeros({2, 4, 6, 7}))),
                HasSubstr("query and key must have the same last dimension"));
    EXPECT_THAT(error(attend(q, torch::zeros({2, 4, 6, 8}), torch::zeros({2, 4, 7, 8}))),
                HasSubstr("key and value must have as many rows"));
    EXPECT_THAT(error(attend(q, torch::zeros({1, 4, 6, 8}), torch::zeros({1, 4, 6, 8}))),
                HasSubstr("query and key must agree in dimension 0"));
    EXPECT_THAT(error(attend(q, q.to(torch::kHalf), q)), HasSubstr("one floating-point dtype"));
    EXPECT_THAT(error(attend(q, torch::zeros({2, 4, 0, 8}), torch::zeros({2, 4, 0, 8}))), HasSubstr("there is no key"));
    EXPECT_THAT(error([&] { torch::scaled_dot_product_attention(q, q, q, torch::ones({5, 5})); }),
                HasSubstr("attn_mask is not supported"));
    EXPECT_THAT(error([&] { torch::scaled_dot_product_attention(q, q, q, {}, 0.1); }),
                HasSubstr("dropout is not supported"));
  });
}

/// Times of the launches of one attention on a shipped device, and the least that their engines could have taken.
std::pair<Time, Time> time_and_bound(const std::vector<std::int64_t>& query, const std::vector<std::int64_t>& key,
                                     bool causal) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  const RunResult result = simulate(options, [&] {
    const auto on_device = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor q = torch::empty(query, on_device), k = torch::empty(key, on_device), v = torch::empty(key, on_device);
    torch::scaled_dot_product_attention(q, k, v, {}, 0.0, causal, {}, true);
    torch::ahbm::synchronize();
  });
  Time time, bound;
  for (const LaunchResult& launch : result.launches) {
    time += launch.end - launch.start;
    bound += launch.bound;
  }
  return {time, bound};
}

TEST(Attention, KeepsTheVectorEnginesOfAllPesBusy) {
  NOT_UNDER_SANITIZERS("long");
  for (const bool causal : {false, true}) {
    const auto [time, bound] = time_and_bound({1, 32, 2048, 128}, {1, 32, 2048, 128}, causal);
    EXPECT_LE(time.count(), (causal ? 1.3 : 1.15) * static_cast<double>(bound.count())) << causal;
  }
}

TEST(Attention, OfOneRowReadsTheKeysWithAllPes) {
  NOT_UNDER_SANITIZERS("long");
  // 32 MiB of keys and values at 17.7 TB/s take 1.9 us; two launches take 4, and an array with few rows the rest.
  EXPECT_LE(time_and_bound({1, 32, 1, 128}, {1, 8, 8192, 128}, false).first, Time::microseconds(9));
  // 512 MiB take 30.4 us. The array takes 64 elements of a key or value for each cycle: 88 % of what the memory gives.
  EXPECT_LE(time_and_bound({1, 32, 1, 128}, {1, 8, 131072, 128}, false).first, Time::nanoseconds(46'500));
}

// Scores are fewer than a key's elements where rows are: then the vector engine turns these.
TEST(AttentionPlans, TurnWhatIsLess) {
  const auto turns_scores = [](std::int64_t length, std::int64_t heads) {
    const auto plan = plan_attention(
        {.heads = heads, .length = length, .keys = 8192, .size = 128, .value_size = 128, .dtype = DType::f16}, 128,
        kBudget);
    return plan->turns_scores;
  };
  EXPECT_TRUE(turns_scores(1, 4));
  EXPECT_TRUE(turns_scores(1, 1));
  EXPECT_FALSE(turns_scores(4096, 32));
}

}  // namespace
}  // namespace kernbench
