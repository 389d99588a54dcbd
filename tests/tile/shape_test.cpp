// Changes of shape: where each lane goes, what shares its bytes with what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "harness.h"

namespace kernbench::tile_test {
namespace {

using ::testing::HasSubstr;

/// A tile of `shape` whose lane at some coordinates is the lane of `x` at `from(coordinates)`.
HostTile moved(const HostTile& x, const Sizes& shape, const std::function<Sizes(const Sizes&)>& from) {
  HostTile result{x.dtype, shape, {}};
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    result.lanes.push_back(x.lanes[static_cast<std::size_t>(index_of(from(coordinates(i, shape)), x.shape))]);
  }
  return result;
}

TEST(TileShape, ReshapeViewRavelAndExpandDimsKeepTheOrderOfTheLanes) {
  run_cases(41, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 20; ++round) {
        const auto x = bench.draw(type, bench.shape());
        Sizes other = x.host.shape;
        std::ranges::shuffle(other, bench.random());
        const HostTile expected{type, other, x.host.lanes};
        expect_same(tl::reshape(x.tile, extents(other)), expected, "reshape");
        if (!other.empty()) {
          Sizes open = other;
          open[static_cast<std::size_t>(bench.below(static_cast<std::int64_t>(open.size())))] = -1;
          expect_same(tl::view(x.tile, extents(open)), expected, "view with -1");
        }
        expect_same(tl::ravel(x.tile), {type, {numel(other)}, x.host.lanes}, "ravel");
        const auto rank = static_cast<std::int64_t>(x.host.shape.size());
        const std::int64_t axis = bench.below(rank + 1);
        Sizes expanded = x.host.shape;
        expanded.insert(expanded.begin() + axis, 1);
        const auto given = static_cast<int>(bench.chance(2) ? axis : axis - rank - 1);
        expect_same(tl::expand_dims(x.tile, given), {type, expanded, x.host.lanes}, "expand_dims");
      }
    }
  });
}

TEST(TileShape, PermuteAndTransMoveDimensions) {
  run_cases(42, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 25; ++round) {
        const auto x = bench.draw(type, bench.shape());
        const auto rank = static_cast<std::int64_t>(x.host.shape.size());
        Sizes order(x.host.shape.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, bench.random());
        const auto permuted = [&](const Sizes& by) {
          Sizes shape;
          for (const auto d : by) shape.push_back(x.host.shape[static_cast<std::size_t>(d)]);
          return moved(x.host, shape, [&](const Sizes& at) {
            Sizes from(at.size());
            for (std::size_t i = 0; i < at.size(); ++i) from[static_cast<std::size_t>(by[i])] = at[i];
            return from;
          });
        };
        Sizes given = order;
        for (auto& dimension : given) dimension -= bench.chance(2) ? rank : 0;
        expect_same(tl::permute(x.tile, extents(given)), permuted(order), "permute");
        expect_same(tl::trans(x.tile, extents(order)), permuted(order), "trans by order");
        if (rank < 2) continue;
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[order.size() - 1], order[order.size() - 2]);
        expect_same(tl::trans(x.tile), permuted(order), "trans");
      }
    }
  });
}

TEST(TileShape, BroadcastToRepeatsExtentsOfOne) {
  run_cases(43, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 20; ++round) {
        const Sizes shape = bench.shape();
        const auto x = bench.draw(type, bench.partner(shape));
        HostTile expected{type, shape, {}};
        for (std::int64_t i = 0; i < numel(shape); ++i) {
          expected.lanes.push_back(x.host.lanes[source_of(i, shape, x.host.shape)]);
        }
        expect_same(tl::broadcast_to(x.tile, extents(shape)), expected, "broadcast_to");
      }
    }
  });
}

TEST(TileShape, CatPutsAnyNumberOfTilesOneAfterTheOther) {
  run_cases(44, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 20; ++round) {
        Sizes shape = bench.shape(60);
        if (shape.empty()) shape = {3};
        const auto axis = static_cast<std::size_t>(bench.below(static_cast<std::int64_t>(shape.size())));
        std::vector<Drawn> parts;
        std::vector<tl::Tile> tiles;
        Sizes whole = shape;
        whole[axis] = 0;
        for (auto count = 1 + bench.below(5); count > 0; --count) {
          Sizes part = shape;
          part[axis] = 1 + bench.below(5);
          whole[axis] += part[axis];
          tiles.push_back(parts.emplace_back(bench.draw(type, part)).tile);
        }
        HostTile expected{type, whole, {}};
        for (std::int64_t i = 0; i < numel(whole); ++i) {
          Sizes at = coordinates(i, whole);
          std::size_t part = 0;
          while (at[axis] >= parts[part].host.shape[axis]) at[axis] -= parts[part++].host.shape[axis];
          const auto& host = parts[part].host;
          expected.lanes.push_back(host.lanes[static_cast<std::size_t>(index_of(at, host.shape))]);
        }
        const auto given = static_cast<int>(axis) - (bench.chance(2) ? static_cast<int>(shape.size()) : 0);
        expect_same(tl::cat(tiles, given), expected, "cat");
        if (tiles.size() == 2) expect_same(tl::cat(tiles[0], tiles[1], given), expected, "cat of two");
      }
    }
  });
}

