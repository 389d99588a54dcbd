// Known tiles: their values before the run, the same with data and under --no-data.
#include "tile/program/known.h"

#include <gtest/gtest.h>

#include <functional>

#include "harness.h"

namespace kernbench::tile_test {
namespace {

/// What the kernel's control processor knows of a tile; absent when it is not known.
std::optional<HostTile> known(const tl::Tile& tile) {
  const auto view = tile::known_view(*tile.state());
  if (!view) return std::nullopt;
  HostTile result{view->dtype, Sizes(view->shape.begin(), view->shape.end()), {}};
  for (std::int64_t i = 0; i < numel(result.shape); ++i) {
    result.lanes.push_back({decode(view->bytes.data() + i * item_size(view->dtype), view->dtype), view->valid(i)});
  }
  return result;
}

/// Runs `body` in a kernel that gets a tile of ones [2, 3], and returns the simulated time.
Time run(bool data, const std::function<void(tl::Tile loaded)>& body) {
  auto options = tiny();
  options.data = data;
  const auto result = try_simulate(options, [&] {
    const auto x = torch::ones({2, 3}, one_pe(DType::i32));
    torch::launch("known", [&](tl::In a) { body(tl::load(a, {0, 0}, {2, 3})); }, x);
    torch::ahbm::synchronize();
  });
  EXPECT_FALSE(result.error) << result.error->message;
  return result.simulated_time;
}

/// Grows random expressions of integers and booleans, each from earlier ones.
class Grower {
 public:
  explicit Grower(unsigned seed) : random_(seed) {}

  tl::Tile grow() {
    tiles_.push_back(next());
    // Half of the expressions stay small, so that trees are deep and wide.
    if (tiles_.back().numel() > 300) tiles_.back() = tl::sum(tiles_.back(), 0);
    return tiles_.back();
  }

 private:
  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(count)); }
  DType type() { return kTypes[below(5)]; }
  const tl::Tile& earlier() {
    return tiles_[static_cast<std::size_t>(below(static_cast<std::int64_t>(tiles_.size())))];
  }
  /// An earlier tile as integers, or as a scalar, that broadcasts with `x`.
  tl::Operand partner(const tl::Tile& x) {
    if (below(3) == 0) return {below(7) + 1};
    if (below(2) == 0) return tl::broadcast_to(tl::sum(earlier()), x.shape());
    return tl::cast(x, DType::i32);
  }

  tl::Tile leaf() {
    const std::int64_t n = 1 + below(12);
    switch (below(4)) {
      case 0:
        return tl::arange(below(20) - 10, below(20) + 11);
      case 1:
        return tl::full({n, 3}, below(2) == 0, DType::boolean);
      case 2:
        return tl::zeros({n}, type());
      default:
        return tl::full({2, n}, below(100), type());
    }
  }

  tl::Tile next() {
    if (tiles_.empty() || below(6) == 0) return leaf();
    const tl::Tile x = earlier();
    const auto rank = static_cast<int>(x.shape().size());
    switch (below(18)) {
      case 0:
        return x + partner(x);
      case 1:
        return x * partner(x) - 5;
      case 2:
        return tl::idiv(tl::cast(x, DType::i32), partner(x));  // some divisors are 0: those lanes are invalid
      case 3:
        return tl::cast(x, DType::i64) % 7;
      case 4:
        return x < partner(x);
      case 5:
        return (x != partner(x)) & (x >= 1);
      case 6:
        return tl::where(x > 3, x, partner(x));
      case 7:
        return tl::cast(x, type());
      case 8:
        return tl::ravel(x);
      case 9:
        return rank > 0 ? tl::expand_dims(tl::sum(x, rank - 1), 0) : tl::reshape(x, {1});
      case 10:
        return rank > 0 ? tl::cumsum(x, 0, below(2) == 0) : -x;
      case 11:
        return rank > 1 ? tl::trans(x) : ~x;
      case 12:
        return rank > 0 ? tl::cat(x, x, 0) : tl::join(x, x);
      case 13:
        return tl::minimum(tl::maximum(x, partner(x)), 50);
      case 14:
        return rank > 0 ? tl::argmax(x, 0) : tl::abs(x);
      case 15:
        return tl::cast(x, DType::i32) << (tl::cast(x, DType::i32) & 3);
      case 16:
        return rank > 0 ? tl::max(x, 0, true) + x : !x;
      default:
        return tl::clamp(x, false, true) ^ tl::cast(x, DType::boolean);
    }
  }

