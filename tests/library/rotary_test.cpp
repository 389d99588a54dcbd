// Rotary embeddings: against a rotation in long double over views, placements and far positions; time and bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "kernbench/error.h"
#include "support.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using torch::Tensor;
using torch::ahbm::RotaryFrequencyOptions;
using torch::ahbm::RotaryOptions;

/// What is turned how, without tensors.
struct Turn {
  std::int64_t dim = 2;
  double theta = 10000;
  std::size_t token = 0;
  bool interleaved = false, backward = false;
  std::vector<std::int64_t> positions;  // of each token, or of each token of each batch
};

struct Turned {
  std::vector<double> values, sizes;  // |a| + |b| of each element's pair
};

/// In long double, from theta.
Turned turned(const Tensor& x, const Turn& turn) {
  Turned result{elements(x), {}};
  result.sizes.resize(result.values.size());
  const std::int64_t size = x.size(-1), tokens = x.size(static_cast<std::int64_t>(turn.token)), pairs = turn.dim / 2;
  std::int64_t within = 1;
  for (auto d = static_cast<std::int64_t>(turn.token) + 1; d < x.dim() - 1; ++d) within *= x.size(d);
  const bool batched = std::ssize(turn.positions) > tokens;
  for (std::int64_t row = 0; row < x.numel() / size; ++row) {
    const std::int64_t token = row / within % tokens, batch = row / (x.numel() / size / x.size(0));
    const auto position = turn.positions.at(static_cast<std::size_t>(batched ? batch * tokens + token : token));
    for (std::int64_t i = 0; i < pairs; ++i) {
      const long double frequency =
          std::pow(static_cast<long double>(turn.theta), -2.0L * static_cast<long double>(i) / turn.dim);
      const long double angle = static_cast<long double>(position) * frequency;
      const long double cosine = std::cos(angle), sine = turn.backward ? -std::sin(angle) : std::sin(angle);
      const auto first = static_cast<std::size_t>(row * size + (turn.interleaved ? 2 * i : i));
      const auto second = static_cast<std::size_t>(row * size + (turn.interleaved ? 2 * i + 1 : i + pairs));
      const long double a = result.values[first], b = result.values[second];
      result.values[first] = static_cast<double>(a * cosine - b * sine);
      result.values[second] = static_cast<double>(a * sine + b * cosine);
      result.sizes[first] = result.sizes[second] = static_cast<double>(std::abs(a) + std::abs(b));
    }
  }
  return result;
}

void expect_turned(const Tensor& actual, const Turned& expected, DType dtype, const std::string& what) {
  const auto values = elements(actual);
  ASSERT_EQ(values.size(), expected.values.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double bound =
        0x1p-20 * expected.sizes[i] + 1.001 * unit(dtype) * std::abs(expected.values[i]) + 0x1p-25 * unit(dtype);
    ASSERT_NEAR(values[i], expected.values[i], bound) << what << ": element " << i;
  }
}

struct RotaryCase {
  Turn turn;
  Sizes sizes;
  DType dtype = DType::f32;
};

RotaryCase random_case(Draw& draw) {
  RotaryCase result;
  result.sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 3)), 200);
  const std::int64_t pairs = draw.of(std::vector<std::int64_t>{1, 2, 5, 16, 32, 40, 64});
  result.sizes.push_back(2 * pairs + (draw.chance(3) ? draw.integer(1, 20) : 0));
  result.dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
  result.turn = {.dim = 2 * pairs,
                 .theta = draw.of(std::vector{10000.0, 500000.0, 3.0}),
                 .token = static_cast<std::size_t>(draw.integer(0, std::ssize(result.sizes) - 2)),
                 .interleaved = draw.chance(2),
                 .backward = draw.chance(3),
                 .positions = {}};
  return result;
}

