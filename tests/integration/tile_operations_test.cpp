// Tiles on their way between host tensors, HBM and TCM: blocks across shards, conversions by stores, validity to the
// host read. The arithmetic itself is tested in tests/tile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "programs.h"
#include "support/all_cases.h"
#include "support/interleaved.h"
#include "tile_reference.h"

namespace kernbench {
namespace {

using testing::error_of;
using testing::expect_same;
using ::testing::HasSubstr;
using testing::HostTile;
using testing::on_device;
using testing::one_pe;
using testing::random_tile;
using testing::rounded;
using testing::tiny;

constexpr std::array kTypes{DType::boolean, DType::i32, DType::f16, DType::bf16, DType::f32};
using Tiles = std::vector<tl::Tile>;

TEST(TileOperations, StoresCastEveryTypeToEveryOther) {
  std::mt19937 random(5);
  simulate(tiny(), [&] {
    for (const DType from : kTypes) {
      for (const DType to : kTypes) {
        const auto x = random_tile(random, from, {4, 9}, true);
        HostTile expected{to, x.shape, {}};
        for (const double value : x.values) expected.values.push_back(rounded(value, to));
        const std::string text = std::string(name(from)) + " to " + name(to);
        const auto out = torch::empty({4, 9}, one_pe(to));
        auto values = x.values;
        const auto in = torch::from_blob(values.data(), {4, 9}, torch::kDouble).to(one_pe(from));
        torch::launch(
            "store", [](tl::In a, tl::Tensor b) { tl::store(b, {0, 0}, tl::load(a, {0, 0}, {4, 9})); }, in, out);
        const auto host = out.cpu().to(torch::kDouble);
        expect_same({to, x.shape, {host.data_ptr<double>(), host.data_ptr<double>() + 36}}, expected,
                    text + " by store");
      }
    }
  });
}

TEST(TileOperations, ScalarTilesOfRankZeroLoadAndStore) {
  simulate(tiny(), [] {
    const HostTile x{DType::f32, {}, {2.5}};
    expect_same(on_device({x, x}, DType::f32, {}, [](const Tiles& t) { return t[0] + t[1]; }), {DType::f32, {}, {5}},
                "+");
  });
}

// ---- loads and stores over shards ------------------------------------------------------------------------------

DPPolicy random_policy(std::mt19937& random, bool replicas) {
  constexpr std::array kAll{Placement::balanced,        Placement::row_wise,           Placement::column_wise,
                            Placement::tiled_row_major, Placement::tiled_column_major, Placement::replicate};
  const std::size_t choices = replicas ? 6 : 5;
  const DPPolicy policy{.cube = kAll[random() % choices],
                        .pe = kAll[random() % choices],
                        .num_cubes = static_cast<int>(random() % 5),
                        .num_pes = static_cast<int>(random() % 3)};
  return testing::maybe_interleaved(policy, random());
}

struct Block {
  tl::Extents offset, shape;
};
/// A block that begins inside of the tensor and may reach past its end.
Block random_block(std::mt19937& random, const std::vector<std::int64_t>& shape) {
  Block block{tl::Extents(std::span(shape)), tl::Extents(std::span(shape))};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    block.offset[d] = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(shape[d]));
    block.shape[d] = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(shape[d] + 3));
  }
  return block;
}

/// Calls visit(index in the block, index in the tensor or -1) for each element of the block.
template <class Visit>
void for_each_element(const Block& block, const std::vector<std::int64_t>& shape, Visit visit) {
  for (std::int64_t i = 0; i < block.shape.numel(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t coordinate = block.offset[d] + rest % block.shape[d];
      rest /= block.shape[d];
      at = at < 0 || coordinate >= shape[d] ? -1 : at + coordinate * stride;
      stride *= shape[d];
    }
    visit(static_cast<std::size_t>(i), at);
  }
}

std::vector<std::int64_t> tensor_shape(std::mt19937& random) {
  std::vector<std::int64_t> shape;
  for (auto rank = 1 + random() % 3; rank > 0; --rank) shape.push_back(1 + random() % 23);
  return shape;
}