TEST(TileShape, SplitUndoesJoin) {
  run_cases(45, [](Bench& bench) {
    for (const DType left : kTypes) {
      for (const DType right : kTypes) {
        const auto shape = bench.shape();
        const auto a = bench.draw(left, shape), b = bench.draw(right, bench.partner(shape));
        const DType type = promote(left, right);
        HostTile first{type, broadcast(shape, b.host.shape), {}}, second = first, joined = first;
        joined.shape.push_back(2);
        for (std::int64_t i = 0; i < numel(first.shape); ++i) {
          const auto lane = [&](const HostTile& from) {
            Lane result = from.lanes[source_of(i, first.shape, from.shape)];
            if (from.dtype != type) result.value = convert(result.value, from.dtype, type);
            return result;
          };
          first.lanes.push_back(lane(a.host));
          second.lanes.push_back(lane(b.host));
          joined.lanes.push_back(first.lanes.back());
          joined.lanes.push_back(second.lanes.back());
        }
        const auto both = tl::join(a.tile, b.tile);
        expect_same(both, joined, "join");
        const auto [x, y] = tl::split(both);
        expect_same(x, first, "first of split");
        expect_same(y, second, "second of split");
      }
    }
  });
}

// ---- views in the TCM ------------------------------------------------------------------------------------------

void in_kernel(const std::function<void()>& body, std::vector<std::string> overrides = {}) {
  auto options = tiny();
  options.overrides = std::move(overrides);
  simulate(options, [&] {
    auto x = torch::zeros({4}, one_pe(DType::f32));
    torch::launch("views", [&](tl::Tensor) { body(); }, x);
    torch::ahbm::synchronize();
  });
}

TEST(TileShape, ViewsShareTheBytesOfTheirTile) {
  in_kernel(
      [] {
        // Of 4 KiB three are taken; 60 views of them fit, and so does one more tile of 1 KiB, but not of 2 KiB.
        auto x = tl::zeros({768}, DType::f32);
        std::vector<tl::Tile> views;
        for (int i = 0; i < 20; ++i) {
          views.push_back(tl::reshape(x, {3, 256}));
          views.push_back(tl::bitcast(views.back(), DType::i32));
          views.push_back(tl::expand_dims(views.back(), 0));
        }
        x = {};
        auto more = tl::zeros({256}, DType::f32);
        more = {};
        EXPECT_THROW(tl::zeros({512}, DType::f32), OutOfMemoryError);
        try {
          tl::zeros({512}, DType::f32);
        } catch (const OutOfMemoryError& error) {
          EXPECT_THAT(error.what(), HasSubstr("live tiles hold 3 KiB of 4 KiB"));
          EXPECT_THAT(error.what(), HasSubstr("shares the bytes of tile 1"));
        }
        views.resize(1);
        EXPECT_THROW(tl::zeros({512}, DType::f32), OutOfMemoryError) << "the last view still holds them";
        views.clear();
        tl::zeros({1024}, DType::f32);
      },
      {"pe.tcm.capacity=4KiB"});
}

TEST(TileShape, AViewIsReadyWithItsTileAndTakesNoTime) {
  const auto run = [](bool viewed) {
    return simulate(tiny(),
                    [&] {
                      auto x = torch::ones({6, 8}, one_pe(DType::f32));
                      torch::launch(
                          "views",
                          [&](tl::Tensor a) {
                            auto y = tl::exp(tl::load(a, {0, 0}, {6, 8}));
                            if (viewed) y = tl::view(tl::ravel(tl::reshape(tl::expand_dims(y, 0), {8, -1})), {6, 8});
                            tl::store(a, {0, 0}, y + 1.0f);
                          },
                          x);
                      torch::ahbm::synchronize();
                    })
        .simulated_time;
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace kernbench::tile_test