TEST(Rotary, TurnsEachPairForAnyViewAndPlacement) {
  for_random_cases(80, [](Draw& draw) {
    auto [turn, sizes, dtype] = random_case(draw);
    const std::int64_t tokens = sizes[turn.token], offset = draw.of(std::vector<std::int64_t>{0, 1, 4095, 131072});
    RotaryOptions options{.interleaved = turn.interleaved,
                          .token_dim = static_cast<std::int64_t>(turn.token) - std::ssize(sizes)};
    Pair positions;
    const bool given = draw.chance(2), batched = given && turn.token > 0 && draw.chance(2);
    if (given) {
      const Sizes shape = batched ? Sizes{sizes[0], tokens} : Sizes{tokens};
      positions = random_pair(draw, shape, whole_numbers(draw.of<DType>({DType::i64, DType::i32}), 0, 140000));
      for (const double number : elements(positions.host)) turn.positions.push_back(static_cast<std::int64_t>(number));
    } else {
      options.offset = offset;
      for (std::int64_t token = 0; token < tokens; ++token) turn.positions.push_back(offset + token);
    }
    const RotaryFrequencyOptions how{.theta = turn.theta};
    const Tensor turns = torch::ahbm::rotary_frequencies(turn.dim, how);
    const Tensor on_host = torch::ahbm::rotary_frequencies(turn.dim, how, torch::kCPU);
    const auto rotate = [&](const Tensor& x, const Tensor& frequencies, const Tensor& numbers) {
      options.positions = numbers;
      return turn.backward ? torch::ahbm::rotary_embedding_backward(x, frequencies, options)
                           : torch::ahbm::rotary_embedding(x, frequencies, options);
    };
    const Pair x = random_pair(draw, sizes, normal(dtype));
    const Turned expected = turned(x.host, turn);
    expect_turned(rotate(x.device, turns, positions.device), expected, dtype, "device");
    expect_turned(rotate(x.host, on_host, positions.host), expected, dtype, "host");
    if (turn.backward) return;
    const Pair target = random_pair(draw, sizes, normal(dtype), ViewKind::writable);
    const Turned in_place = turned(target.host, turn);
    options.positions = positions.device;
    torch::ahbm::rotary_embedding_(target.device, turns, options);
    expect_turned(target.device, in_place, dtype, "in place");
    options.positions = positions.host;
    torch::ahbm::rotary_embedding_(target.host, on_host, options);
    expect_turned(target.host, in_place, dtype, "in place on the host");
  });
}

// A product's rows hold queries and keys of all heads; both are turned where they lie.
TEST(Rotary, TurnsHeadsOfOneProductInPlace) {
  for_random_cases(6, [](Draw& draw) {
    const std::int64_t tokens = draw.integer(1, 40), heads = draw.integer(1, 5), size = 16;
    const Pair product = random_pair(draw, {tokens, 3 * heads * size}, normal(DType::f16), ViewKind::whole);
    const auto heads_of = [&](const Tensor& x, std::int64_t which) {
      return x.narrow(1, which * heads * size, heads * size).view({1, tokens, heads, size}).transpose(1, 2);
    };
    Turn turn{.dim = size, .token = 2, .positions = {}};
    for (std::int64_t token = 0; token < tokens; ++token) turn.positions.push_back(7 + token);
    const Turned queries = turned(heads_of(product.host, 0), turn), keys = turned(heads_of(product.host, 1), turn);
    const auto values = elements(heads_of(product.host, 2));
    const Tensor turns = torch::ahbm::rotary_frequencies(size);
    for (const std::int64_t which : {0, 1})
      torch::ahbm::rotary_embedding_(heads_of(product.device, which), turns, {.offset = 7});
    expect_turned(heads_of(product.device, 0), queries, DType::f16, "queries");
    expect_turned(heads_of(product.device, 1), keys, DType::f16, "keys");
    expect_equal(heads_of(product.device, 2), values, "values");
  });
}