SimulateOptions mesh_of_four() {
  return tiny({"sip.cubes.mesh=[2, 2]"});
}
torch::LaunchOptions on_pe(std::uint32_t pe) {
  return {.pes = {{CubeId{static_cast<int>(pe / 2)}, PeId{static_cast<int>(pe % 2)}}}};
}

TEST(TileOperations, LoadsGatherBlocksAcrossShardsAndMaskPastTheEnd) {
  std::mt19937 random(9);
  for (int round = 0; round < number_of_cases(150, 150, 30); ++round) {
    simulate(mesh_of_four(), [&] {
      const DType type = kTypes[random() % 5];
      const auto shape = tensor_shape(random);
      auto x = random_tile(random, type, shape, true);
      const auto block = random_block(random, shape);
      const std::vector<std::int64_t> block_shape(block.shape.begin(), block.shape.end());
      const auto in = torch::from_blob(x.values.data(), shape, torch::kDouble)
                          .to(torch::dtype(type).device("ahbm").placement(random_policy(random, true)));
      const auto out = torch::empty(block_shape, one_pe(type));
      torch::launch(
          on_pe(static_cast<std::uint32_t>(random() % 8)), "load",
          [&](tl::In a, tl::Tensor b) {
            const tl::Extents origin(std::vector<std::int64_t>(block.shape.size(), 0));
            tl::store(b, origin, tl::load(a, block.offset, block.shape, {.other = 1}));
          },
          in, out);
      HostTile expected{type, block_shape, {}};
      for_each_element(block, shape, [&](std::size_t, std::int64_t at) {
        expected.values.push_back(at < 0 ? 1 : x.values[static_cast<std::size_t>(at)]);
      });
      const auto host = out.cpu().to(torch::kDouble);
      expect_same({type, block_shape, {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()}}, expected,
                  "round " + std::to_string(round));
    });
  }
}

TEST(TileOperations, StoresScatterBlocksAcrossShardsAndDropWhatIsPastTheEnd) {
  std::mt19937 random(10);
  for (int round = 0; round < number_of_cases(150, 150, 30); ++round) {
    simulate(mesh_of_four(), [&] {
      const DType type = kTypes[random() % 5];
      const auto shape = tensor_shape(random);
      auto x = random_tile(random, type, shape, true);
      const auto block = random_block(random, shape);
      const std::vector<std::int64_t> block_shape(block.shape.begin(), block.shape.end());
      auto stored = random_tile(random, type, block_shape, true);
      const auto options = torch::dtype(type).device("ahbm").placement(random_policy(random, false));
      const auto out = torch::from_blob(x.values.data(), shape, torch::kDouble).to(options);
      const auto in = torch::from_blob(stored.values.data(), block_shape, torch::kDouble).to(one_pe(type));
      torch::launch(
          on_pe(static_cast<std::uint32_t>(random() % 8)), "store",
          [&](tl::In a, tl::Tensor b) {
            const tl::Extents origin(std::vector<std::int64_t>(block.shape.size(), 0));
            tl::store(b, block.offset, tl::load(a, origin, block.shape));
          },
          in, out);
      HostTile expected = x;
      for_each_element(block, shape, [&](std::size_t i, std::int64_t at) {
        if (at >= 0) expected.values[static_cast<std::size_t>(at)] = stored.values[i];
      });
      const auto host = out.cpu().to(torch::kDouble);
      expect_same({type, shape, {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()}}, expected,
                  "round " + std::to_string(round));
    });
  }
}

// ---- validity --------------------------------------------------------------------------------------------------

