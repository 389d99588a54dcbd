#include "harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "numerics/value.h"
#include "tile/program/environment.h"
#include "tile/program/program.h"
#include "tile/program/tile_state.h"

namespace kernbench::tile_test {

namespace {

constexpr std::int64_t kHalf = 3000;  // small numbers first, then all kinds

Real random_number(std::mt19937& random, DType type) {
  constexpr Real kInf = std::numeric_limits<Real>::infinity();
  std::normal_distribution<double> normal(0, 3);
  const auto choice = random() % 8;
  if (type == DType::boolean) return static_cast<Real>(random() % 2);
  if (!is_float(type)) {
    const auto word = static_cast<std::int64_t>((std::uint64_t{random()} << 32) | random());
    if (choice < 4) return static_cast<Real>(wrap_to(std::llround(normal(random) * 4), type));
    if (choice == 4) {
      constexpr std::int64_t kEdges[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -128, 127, 128, 255, 0, -1};
      return static_cast<Real>(wrap_to(kEdges[random() % std::size(kEdges)], type));
    }
    return static_cast<Real>(wrap_to(word >> (random() % 64), type));
  }
  if (choice == 0) {
    constexpr Real kEdges[] = {0.0L,      -0.0L,     kInf,      -kInf,    std::numeric_limits<Real>::quiet_NaN(),
                               0x1p-149L, -0x1p-24L, 0x1p-133L, 65504.0L, -65519.9L,
                               -3.3e38L,  448.0L,    0x1p-9L,   1.0L,     -0.5L};
    return round_to(kEdges[random() % std::size(kEdges)], type);
  }
  if (choice == 1)
    return round_to(std::ldexp(Real{1} + normal(random) / 16, static_cast<int>(random() % 250) - 125), type);
  return round_to(normal(random), type);
}

Real small_number(std::mt19937& random, DType type) {
  if (type == DType::boolean) return static_cast<Real>(random() % 2);
  if (type == DType::u8) return static_cast<Real>(random() % 9);
  return static_cast<Real>(random() % 17) - 8;
}

std::vector<std::vector<Real>> make_pools(std::mt19937& random) {
  std::vector<std::vector<Real>> pools;
  for (const DType type : kTypes) {
    auto& pool = pools.emplace_back();
    for (std::int64_t i = 0; i < kHalf; ++i) pool.push_back(small_number(random, type));
    for (std::int64_t i = 0; i < kHalf; ++i) pool.push_back(random_number(random, type));
  }
  return pools;
}

}  // namespace

SimulateOptions tiny() {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"pe.mmu.miss=0ps"};  // what an operation costs is not how its addresses are translated
  options.threads = 1;
  return options;
}

torch::TensorOptions one_pe(DType dtype) {
  return torch::dtype(dtype).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
}

tl::Extents extents(const Sizes& sizes) {
  return tl::Extents(std::span<const std::int64_t>(sizes));
}

Sizes Bench::shape(std::int64_t most) {
  constexpr std::int64_t kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 31};
  Sizes result;
  for (auto rank = below(5); rank > 0; --rank) {
    const std::int64_t extent = any_of(kExtents);
    result.push_back(extent * numel(result) > most ? 1 : extent);
  }
  return result;
}

Sizes Bench::partner(Sizes shape) {
  for (auto& extent : shape) {
    if (chance(3)) extent = 1;
  }
  if (!shape.empty() && chance(2))
    shape.erase(shape.begin(), shape.begin() + below(static_cast<std::int64_t>(shape.size())) + 1);
  return shape;
}

Drawn Bench::draw(DType dtype, const Sizes& shape, Numbers numbers, bool invalid) {
  const auto type = static_cast<std::size_t>(std::ranges::find(kTypes, dtype) - kTypes);
  const std::int64_t count = numel(shape);
  std::int64_t from = (numbers == Numbers::all ? kHalf : 0) + below(kHalf - count + 1);
  if (invalid && chance(4)) from = 2 * kHalf - 1 - below(count);
  // Every period-th lane is masked, or none.
  const std::int64_t period = invalid && chance(5) ? 1 + below(5) : count + 1, masked = below(period);
  tl::LoadOptions options;
  if (period <= count) options.mask = tl::arange(0, count) % period != masked;
  Drawn drawn{tl::reshape(tl::load(pools_[type], {from}, {count}, options), extents(shape)), {dtype, shape, {}}};
  for (std::int64_t i = from; i < from + count; ++i) {
    const bool loaded = i < 2 * kHalf && (period > count || (i - from) % period != masked);
    drawn.host.lanes.push_back({loaded ? values_[type][static_cast<std::size_t>(i)] : 0, loaded});
  }
  return drawn;
}

void run_cases(unsigned seed, const std::function<void(Bench&)>& cases) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto values = make_pools(random);
  const auto result = try_simulate(tiny(), [&] {
    std::vector<torch::Tensor> tensors;
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto bytes = encode(values[i], kTypes[i]);
      const auto host =
          torch::from_blob(bytes.data(), {static_cast<std::int64_t>(values[i].size())}, torch::dtype(kTypes[i]));
      tensors.push_back(host.to(one_pe(kTypes[i])));
    }
    const auto& t = tensors;
    torch::launch(
        "cases",
        [&](tl::In a, tl::In b, tl::In c, tl::In d, tl::In e, tl::In f, tl::In g, tl::In h, tl::In i, tl::In j) {
          Bench bench({a, b, c, d, e, f, g, h, i, j}, values, random);
          cases(bench);
        },
        t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9]);
    torch::ahbm::synchronize();
  });
  EXPECT_FALSE(result.error) << result.error->type << ": " << result.error->message << " | " << result.error->where;
}