// As the two calls that it is short for, bit for bit, whatever lies where.
TEST(Rotary, OfAProductGoesToACacheOfKeysAndValuesInTheSameLaunch) {
  for_random_cases(12, [](Draw& draw) {
    const std::int64_t batch = draw.integer(1, 3), tokens = draw.integer(1, 20), queries = draw.integer(0, 5);
    const std::int64_t keys = draw.integer(1, 3), capacity = tokens + draw.integer(0, 9), pairs = 8;
    const std::int64_t size = 2 * pairs + (draw.chance(2) ? draw.integer(1, 9) : 0), heads = queries + 2 * keys;
    const DType dtype = draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
    const Pair product = random_pair(draw, {tokens, batch * heads * size}, normal(dtype), ViewKind::whole);
    const Pair cache = random_pair(draw, {batch, 2 * keys, capacity * size}, normal(dtype), ViewKind::whole);
    const auto by_heads = [&](const Tensor& x) { return x.view({tokens, batch, heads, size}).permute({1, 2, 0, 3}); };
    const auto place = [&](const Tensor& x) {
      return x.view({batch, 2 * keys, capacity, size}).narrow(2, capacity - tokens, tokens);
    };
    torch::ahbm::RotaryOptions options{.offset = 5, .interleaved = draw.chance(2)};
    if (draw.chance(2)) options = {.positions = torch::arange(tokens).to("ahbm"), .interleaved = options.interleaved};
    auto on_host = options;
    if (on_host.positions.defined()) on_host.positions = on_host.positions.cpu();
    const Tensor turns = torch::ahbm::rotary_frequencies(2 * pairs);
    const Tensor expected = product.device.clone(), expected_cache = cache.device.clone();
    torch::ahbm::rotary_embedding_(by_heads(expected).narrow(1, 0, queries + keys), turns, options);
    place(expected_cache).copy_(by_heads(expected).narrow(1, queries, 2 * keys));
    torch::ahbm::rotary_embedding_into_cache_(by_heads(product.device), turns, place(cache.device), options);
    expect_equal(product.device, elements(expected), "what was turned");
    expect_equal(cache.device, elements(expected_cache), "the cache");

    const Tensor host = product.host.clone(), host_cache = cache.host.clone();
    torch::ahbm::rotary_embedding_(by_heads(host).narrow(1, 0, queries + keys), turns.cpu(), on_host);
    place(host_cache).copy_(by_heads(host).narrow(1, queries, 2 * keys));
    torch::ahbm::rotary_embedding_into_cache_(by_heads(product.host), turns.cpu(), place(cache.host), on_host);
    expect_equal(product.host, elements(host), "what was turned on the host");
    expect_equal(cache.host, elements(host_cache), "the cache on the host");
  });
}

// On a device of 128 PEs that a token's product is spread over: a copy less than with two launches.
TEST(Rotary, IntoACacheTakesHardlyLongerThanWithout) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  const RunResult result = simulate(options, [] {
    const auto half = torch::dtype(torch::kHalf).device("ahbm");
    const Tensor turns = torch::ahbm::rotary_frequencies(128);
    const Tensor product = torch::empty({1, 10 * 128}, half), cache = torch::empty({1, 2, 64, 128}, half);
    const auto by_heads = product.view({1, 1, 10, 128}).permute({0, 2, 1, 3});
    torch::ahbm::synchronize();
    torch::ahbm::rotary_embedding_(by_heads.narrow(1, 0, 9), turns, {.offset = 8});
    torch::ahbm::synchronize();
    torch::ahbm::rotary_embedding_into_cache_(by_heads, turns, cache.narrow(2, 8, 1), {.offset = 8});
  });
  ASSERT_GE(result.launches.size(), 2U);
  const auto time = [](const LaunchResult& launch) { return launch.end - launch.start; };
  const LaunchResult &alone = result.launches[result.launches.size() - 2], &both = result.launches.back();
  EXPECT_EQ(both.kernel, "rotary_embedding_into_cache");
  EXPECT_LE(time(both), time(alone) + Time::nanoseconds(400)) << "a copy takes 1.6 us or more";
}

TEST(Rotary, IsExactToTheLastPosition) {
  simulate({.topology = "tiny"}, [] {
    Turn turn{.dim = 128, .theta = 500000, .positions = {}};
    const Tensor positions = torch::tensor({(1 << 24) - 1, 131071, 131072, 999983, 1}, torch::kInt);
    for (const double number : elements(positions)) turn.positions.push_back(static_cast<std::int64_t>(number));
    const Tensor x = torch::randn({5, 128});
    const Tensor turns = torch::ahbm::rotary_frequencies(128, {.theta = 500000});
    const Tensor device = torch::ahbm::rotary_embedding(x.to("ahbm"), turns, {.positions = positions.to("ahbm")});
    expect_turned(device, turned(x, turn), DType::f32, "device");
  });
}