  std::mt19937 random_;
  std::vector<tl::Tile> tiles_;
};

TEST(TileKnown, RandomExpressionsHaveTheRunsValueBeforeTheRunAndWithoutData) {
  std::size_t invalid = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<HostTile> with_data, without;
    const Time time = run(true, [&](const tl::Tile&) {
      Grower grower(seed);
      for (int i = 0; i < 60; ++i) {
        const auto tile = grower.grow();
        const auto value = known(tile);  // before the command has run
        ASSERT_TRUE(value) << tile.state()->kind();
        if (i % 2 == 0) expect_same(tile, *value, tile.state()->kind());
        with_data.push_back(*value);
        for (const Lane& lane : value->lanes) invalid += lane.valid ? 0 : 1;
      }
    });
    const Time again = run(false, [&](const tl::Tile&) {
      Grower grower(seed);
      for (int i = 0; i < 60; ++i) {
        const auto tile = grower.grow();
        const auto value = known(tile);
        ASSERT_TRUE(value);
        if (i % 2 == 0) tile.state()->producer->done.wait();
        without.push_back(*value);
      }
    });
    EXPECT_EQ(time, again);
    ASSERT_EQ(with_data.size(), without.size());
    for (std::size_t i = 0; i < without.size(); ++i) expect_same(without[i], with_data[i], std::to_string(i));
  }
  EXPECT_GT(invalid, 100u) << "the expressions ought to have some invalid lanes";
}

TEST(TileKnown, WhatIsLoadedOrFloatIsNotKnown) {
  run(true, [](const tl::Tile& loaded) {
    EXPECT_FALSE(known(loaded));
    EXPECT_FALSE(known(loaded + tl::zeros({2, 3}, DType::i32)));
    EXPECT_FALSE(known(tl::reshape(loaded, {6})));
    EXPECT_FALSE(known(tl::zeros({4}, DType::f32)));
    EXPECT_FALSE(known(tl::zeros({4}, DType::f32) < 1));
    EXPECT_FALSE(known(tl::arange(0, 4) / 2));
    EXPECT_FALSE(known(tl::dot(tl::zeros({2, 2}, DType::i32), tl::zeros({2, 2}, DType::i32))));
    EXPECT_TRUE(known(tl::zeros_like(loaded))) << "its shape is known, and that is all it needs";
  });
}

TEST(TileKnown, AChainOfTenThousandIsStillKnown) {
  const auto chain = [](const tl::Tile&) {
    auto offsets = tl::arange(0, 8);
    for (int i = 0; i < 10000; ++i) offsets += 3;
    ASSERT_TRUE(known(offsets));
    EXPECT_EQ(known(offsets)->lanes[5].value, 30005);
  };
  EXPECT_EQ(run(true, chain), run(false, chain));
}

TEST(TileKnown, ItemOfAKnownTileIsItsValueWithoutDataToo) {
  const auto body = [](const tl::Tile& loaded) {
    const auto last = tl::max(tl::arange(0, 9) * 5);
    EXPECT_EQ(tl::item<int>(last), 40);
    EXPECT_EQ(tl::item_or<int>(last, -1), 40);
    EXPECT_TRUE(tl::item<bool>(last == 40));
    tl::item_or<int>(tl::sum(loaded), 6);
  };
  EXPECT_EQ(run(true, body), run(false, body));
  const auto result = try_simulate({.topology = "tiny", .data = false, .threads = 1}, [&] {
    const auto x = torch::ones({2, 3}, one_pe(DType::i32));
    torch::launch("item", [&](tl::In a) { tl::item<int>(tl::sum(tl::load(a, {0, 0}, {2, 3}))); }, x);
    torch::ahbm::synchronize();
  });
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "NoDataError");
}

}  // namespace
}  // namespace kernbench::tile_test