HostTile look_at(const tl::Tile& tile) {
  const auto& state = *tile.state();
  if (state.producer) state.producer->done.wait();
  const auto view = numerics::view(state.program().environment().executor, state.value()->value);
  HostTile result{view.dtype, Sizes(view.shape.begin(), view.shape.end()), {}};
  EXPECT_EQ(tile.dtype(), view.dtype);
  EXPECT_EQ(tile.shape(), extents(result.shape));
  for (std::int64_t i = 0; i < numel(result.shape); ++i) {
    result.lanes.push_back({decode(view.bytes.data() + i * item_size(view.dtype), view.dtype), view.valid(i)});
  }
  return result;
}

HostTile elementwise(const std::vector<const HostTile*>& operands, DType dtype, const LaneFunction& function) {
  HostTile result{dtype, {}, {}};
  for (const auto* operand : operands) result.shape = broadcast(result.shape, operand->shape);
  for (std::int64_t i = 0; i < numel(result.shape); ++i) {
    std::vector<Real> values;
    bool valid = true;
    for (const auto* operand : operands) {
      const Lane& lane = operand->lanes[source_of(i, result.shape, operand->shape)];
      values.push_back(lane.value);
      valid = valid && lane.valid;
    }
    Lane lane = valid ? function(values) : Lane{0, false};
    result.lanes.push_back(lane);
  }
  return result;
}

void expect_same(const tl::Tile& got, const HostTile& expected, const std::string& what) {
  expect_same(look_at(got), expected, what);
}

void expect_same(const HostTile& got, const HostTile& expected, const std::string& what) {
  ASSERT_EQ(describe(got), describe(expected)) << what;
  for (std::size_t i = 0; i < got.lanes.size(); ++i) {
    ASSERT_EQ(got.lanes[i].valid, expected.lanes[i].valid) << what << ", lane " << i << " of " << describe(got);
    if (!got.lanes[i].valid) continue;
    ASSERT_TRUE(same(got.lanes[i].value, expected.lanes[i].value))
        << what << ", lane " << i << " of " << describe(got) << ": " << got.lanes[i].value << " instead of "
        << expected.lanes[i].value;
  }
}

HostTile product(const HostTile& a, const HostTile& b, const HostTile* start, DType dtype) {
  const bool batched = a.shape.size() == 3;
  const std::int64_t m = a.shape[batched ? 1 : 0], k = a.shape.back(), n = b.shape.back();
  HostTile result{dtype, a.shape, {}};
  result.shape.back() = n;
  for (std::int64_t i = 0; i < numel(result.shape); ++i) {
    const std::int64_t group = i / (m * n), row = i / n % m, column = i % n;
    Lane initial = start ? start->lanes[static_cast<std::size_t>(i)] : Lane{};
    auto chain = static_cast<float>(initial.value);
    auto whole = is_float(a.dtype) ? 0u : static_cast<std::uint32_t>(static_cast<std::int64_t>(initial.value));
    bool valid = initial.valid;
    for (std::int64_t p = 0; p < k; ++p) {
      const Lane& x = a.lanes[static_cast<std::size_t>((group * m + row) * k + p)];
      const Lane& y = b.lanes[static_cast<std::size_t>((group * k + p) * n + column)];
      valid = valid && x.valid && y.valid;
      if (is_float(a.dtype)) {
        chain = std::fma(static_cast<float>(x.value), static_cast<float>(y.value), chain);
      } else {
        whole += static_cast<std::uint32_t>(static_cast<std::int64_t>(x.value)) *
                 static_cast<std::uint32_t>(static_cast<std::int64_t>(y.value));
      }
    }
    const Real value = is_float(a.dtype) ? round_to(chain, dtype) : static_cast<Real>(static_cast<std::int32_t>(whole));
    result.lanes.push_back({value, valid});
  }
  return result;
}

std::string kernel_error(const std::function<void(tl::Tile a, tl::Tile b)>& body) {
  const auto result = try_simulate(tiny(), [&] {
    const auto x = torch::ones({2, 3}, one_pe(DType::f32)), y = torch::ones({3, 4}, one_pe(DType::f32));
    torch::launch(
        "wrong", [&](tl::In a, tl::In b) { body(tl::load(a, {0, 0}, {2, 3}), tl::load(b, {0, 0}, {3, 4})); }, x, y);
    torch::ahbm::synchronize();
  });
  return result.error ? result.error->type + ": " + result.error->message + " | " + result.error->where : "no error";
}

TileFunction tile_function(const std::string& name) {
  static const std::map<std::string, TileFunction> all{
#define KERNBENCH_FUNCTION(operation, name, ...) {#name, [](const tl::Tile& x) { return tl::name(x); }},
#include "kernbench/elementwise/unary.def"
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace kernbench::tile_test