// Of Hugging Face's function for Llama 3.1 (transformers, modeling_rope_utils), by its formula in wavelengths.
TEST(Rotary, StretchesFrequenciesAsLlama3) {
  simulate({.topology = "tiny"}, [] {
    const std::int64_t dim = 128;
    const Tensor turns = torch::ahbm::rotary_frequencies(
        dim, {.theta = 500000,
              .scaling = {
                  .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_max_position_embeddings = 8192}});
    const Tensor linear =
        torch::ahbm::rotary_frequencies(dim, {.theta = 500000, .scaling = {.factor = 2}}, torch::kCPU);
    const auto values = elements(turns), halves = elements(linear);
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      const double plain = std::pow(500000.0, -2.0 * static_cast<double>(i) / dim);
      const double wavelength = 2 * std::numbers::pi / plain;
      double expected = plain;
      if (wavelength > 8192.0 / 1) {
        expected = plain / 8;
      } else if (wavelength > 8192.0 / 4) {
        const double smooth = (8192 / wavelength - 1) / (4 - 1);
        expected = (1 - smooth) * plain / 8 + smooth * plain;
      }
      const auto at = static_cast<std::size_t>(i), below = static_cast<std::size_t>(i + dim / 2);
      EXPECT_NEAR((values[at] + values[below]) * 2 * std::numbers::pi / expected, 1, 1e-13) << i;
      EXPECT_NEAR((halves[at] + halves[below]) * 4 * std::numbers::pi / plain, 1, 1e-13) << i;
    }
  });
}

/// The launch of one call on a shipped device.
LaunchResult rotary_launch(const std::function<void(const Tensor& turns)>& call, std::int64_t dim) {
  SimulateOptions options;
  options.topology = "ahbm-1sip";
  options.data = false;
  const RunResult result = simulate(options, [&] {
    const Tensor turns = torch::ahbm::rotary_frequencies(dim);
    torch::ahbm::synchronize();
    call(turns);
    torch::ahbm::synchronize();
  });
  EXPECT_EQ(result.launches.size(), 1U);
  return result.launches.at(0);
}

// The heads of a token lie on one PE, which computes its angles once: eight operations of f32 for each pair.
TEST(Rotary, OfAProductReadsEachByteOnceAndKeepsAllVectorEnginesBusy) {
  const LaunchResult launch = rotary_launch(
      [](const Tensor& turns) {
        const Tensor product = torch::empty({4096, 6144}, torch::dtype(torch::kHalf).device("ahbm"));
        torch::ahbm::rotary_embedding_(product.narrow(1, 0, 4096).view({1, 4096, 32, 128}).transpose(1, 2), turns);
      },
      128);
  EXPECT_EQ(launch.pes, 128);
  const double bytes = 2.0 * 4096 * 4096 * 2;
  EXPECT_NEAR(static_cast<double>(launch.hbm_bytes.count()), bytes + 128 * 512, 128 * 64);
  EXPECT_LE((launch.end - launch.start).count(), 1.2 * static_cast<double>(launch.bound.count()));
}

TEST(Rotary, OfHeadsOnPesOfTheirOwnAndOfOneToken) {
  const auto launch_of = [](const std::vector<std::int64_t>& sizes) {
    return rotary_launch(
        [&](const Tensor& turns) {
          torch::ahbm::rotary_embedding(torch::empty(sizes, torch::dtype(torch::kHalf).device("ahbm")), turns);
        },
        128);
  };
  const LaunchResult apart = launch_of({1, 32, 4096, 128});
  EXPECT_EQ(apart.pes, 128);
  EXPECT_LE((apart.end - apart.start).count(), 1.2 * static_cast<double>(apart.bound.count()));
  const LaunchResult one = launch_of({1, 64, 1, 128});
  EXPECT_EQ(one.pes, 128);
  EXPECT_LE(one.end - one.start, Time::nanoseconds(2900)) << "an empty launch takes 1.95 us of them";
}