/// Which elements of the stored result a host read takes for invalid, as a string of '.' (valid) and 'x'.
std::string validity_of(const std::vector<std::int64_t>& shape, const std::function<tl::Tile(tl::In)>& compute,
                        DType dtype = DType::f32) {
  std::string mask;
  simulate(tiny(), [&] {
    const auto in = torch::ones({3, 4}, one_pe());
    const auto out = torch::zeros(shape, one_pe(dtype));
    torch::launch(
        "validity",
        [&](tl::In a, tl::Tensor b) {
          tl::store(b, tl::Extents(std::vector<std::int64_t>(shape.size(), 0)), compute(a));
        },
        in, out);
    const auto flat = out.view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      try {
        flat[i].item();
        mask += '.';
      } catch (const InvalidValueError&) {
        mask += 'x';
      }
    }
  });
  return mask;
}

TEST(TileOperations, LanesOutsideOfTheTensorStayInvalidUpToTheHostRead) {
  // Two rows, of which the second lies outside, and three columns, of which the last does.
  const auto load = [](const tl::In& a) { return tl::load(a, {2, 2}, {2, 3}); };
  const auto one = [] { return tl::full({2, 3}, 1.0f, DType::f32); };
  const std::string corner = "..xxxx";
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return load(a); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return tl::load(a, {2, 2}, {2, 3}, {.other = 0}); }), "......");
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return -load(a); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return tl::exp(load(a)); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return tl::cast(load(a), DType::f16); }, DType::bf16), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return load(a) * one(); }), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In a) { return 0.0f < load(a); }, DType::boolean), corner);
  EXPECT_EQ(validity_of({2, 3}, [&](tl::In) { return one() + one(); }), "......");
  EXPECT_EQ(validity_of({2}, [&](tl::In a) { return tl::sum(load(a), 1); }), "xx");
  EXPECT_EQ(validity_of({3}, [&](tl::In a) { return tl::max(tl::load(a, {2, 2}, {1, 3}), 0); }), "..x");
  EXPECT_EQ(validity_of({1, 1}, [&](tl::In a) { return tl::sum(load(a), std::nullopt, true); }), "x");
  EXPECT_EQ(validity_of({1, 1}, [&](tl::In a) { return tl::max(tl::load(a, {0, 0}, {2, 3}), std::nullopt, true); }),
            ".");
}

TEST(TileOperations, AnInvalidLaneSpoilsItsRowOfAProductAndNoOther) {
  const auto weights = [] { return tl::full({4, 2}, 1.0f, DType::f32); };
  EXPECT_EQ(validity_of({2, 2}, [&](tl::In a) { return tl::dot(tl::load(a, {2, 0}, {2, 4}), weights()); }), "..xx");
  EXPECT_EQ(validity_of({2, 2},
                        [&](tl::In a) {
                          return tl::dot(tl::full({2, 4}, 1.0f, DType::f32), weights(), tl::load(a, {2, 3}, {2, 2}));
                        }),
            ".xxx");
}

TEST(TileOperations, ABroadcastLaneSpoilsAllThatDependOnIt) {
  EXPECT_EQ(validity_of({2, 3}, [](tl::In a) { return tl::load(a, {2, 0}, {2, 1}) + tl::zeros({1, 3}, DType::f32); }),
            "...xxx");
}

TEST(TileOperations, MisuseOfExtentsThatAreFarTooLargeIsAnErrorNotAnOverflow) {
  const auto error = [](const std::function<void(tl::Tensor)>& kernel) {
    return error_of([&] {
      auto x = torch::zeros({4}, one_pe());
      torch::launch("large", [&](tl::Tensor a) { kernel(a); }, x);
      torch::ahbm::synchronize();
    });
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THAT(error([](tl::Tensor) { tl::full({kHuge, kHuge, kHuge}, 1.0f, DType::f32); }),
              HasSubstr("TCM of sip0.cube0.pe0 is too small"));
  EXPECT_THAT(error([](tl::Tensor a) { tl::load(a, {1}, {INT64_MAX}); }),
              HasSubstr("TCM of sip0.cube0.pe0 is too small"));
  EXPECT_THAT(error([](tl::Tensor) { tl::full({-1}, 1.0f, DType::f32); }),
              HasSubstr("shape [-1] must be positive in every dimension"));
}

}  // namespace
}  // namespace kernbench
