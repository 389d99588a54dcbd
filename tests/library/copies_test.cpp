// Copies and joins whose elements lie far from each other, or far from who needs them: values over any view, type and
// placement, and times beside that of a plain copy of as many bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "addressing/tensor_descriptor.h"
#include "support.h"
#include "tile/library/elementwise.h"
#include "tile/library/view.h"
#include "topology/load.h"
#include "topology/spec.h"

namespace kernbench {
namespace {

using testing::Draw;
using testing::elements;
using testing::expect_equal;
using testing::for_random_cases;
using testing::Sizes;
using testing::whole_numbers;
using torch::Tensor;

/// Of 1, 2, 4 and 8 bytes.
const std::vector<DType> kSizesOfElements{DType::u8, DType::f16, DType::f32, DType::i64};

Tensor placed_anywhere(Draw& draw, const Tensor& host) {
  return host.to(torch::device("ahbm").placement(draw.placement()));
}

TEST(LibraryCopies, ElementsAreWrittenBetweenThoseThatStay) {
  for_random_cases(60, [](Draw& draw) {
    const DType dtype = draw.of(kSizesOfElements);
    const auto values = whole_numbers(dtype, 0, 99);
    const std::int64_t rows = draw.integer(1, 70), count = draw.integer(1, 90), step = draw.integer(2, 9);
    const std::int64_t start = draw.integer(0, step - 1), end = start + (count - 1) * step + 1;
    const std::int64_t columns = end + draw.integer(0, 3);
    const Tensor old = values({rows, columns}), x = values({rows, count});
    const Tensor y = placed_anywhere(draw, old);
    y.slice(1, start, end, step).copy_(placed_anywhere(draw, x));
    const Tensor expected = old.clone();
    expected.slice(1, start, end, step).copy_(x);
    expect_equal(y, elements(expected), "columns");
    const Tensor turned = placed_anywhere(draw, old.t().contiguous());
    turned.slice(0, start, end, step).copy_(placed_anywhere(draw, x.t().contiguous()));
    expect_equal(turned, elements(expected.t()), "rows");
  });
}

TEST(LibraryCopies, NarrowTensorsAreStackedAndJoinedAlongAnyDimension) {
  for_random_cases(60, [](Draw& draw) {
    const DType dtype = draw.of(kSizesOfElements);
    const auto values = whole_numbers(dtype, 0, 99);
    const Sizes sizes = draw.sizes(static_cast<std::size_t>(draw.integer(1, 3)), 2000);
    const auto rank = static_cast<std::int64_t>(sizes.size());
    std::vector<Tensor> host, device;
    for (std::int64_t i = draw.integer(1, 6); i > 0; --i) {
      host.push_back(values(sizes));
      device.push_back(placed_anywhere(draw, host.back()));
    }
    for (std::int64_t d = 0; d <= rank; ++d)
      expect_equal(torch::stack(device, d), elements(torch::stack(host, d)), "stack along " + std::to_string(d));
    const std::int64_t dimension = draw.integer(0, rank - 1);
    for (std::size_t i = 0; i < host.size(); ++i) {
      Sizes other = sizes;
      other[static_cast<std::size_t>(dimension)] = draw.integer(1, 7);
      host[i] = values(other);
      device[i] = placed_anywhere(draw, host[i]);
    }
    expect_equal(torch::cat(device, dimension), elements(torch::cat(host, dimension)), "cat");
  });
}

TEST(LibraryCopies, ManyTensorsAreJoined) {
  for_random_cases(8, [](Draw& draw) {
    const auto values = whole_numbers(draw.of(kSizesOfElements), 0, 99);
    std::vector<Tensor> host, device;
    for (std::int64_t i = 0; i < 70; ++i) {
      host.push_back(values({3, draw.integer(1, 3)}));
      device.push_back(placed_anywhere(draw, host.back()));
    }
    expect_equal(torch::cat(device, 1), elements(torch::cat(host, 1)), "cat");
  });
}

TEST(LibraryCopies, NarrowRowsAreTurned) {
  for_random_cases(40, [](Draw& draw) {
    const DType dtype = draw.of(kSizesOfElements);
    const Tensor host = whole_numbers(dtype, 0, 99)({draw.integer(1, 900), draw.integer(1, 20)});
    expect_equal(placed_anywhere(draw, host).t().contiguous(), elements(host.t()), "narrow rows");
    expect_equal(placed_anywhere(draw, host.t().contiguous()).t().contiguous(), elements(host), "narrow columns");
    const auto out = torch::empty({host.size(1), host.size(0)},
                                  torch::dtype(torch::kFloat).device("ahbm").placement(draw.placement()));
    out.copy_(placed_anywhere(draw, host).t());
    expect_equal(out, elements(host.t()), "another type and placement");
  });
}

TEST(LibraryCopies, WhatRepeatsIsAddedToWideRows) {
  for_random_cases(12, [](Draw& draw) {
    const auto values = whole_numbers(draw.of(std::vector{DType::f32, DType::f16}), 0, 99);
    const std::int64_t rows = draw.integer(1, 9), columns = draw.integer(20'000, 40'000);
    const Tensor x = values({rows, columns}), row = values({columns}), column = values({rows, 1});
    const Tensor there = placed_anywhere(draw, x);
    expect_equal(there + placed_anywhere(draw, row), elements(x + row), "row");
    expect_equal(there + placed_anywhere(draw, row) * placed_anywhere(draw, column), elements(x + row * column),
                 "row and column");
  });
}

TEST(LibraryCopies, ReplicasAreMadeOfParts) {
  for_random_cases(24, [](Draw& draw) {
    const Tensor host = whole_numbers(draw.of(kSizesOfElements), 0, 99)({draw.integer(1, 300), draw.integer(1, 300)});
    const DPPolicy everywhere{.cube = Placement::replicate, .pe = Placement::replicate};
    const Tensor all = placed_anywhere(draw, host).to(torch::device("ahbm").placement(everywhere));
    expect_equal(all, elements(host), "replicas");
    expect_equal(all.to(torch::device("ahbm").placement(draw.placement())), elements(host), "parts");
  });
}

/// The last launch of a program on four cubes of two PEs.
LaunchResult launch_on_four_cubes(const std::function<void()>& program) {
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides.emplace_back("sip.cubes.mesh=[2, 2]");
  options.data = false;
  options.quick_plans = true;
  return simulate(options,
                  [&] {
                    program();
                    torch::ahbm::synchronize();
                  })
      .launches.back();
}

double copy_time_of(const LaunchResult& launch) {
  return (launch.end - launch.start).in_seconds() * 1e6;
}

Tensor unset(const Sizes& sizes, DType dtype = DType::f32, const DPPolicy& policy = {}) {
  return torch::empty(sizes, torch::dtype(dtype).device("ahbm").placement(policy));
}

/// A copy of `elements` elements from where they lie to where they lie.
double plain_copy(std::int64_t elements, DType dtype = DType::f32) {
  return copy_time_of(launch_on_four_cubes([&] { unset({elements}, dtype).clone(); }));
}

TEST(LibraryCopies, ElementsWithGapsTakeWholeAccessesTogether) {
  for (const DType dtype : kSizesOfElements) {
    const auto gaps =
        launch_on_four_cubes([&] { unset({512, 2048}, dtype).slice(1, 0, 2048, 2).copy_(unset({512, 1024}, dtype)); });
    EXPECT_LE(copy_time_of(gaps), 2 * plain_copy(512 * 1024, dtype)) << name(dtype);
    const auto stacked =
        launch_on_four_cubes([&] { torch::stack({unset({512, 512}, dtype), unset({512, 512}, dtype)}, -1); });
    EXPECT_LE(copy_time_of(stacked), 2 * plain_copy(512 * 1024, dtype)) << name(dtype);
    const auto narrow =
        launch_on_four_cubes([&] { torch::cat({unset({65536, 3}, dtype), unset({65536, 5}, dtype)}, 1); });
    EXPECT_LE(copy_time_of(narrow), 2 * plain_copy(512 * 1024, dtype)) << name(dtype);
  }
}

// A column lies dense in the shard of one PE of each cube, whatever lies beside it in the tensor: accesses have no
// gaps, and none is of another PE's slice.
TEST(LibraryCopies, GapsAreThoseOfTheShard) {
  const auto column =
      launch_on_four_cubes([] { unset({65536, 2}, DType::f32, {.pe = Placement::column_wise}).select(1, 1).add_(1); });
  EXPECT_LE(column.hbm_bytes, Bytes(2 * 65536 * 4));
  EXPECT_EQ(column.distance.own_slice, column.hbm_bytes);
  const auto dense = launch_on_four_cubes([] { unset({65536}, DType::f32, {.num_pes = 1}).add_(1); });
  EXPECT_LE(copy_time_of(column), 1.1 * copy_time_of(dense));
}

// In every second row, a shard, elements have odd places in the tensor; and behind the last one of 1025 there is no
// gap.
TEST(LibraryCopies, GapsEndWithTheShard) {
  for (const std::int64_t end : {2048, 2049}) {
    const auto rows = launch_on_four_cubes([&] { unset({8, 2049}).slice(1, 0, end, 2).add_(1); });
    EXPECT_EQ(rows.distance.own_slice, rows.hbm_bytes) << end;
  }
}

TEST(LibraryCopies, NarrowRowsAreTurnedWhereTheyLie) {
  const auto turned = launch_on_four_cubes([] { unset({30'011, 17}).t().contiguous(); });
  EXPECT_LE(copy_time_of(turned), 2 * plain_copy(std::int64_t{30'011} * 17));
}

TEST(LibraryCopies, ReplicasAreReadTogetherAndSharedRowsOnce) {
  const DPPolicy everywhere{.cube = Placement::replicate, .pe = Placement::replicate};
  const auto from_parts =
      launch_on_four_cubes([&] { unset({1024, 512}).to(torch::device("ahbm").placement(everywhere)); });
  const auto from_own = launch_on_four_cubes([&] { unset({1024, 512}, DType::f32, everywhere).clone(); });
  EXPECT_LE(copy_time_of(from_parts), 1.2 * copy_time_of(from_own));
  // A row of four blocks, and of the first one the parts in which it begins.
  const auto row = launch_on_four_cubes([] { unset({64, 65536}) + unset({65536}); });
  EXPECT_LE(row.hbm_bytes, Bytes(2 * 64 * 65536 * 4 + 2 * 65536 * 4));
}

TEST(LibraryCopies, ProgramsThatWouldMeetInASliceBeginApart) {
  const auto turned = launch_on_four_cubes([] { unset({1024, 1024}).t().contiguous(); });
  EXPECT_LE(copy_time_of(turned), 1.3 * plain_copy(1024 * 1024));
  const auto joined = launch_on_four_cubes([] {
    std::vector<Tensor> parts;
    for (int i = 0; i < 8; ++i) parts.push_back(unset({128, 1024}));
    torch::cat(parts, 0);
  });
  EXPECT_LE(copy_time_of(joined), 1.3 * plain_copy(1024 * 1024));
}

TEST(LibraryCopies, ManyNarrowTensorsAreLoadedInOnePipeline) {
  const auto joined = launch_on_four_cubes([] {
    std::vector<Tensor> parts;
    for (int i = 0; i < 64; ++i) parts.push_back(unset({512, 16}));
    torch::cat(parts, 1);
  });
  EXPECT_LE(copy_time_of(joined), 2 * plain_copy(512 * 1024));
}

TEST(LibraryCopies, GapsAreStoredWhereThatIsShorter) {
  tile::library::MachineLimits limits{.tcm = 1 << 20, .access = 64, .walk = 1e9, .lane = 0, .narrowest = 4};
  const auto tensor = [](DType dtype) {
    auto descriptor = std::make_shared<addressing::TensorDescriptor>();
    descriptor->dtype = dtype;
    descriptor->shape = {64, 64};
    return tl::Tensor(descriptor);
  };
  const auto lanes = [&](DType dtype, std::int64_t step) {
    tile::library::View view = tile::library::view_of(tensor(dtype));
    view.sizes = {64, 64 / step};
    view.strides = {64, step};
    return tile::library::lanes_of_store(view, limits);
  };
  EXPECT_EQ(lanes(DType::f32, 1), 1);
  EXPECT_EQ(lanes(DType::f32, 2), 2);
  EXPECT_EQ(lanes(DType::f32, 16), 1) << "as many bytes as an access";
  EXPECT_EQ(lanes(DType::u8, 32), 32);
  limits.lane = 4;  // to copy a lane takes as long as to move an f32
  EXPECT_EQ(lanes(DType::f32, 4), 4);
  EXPECT_EQ(lanes(DType::f32, 8), 1) << "copied and moved";
  EXPECT_EQ(lanes(DType::u8, 32), 1) << "an element has a lane of its own";
}

TEST(LibraryCopies, RunsAndGapsAreThoseOfAShard) {
  const tile::library::MachineLimits limits{.tcm = 1 << 20, .access = 64, .walk = 1e9, .lane = 0, .narrowest = 4};
  auto descriptor = std::make_shared<addressing::TensorDescriptor>();
  descriptor->shape = {64, 8};
  for (std::int64_t column = 0; column < 8; column += 2) {
    addressing::Shard& shard = descriptor->shards.emplace_back();
    shard.offset = {0, column};
    shard.shape = {64, 2};
  }
  tile::library::View view = tile::library::view_of(tl::Tensor(descriptor));
  EXPECT_EQ(tile::library::run_of(view, {16, 2}), 32) << "rows of two elements follow each other";
  EXPECT_EQ(tile::library::run_of(view, {16, 8}), 32) << "a run ends with its shard";
  EXPECT_EQ(tile::library::run_of(view, {16, 1}), 1);
  EXPECT_EQ(tile::library::lanes_of_store(view, limits), 1);
  view.sizes = {64, 4};
  view.strides = {8, 2};
  EXPECT_EQ(tile::library::lanes_of_store(view, limits), 2) << "one of the two columns of a shard";
}

/// A tensor in a grid of shards of equal size, one on each PE of a cube in turn.
tl::Tensor in_grid(const tl::Extents& shape, std::int64_t down, std::int64_t across) {
  auto descriptor = std::make_shared<addressing::TensorDescriptor>();
  descriptor->shape.assign(shape.begin(), shape.end());
  for (std::int64_t i = 0; i < down * across; ++i) {
    addressing::Shard& shard = descriptor->shards.emplace_back();
    shard.owner.pe = PeId{static_cast<std::int32_t>(i)};
    shard.shape = {shape[0] / down, shape[1] / across};
    shard.offset = {i / across * shard.shape[0], i % across * shard.shape[1]};
  }
  return tl::Tensor(descriptor);
}

tile::library::View repeated(const tl::Tensor& tensor, const tl::Extents& sizes, const tl::Extents& strides) {
  return {tensor, sizes, strides, 0};
}

// No two programs have both the same rows and the same columns.
TEST(LibraryCopies, OfOperandsWithOtherReadersThoseThatSaveMostAreShared) {
  topology::Topology topology = topology::load_topology("tiny");
  topology.pe.mmu.miss = Time::picoseconds(1);  // to load together is always worth it
  const tl::Extents sizes{512, 8192};
  const tile::library::View out = tile::library::view_of(in_grid(sizes, 4, 2));
  const tile::library::View row = repeated(in_grid({1, 8192}, 1, 8), sizes, {0, 1});
  const tile::library::View column = repeated(in_grid({512, 1}, 8, 1), sizes, {1, 0});
  const auto made = tile::library::held_boxes(out);
  const auto shared = [&](const std::vector<tile::library::View>& operands) {
    return tile::library::shared_loads(out, operands, made, 8, topology);
  };
  using Programs = std::vector<std::int64_t>;
  const auto groups = shared({row, column, row});
  EXPECT_EQ(groups.operands, (std::vector<bool>{true, false, true}));
  for (std::size_t program = 0; program < 8; ++program) {
    ASSERT_NE(groups.groups[program], nullptr) << program;
    EXPECT_EQ(groups.groups[program]->programs, program % 2 == 0 ? (Programs{0, 2, 4, 6}) : (Programs{1, 3, 5, 7}));
  }
  const auto by_row = shared({column}).groups;
  for (std::size_t program = 0; program < 8; ++program)
    EXPECT_EQ(by_row[program]->programs,
              (Programs{static_cast<std::int64_t>(program / 2 * 2), static_cast<std::int64_t>(program / 2 * 2 + 1)}));
}

TEST(LibraryCopies, TheSlicesOfABoxAreFoundWhereverTheLastOneWas) {
  const tile::library::View view = tile::library::view_of(in_grid({40, 60}, 4, 5));
  tile::library::SliceFinder finder(view);
  for (std::int64_t i = 0; i < 200; ++i) {
    const tile::library::Box box{{i * 7 % 33, i * 23 % 49}, {1 + i * 5 % 8, 1 + i % 12}};
    std::set<PeCoordinate> expected, found;
    for (const addressing::Shard& shard : view.tensor.descriptor().shards)
      if (tile::library::intersection({tl::Extents(std::span(shard.offset)), tl::Extents(std::span(shard.shape))}, box))
        expected.insert(shard.owner);
    ASSERT_TRUE(finder.add(box, found));
    EXPECT_EQ(found, expected) << i;
  }
}

}  // namespace
}  // namespace kernbench