TEST(Rotary, RefusesWhatDoesNotFitTogether) {
  const auto error = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const ValueError& caught) {
      return caught.what();
    }
    return "no error";
  };
  simulate({.topology = "tiny"}, [&] {
    using torch::ahbm::rotary_embedding;
    using torch::ahbm::rotary_frequencies;
    const Tensor x = torch::zeros({2, 3, 8}), turns = rotary_frequencies(8, {}, torch::kCPU);
    EXPECT_EQ(error([&] { rotary_embedding(x, turns); }), "no error");
    EXPECT_THAT(error([&] { rotary_embedding(x.to("ahbm"), turns); }), HasSubstr("rotary_embedding"));
    EXPECT_THAT(error([&] { rotary_embedding(x.to(torch::kInt), turns); }), HasSubstr("floating-point type"));
    EXPECT_THAT(error([&] { rotary_embedding(torch::zeros({8}), turns); }), HasSubstr("must be [..., tokens, size]"));
    EXPECT_THAT(error([&] { rotary_embedding(x, x); }), HasSubstr("must be those that rotary_frequencies makes"));
    EXPECT_THAT(error([&] { rotary_embedding(x.narrow(2, 0, 7), turns); }), HasSubstr("turn 8 elements"));
    EXPECT_THAT(error([&] { rotary_embedding(x, turns, {.token_dim = -1}); }), HasSubstr("token_dim is -1"));
    EXPECT_THAT(error([&] { rotary_embedding(x, turns, {.offset = -1}); }), HasSubstr("positions -1 to 1"));
    EXPECT_THAT(error([&] { rotary_embedding(x, turns, {.offset = 1 << 24}); }), HasSubstr("[0, 16777216)"));
    EXPECT_THAT(error([&] { rotary_embedding(x, turns, {.positions = torch::tensor({1, 2})}); }),
                HasSubstr("positions must be [tokens] or [batch, tokens]"));
    EXPECT_THAT(error([&] { rotary_embedding(x, turns, {.positions = torch::ones({3})}); }),
                HasSubstr("the positions must be Int or Long"));
    EXPECT_THAT(error([] { rotary_frequencies(7); }), HasSubstr("dim must be even and positive, but is 7"));
    EXPECT_THAT(error([] { rotary_frequencies(8, {.theta = 0}); }), HasSubstr("theta must be positive"));
    EXPECT_THAT(error([] { rotary_frequencies(8, {.scaling = {.factor = 0.5}}); }), HasSubstr("at least 1"));
    EXPECT_THAT(error([] { rotary_frequencies(8, {.scaling = {.factor = 8, .low_freq_factor = 1}}); }),
                HasSubstr("original_max_position_embeddings (0)"));
    EXPECT_THAT(error([&] { torch::ahbm::rotary_embedding_(torch::zeros({3, 1}).expand({3, 8}), turns); }),
                HasSubstr("single memory location"));

    using torch::ahbm::rotary_embedding_into_cache_;
    const Tensor product = torch::zeros({1, 4, 3, 8}), cache = torch::zeros({1, 2, 3, 8});
    EXPECT_EQ(error([&] { rotary_embedding_into_cache_(product, turns, cache); }), "no error");
    EXPECT_EQ(error([&] { rotary_embedding_into_cache_(product, turns, torch::zeros({1, 4, 3, 8})); }), "no error");
    for (const Tensor& wrong : {torch::zeros({1, 3, 3, 8}), torch::zeros({1, 6, 3, 8}), torch::zeros({2, 2, 3, 8}),
                                torch::zeros({1, 2, 4, 8}), torch::zeros({2, 3, 8}), cache.to(torch::kHalf)}) {
      EXPECT_THAT(error([&] { rotary_embedding_into_cache_(product, turns, wrong); }),
                  HasSubstr("the cache [batch, 2 keys, tokens, size] of the same type"));
    }
    EXPECT_THAT(error([&] { rotary_embedding_into_cache_(product, turns, cache, {.token_dim = 1}); }),
                HasSubstr("token_dim must be -2"));
    EXPECT_THAT(error([&] { rotary_embedding_into_cache_(product, turns, cache.to("ahbm")); }),
                HasSubstr("rotary_embedding_into_cache_"));
  });
}

}  // namespace
}  // namespace kernbench
