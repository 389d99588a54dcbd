// Lanes that meet each other, against plain loops: flip, gather, sort, topk, histogram, and reductions and scans by a
// function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "harness.h"

namespace kernbench::tile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Line = std::vector<Lane>;

/// A tile of at least one dimension, an axis of it, and the axis as a kernel may write it.
struct Case {
  Drawn x;
  int axis, written;
};

Case draw_case(Bench& bench, DType type, std::int64_t most = 200) {
  Sizes shape = bench.shape(most);
  if (shape.empty()) shape = {bench.below(7) + 1};
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = static_cast<int>(bench.below(rank));
  const auto written = static_cast<int>(bench.chance(2) ? axis : axis - rank);
  return {bench.draw(type, shape, bench.chance(2) ? Numbers::small : Numbers::all), axis, written};
}

/// Each line along the axis becomes what `change` makes of it: of `length` lanes.
HostTile by_lines(const HostTile& x, int axis, std::int64_t length, const std::function<Line(const Line&)>& change) {
  const auto along = static_cast<std::size_t>(axis);
  HostTile result{x.dtype, x.shape, {}};
  result.shape[along] = length;
  result.lanes.resize(static_cast<std::size_t>(numel(result.shape)));
  Sizes starts = x.shape;
  starts[along] = 1;
  for (std::int64_t i = 0; i < numel(starts); ++i) {
    Sizes at = coordinates(i, starts);
    Line line;
    for (std::int64_t k = 0; k < x.shape[along]; ++k) {
      at[along] = k;
      line.push_back(x.lanes[static_cast<std::size_t>(index_of(at, x.shape))]);
    }
    line = change(line);
    for (std::int64_t k = 0; k < length; ++k) {
      at[along] = k;
      result.lanes[static_cast<std::size_t>(index_of(at, result.shape))] = line[static_cast<std::size_t>(k)];
    }
  }
  return result;
}

TEST(TileLanes, FlipTurnsAnAxisRound) {
  run_cases(61, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 25; ++round) {
        const auto [x, axis, written] = draw_case(bench, type);
        const HostTile expected = by_lines(x.host, axis, x.host.shape[static_cast<std::size_t>(axis)],
                                           [](const Line& line) { return Line(line.rbegin(), line.rend()); });
        expect_same(tl::flip(x.tile, written), expected, "flip of " + describe(x.host));
      }
    }
    const auto row = bench.draw(DType::i32, {2, 3}, Numbers::small, false);
    expect_same(tl::flip(row.tile), look_at(tl::flip(row.tile, 1)), "the last dimension unless told otherwise");
  });
}

TEST(TileLanes, GatherTakesLanesByTheirPlaceAndNothingFromOutside) {
  run_cases(62, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 25; ++round) {
        const auto [x, axis, written] = draw_case(bench, type);
        const auto along = static_cast<std::size_t>(axis);
        Sizes shape = x.host.shape;
        shape[along] = bench.below(9) + 1;
        // Small numbers: some are below 0, some beyond the axis.
        const auto index = bench.draw(bench.chance(2) ? DType::i32 : DType::i8, shape, Numbers::small);
        HostTile expected{type, shape, {}};
        for (std::int64_t i = 0; i < numel(shape); ++i) {
          const Lane& place = index.host.lanes[static_cast<std::size_t>(i)];
          Sizes at = coordinates(i, shape);
          at[along] = static_cast<std::int64_t>(place.value);
          if (at[along] < 0 || at[along] >= x.host.shape[along]) {
            expected.lanes.push_back({0, false});
            continue;
          }
          Lane lane = x.host.lanes[static_cast<std::size_t>(index_of(at, x.host.shape))];
          lane.valid = lane.valid && place.valid;
          expected.lanes.push_back(lane);
        }
        expect_same(tl::gather(x.tile, index.tile, written), expected, "gather of " + describe(x.host));
      }
    }
  });
}

bool stands_before(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a < b;
}

/// By insertion, so that equal lanes keep their order.
Line sorted(const Line& line, bool descending) {
  Line result;
  bool valid = true;
  for (const Lane& lane : line) {
    valid = valid && lane.valid;
    auto place = result.end();
    const auto before = [&](const Lane& other) {
      return descending ? stands_before(other.value, lane.value) : stands_before(lane.value, other.value);
    };
    while (place != result.begin() && before(*std::prev(place))) --place;
    result.insert(place, lane);
  }
  for (Lane& lane : result) lane.valid = valid;
  return result;
}

TEST(TileLanes, SortAndTopkAreStableAndNanIsTheLargest) {
  run_cases(63, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 25; ++round) {
        const auto [x, axis, written] = draw_case(bench, type, 400);
        const std::int64_t length = x.host.shape[static_cast<std::size_t>(axis)];
        const bool descending = bench.chance(2);
        expect_same(tl::sort(x.tile, written, descending),
                    by_lines(x.host, axis, length, [&](const Line& line) { return sorted(line, descending); }),
                    "sort of " + describe(x.host));
        const std::int64_t k = bench.below(length) + 1;
        expect_same(tl::topk(x.tile, k, written),
                    by_lines(x.host, axis, k, [&](const Line& line) { return sorted(line, true); }),
                    "topk of " + describe(x.host));
      }
    }
  });
}

TEST(TileLanes, HistogramCountsWhatTheMaskLeaves) {
  run_cases(64, [](Bench& bench) {
    for (const DType type : kIntegers) {
      for (int round = 0; round < 40; ++round) {
        const auto x = bench.draw(type, bench.shape(), Numbers::small);
        const auto mask = bench.draw(DType::boolean, x.host.shape, Numbers::small, bench.chance(3));
        const std::int64_t bins = bench.below(10) + 1;
        for (const bool masked : {false, true}) {
          HostTile expected{DType::i32, {bins}, std::vector<Lane>(static_cast<std::size_t>(bins))};
          bool valid = true;
          for (std::size_t i = 0; i < x.host.lanes.size(); ++i) {
            if (masked) valid = valid && mask.host.lanes[i].valid;
            if (masked && mask.host.lanes[i].value == 0) continue;
            const Lane& lane = x.host.lanes[i];
            const bool counts = lane.value >= 0 && lane.value < static_cast<Real>(bins);
            valid = valid && lane.valid && counts;
            if (counts) expected.lanes[static_cast<std::size_t>(lane.value)].value += 1;
          }
          for (Lane& lane : expected.lanes) lane.valid = valid;
          expect_same(masked ? tl::histogram(x.tile, bins, mask.tile) : tl::histogram(x.tile, bins), expected,
                      "histogram of " + describe(x.host));
        }
        // All that is counted has a bin.
        const tl::Tile within = (x.tile >= 0) & (x.tile < bins);
        HostTile expected{DType::i32, {bins}, std::vector<Lane>(static_cast<std::size_t>(bins))};
        bool valid = true;
        for (const Lane& lane : x.host.lanes) {
          valid = valid && lane.valid;
          if (lane.value >= 0 && lane.value < static_cast<Real>(bins))
            expected.lanes[static_cast<std::size_t>(lane.value)].value += 1;
        }
        for (Lane& lane : expected.lanes) lane.valid = valid;
        expect_same(tl::histogram(x.tile, bins, within), expected, "histogram of what has a bin");
      }
    }
  });
}

/// x -> a x + b modulo 2^32: to combine them is associative, and the order matters.
using Affine = std::array<tl::Tile, 2>;
Affine after(const Affine& first, const Affine& second) {
  return {second[0] * first[0], second[0] * first[1] + second[1]};
}
std::array<Real, 2> after(const std::array<Real, 2>& first, const std::array<Real, 2>& second) {
  const auto whole = [](Real value) { return static_cast<std::int64_t>(value); };
  const auto wrapped = [](std::int64_t value) { return static_cast<Real>(wrap_to(value, DType::i32)); };
  return {wrapped(whole(second[0]) * whole(first[0])), wrapped(whole(second[0]) * whole(first[1]) + whole(second[1]))};
}

/// Of the lanes of a line of two tiles, one after the other: what all lanes up to each combine to.
std::array<Line, 2> running(const std::array<Line, 2>& lines) {
  std::array<Line, 2> result = lines;
  for (std::size_t k = 1; k < lines[0].size(); ++k) {
    const auto so_far = after(std::array{result[0][k - 1].value, result[1][k - 1].value},
                              std::array{lines[0][k].value, lines[1][k].value});
    // The first of a pair does not depend on the other tile.
    result[0][k] = {so_far[0], result[0][k - 1].valid && lines[0][k].valid};
    result[1][k] = {so_far[1], result[1][k - 1].valid && lines[0][k].valid && lines[1][k].valid};
  }
  return result;
}

/// The tiles of `pair`, each line along the axis changed together.
std::array<HostTile, 2> by_pairs(const std::array<HostTile, 2>& pair, int axis, std::int64_t length,
                                 const std::function<std::array<Line, 2>(const std::array<Line, 2>&)>& change) {
  std::vector<std::array<Line, 2>> lines;
  std::size_t next = 0;
  by_lines(pair[0], axis, length, [&](const Line& line) {
    lines.push_back({line, {}});
    return Line(static_cast<std::size_t>(length));
  });
  by_lines(pair[1], axis, length, [&](const Line& line) {
    lines[next++][1] = line;
    return Line(static_cast<std::size_t>(length));
  });
  for (auto& each : lines) each = change(each);
  std::array<HostTile, 2> result;
  for (std::size_t i = 0; i < 2; ++i) {
    next = 0;
    result[i] = by_lines(pair[i], axis, length, [&](const Line&) { return lines[next++][i]; });
  }
  return result;
}

TEST(TileLanes, ReduceAndScanCombineInOrderWhateverTheCount) {
  run_cases(65, [](Bench& bench) {
    const auto combine = [](const Affine& first, const Affine& second) { return after(first, second); };
    for (int round = 0; round < 120; ++round) {
      const auto [a, axis, written] = draw_case(bench, DType::i32);
      const auto b = bench.draw(DType::i32, a.host.shape, Numbers::small);
      const std::int64_t length = a.host.shape[static_cast<std::size_t>(axis)];
      const std::string text = "of " + describe(a.host) + " along " + std::to_string(axis);
      const std::array<HostTile, 2> host{a.host, b.host};

      const auto scanned = tl::associative_scan(Affine{a.tile, b.tile}, written, combine);
      const auto expected = by_pairs(host, axis, length, running);
      for (std::size_t i = 0; i < 2; ++i) expect_same(scanned[i], expected[i], "scan " + text);

      const auto backwards = tl::associative_scan(Affine{a.tile, b.tile}, written, combine, true);
      const auto expected_backwards = by_pairs(host, axis, length, [](std::array<Line, 2> lines) {
        for (Line& line : lines) std::ranges::reverse(line);
        lines = running(lines);
        for (Line& line : lines) std::ranges::reverse(line);
        return lines;
      });
      for (std::size_t i = 0; i < 2; ++i) expect_same(backwards[i], expected_backwards[i], "scan backwards " + text);

      const bool keep = bench.chance(2);
      const auto reduced = tl::reduce(Affine{a.tile, b.tile}, written, combine, keep);
      auto last = by_pairs(host, axis, 1, [](const std::array<Line, 2>& lines) {
        const auto all = running(lines);
        return std::array<Line, 2>{Line{all[0].back()}, Line{all[1].back()}};
      });
      for (std::size_t i = 0; i < 2; ++i) {
        if (!keep) last[i].shape.erase(last[i].shape.begin() + axis);
        expect_same(reduced[i], last[i], "reduce " + text);
      }
    }
  });
}

TEST(TileLanes, ReduceOverAllLanesGoesRowByRow) {
  run_cases(66, [](Bench& bench) {
    const auto later = [](const tl::Tile&, const tl::Tile& b) { return b; };
    const auto earlier = [](const tl::Tile& a, const tl::Tile&) { return a; };
    for (int round = 0; round < 60; ++round) {
      const auto x = bench.draw(DType::f16, bench.shape(), Numbers::all, false);
      const Sizes ones(x.host.shape.size(), 1);
      expect_same(tl::reduce(x.tile, std::nullopt, later), {DType::f16, {}, {x.host.lanes.back()}}, "the last");
      expect_same(tl::reduce(x.tile, std::nullopt, earlier, true), {DType::f16, ones, {x.host.lanes.front()}},
                  "the first");
      const auto bits = bench.draw(DType::i32, bench.shape(), Numbers::all, false);
      std::int64_t exclusive = 0, any = 0;
      for (const Lane& lane : bits.host.lanes) {
        exclusive ^= static_cast<std::int64_t>(lane.value);
        any |= static_cast<std::int64_t>(lane.value);
      }
      expect_same(tl::xor_sum(bits.tile), {DType::i32, {}, {{static_cast<Real>(exclusive)}}}, "xor_sum");
      expect_same(tl::reduce_or(bits.tile), {DType::i32, {}, {{static_cast<Real>(any)}}}, "reduce_or");
    }
  });
}

TEST(TileLanes, SumsInATypeThatIsAskedFor) {
  run_cases(68, [](Bench& bench) {
    for (const DType type : {DType::i8, DType::i32, DType::i64}) {
      // Whole numbers, which every order adds up to the same; in 8 bits they wrap.
      const auto x = bench.draw(DType::i32, {5, 40}, Numbers::small, false);
      HostTile sums{type, {5}, {}}, running{type, {5, 40}, {}};
      for (std::int64_t row = 0; row < 5; ++row) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < 40; ++i) {
          sum += static_cast<std::int64_t>(x.host.lanes[static_cast<std::size_t>(row * 40 + i)].value);
          const Real wrapped = static_cast<Real>(wrap_to(sum, type));
          running.lanes.push_back({wrapped});
          if (i == 39) sums.lanes.push_back({wrapped});
        }
      }
      expect_same(tl::sum(x.tile, 1, false, type), sums, "sum");
      expect_same(tl::cumsum(x.tile, 1, false, type), running, "cumsum");
    }
    const auto large = tl::full({3}, 2'000'000'000, DType::i32);
    expect_same(tl::sum(large, std::nullopt, true, DType::i64), {DType::i64, {1}, {{Real{6'000'000'000}}}}, "wide");
  });
}

TEST(TileLanes, WhatTheStandardLibraryMakesOfOthers) {
  run_cases(67, [](Bench& bench) {
    for (int round = 0; round < 40; ++round) {
      Sizes shape = bench.shape();
      const auto a = bench.draw(DType::i32, shape), b = bench.draw(DType::i32, shape);
      expect_same(tl::umulhi(a.tile, b.tile),
                  elementwise({&a.host, &b.host}, DType::i32,
                              [](const std::vector<Real>& lanes) {
                                const auto bits = [](Real value) {
                                  return std::uint64_t{static_cast<std::uint32_t>(static_cast<std::int64_t>(value))};
                                };
                                const auto upper = static_cast<std::uint32_t>(bits(lanes[0]) * bits(lanes[1]) >> 32);
                                return Lane{static_cast<Real>(static_cast<std::int32_t>(upper))};
                              }),
                  "umulhi of " + describe(a.host));
      if (shape.empty()) continue;
      HostTile both{DType::i32, shape, {}};
      both.shape.back() *= 2;
      for (std::size_t i = 0; i < a.host.lanes.size(); ++i) {
        both.lanes.push_back(a.host.lanes[i]);
        both.lanes.push_back(b.host.lanes[i]);
      }
      expect_same(tl::interleave(a.tile, b.tile), both, "interleave");
    }
    const auto x = bench.draw(DType::f32, {5, 33}, Numbers::small, false);
    const HostTile found = look_at(tl::softmax(x.tile, 1));
    for (std::int64_t row = 0; row < 5; ++row) {
      const auto lane = [&](const HostTile& tile, std::int64_t i) {
        return tile.lanes[static_cast<std::size_t>(row * 33 + i)].value;
      };
      Real sum = 0;
      for (std::int64_t i = 0; i < 33; ++i) sum += std::exp(lane(x.host, i));
      for (std::int64_t i = 0; i < 33; ++i)
        EXPECT_NEAR(static_cast<double>(lane(found, i)), static_cast<double>(std::exp(lane(x.host, i)) / sum), 1e-6);
    }
  });
}

TEST(TileLanes, TheLargestAndTheSmallestLaneComeWithTheirIndices) {
  run_cases(71, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 20; ++round) {
        Sizes shape = bench.shape();
        if (shape.empty()) continue;
        const auto rank = static_cast<std::int64_t>(shape.size());
        const auto axis = static_cast<int>(bench.below(rank));
        const auto written = static_cast<int>(bench.chance(2) ? axis : axis - rank);
        const Drawn x = bench.draw(type, shape, Numbers::small);
        const bool largest = bench.chance(2), keep = bench.chance(2);
        // Of equal ones the leftmost, of NaN and a number the number; one invalid lane makes both results invalid.
        const auto best = [largest](const Line& line) {
          std::size_t at = 0;
          bool valid = true;
          for (std::size_t i = 0; i < line.size(); ++i) {
            const Real value = line[i].value, before = line[at].value;
            valid = valid && line[i].valid;
            if (std::isnan(before) ? !std::isnan(value) : largest ? value > before : value < before) at = i;
          }
          return std::pair(Lane{line[at].value, valid}, Lane{static_cast<Real>(at), valid});
        };
        HostTile value = by_lines(x.host, axis, 1, [&](const Line& line) { return Line{best(line).first}; });
        HostTile index = by_lines(x.host, axis, 1, [&](const Line& line) { return Line{best(line).second}; });
        index.dtype = DType::i32;
        if (!keep) {
          value.shape.erase(value.shape.begin() + axis);
          index.shape = value.shape;
        }
        const auto found =
            largest ? tl::max_with_index(x.tile, written, keep) : tl::min_with_index(x.tile, written, keep);
        expect_same(found.first, value, "value of " + describe(x.host));
        expect_same(found.second, index, "index of " + describe(x.host));
      }
    }
    const auto with_nan = tl::where(tl::arange(0, 5) == 1, std::numeric_limits<float>::quiet_NaN(),
                                    tl::cast(tl::arange(0, 5), DType::f32));
    expect_same(tl::max_with_index(with_nan, 0).second, {DType::i32, {}, {{Real{4}}}}, "NaN is ignored");
    expect_same(tl::min_with_index(with_nan, 0).first, {DType::f32, {}, {{Real{0}}}}, "NaN is ignored");
  });
}

TEST(TileLanes, BroadcastBringsTwoTilesToOneShape) {
  run_cases(73, [](Bench& bench) {
    for (int round = 0; round < 60; ++round) {
      const Sizes shape = bench.shape();
      const auto a = bench.draw(DType::f32, shape), b = bench.draw(DType::i32, bench.partner(shape));
      const Sizes whole = broadcast(a.host.shape, b.host.shape);
      const auto repeated = [&](const HostTile& x) {
        HostTile result{x.dtype, whole, {}};
        for (std::int64_t i = 0; i < numel(whole); ++i) result.lanes.push_back(x.lanes[source_of(i, whole, x.shape)]);
        return result;
      };
      const auto [left, right] = tl::broadcast(a.tile, b.tile);
      expect_same(left, repeated(a.host), "the first of " + describe(a.host) + " and " + describe(b.host));
      expect_same(right, repeated(b.host), "the second of " + describe(a.host) + " and " + describe(b.host));
    }
  });
}

TEST(TileLanes, Swizzle2dGoesThroughGroupsOfRowsColumnByColumn) {
  for (const auto [rows, columns, group] : {std::array{5, 3, 2}, std::array{4, 4, 4}, std::array{1, 7, 3}}) {
    std::vector<std::pair<std::int64_t, std::int64_t>> expected, found;
    for (int first = 0; first < rows; first += group)
      for (int j = 0; j < columns; ++j)
        for (int i = first; i < std::min(first + group, rows); ++i) expected.emplace_back(i, j);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) found.push_back(tl::swizzle2d(i, j, rows, columns, group));
    EXPECT_EQ(found, expected);
  }
}

TEST(TileLanes, WrongUsesSayWhatFits) {
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile b) { tl::gather(a, b, 0); }),
              HasSubstr("tl::gather: indices are integers, not f32; cast them"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile b) { tl::gather(a, tl::cast(b, DType::i32), 1); }),
              HasSubstr("tl::gather: indices of shape [3, 4] for a tile of shape [2, 3]: they must agree but for "
                        "dimension 1"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::topk(a, 4); }),
              HasSubstr("tl::topk: k is 4; dimension 1 of shape [2, 3] has 1 to 3 lanes to choose"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::histogram(tl::cast(a, DType::i32), 0); }),
              HasSubstr("tl::histogram: 0 bins; there must be at least one"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::sort(a, 2); }), HasSubstr("tl::sort: "));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) {
                tl::reduce(a, 0, [](const tl::Tile& x, const tl::Tile&) { return tl::cast(x, DType::f16); });
              }),
              HasSubstr("tl::reduce: combine makes a tile of type f16 and shape [1, 3] of two of type f32 and shape "
                        "[1, 3]; it must keep both"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) {
                tl::associative_scan(a, 1, [](const tl::Tile&, const tl::Tile&) { return tl::Tile(); });
              }),
              HasSubstr("tl::associative_scan: combine makes an empty tile; it must return one"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile b) {
                tl::reduce(std::array{a, b}, 0,
                           [](const std::array<tl::Tile, 2>& x, const std::array<tl::Tile, 2>&) { return x; });
              }),
              HasSubstr("tl::reduce: tiles of shapes [2, 3] and [3, 4] cannot be combined together; give them one "
                        "shape"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::softmax(a, 7); }), HasSubstr("tl::softmax: "));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::max_with_index(a, 2); }),
              HasSubstr("tl::max_with_index: axis 2 is out of range for a tile of shape [2, 3]"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::min_with_index(a, -3); }),
              HasSubstr("tl::min_with_index: axis -3 is out of range for a tile of shape [2, 3]"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) {
                tl::Tile kept;
                tl::reduce(a, 0, [&](const tl::Tile& x, const tl::Tile& y) {
                  kept = x + y;
                  return kept * 2;
                });
              }),
              AllOf(HasSubstr("tl::reduce: the value of add at lanes_test.cpp:"),
                    HasSubstr("has a handle outside of the scope")));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile b) { tl::broadcast(a, b); }),
              HasSubstr("tl::broadcast: shapes [2, 3] and [3, 4] do not broadcast"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) { tl::umulhi(a, a); }),
              HasSubstr("tl::umulhi: an operand is f32; both must be i32"));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) {
                tl::item<float>(tl::sum(tl::gather(a, tl::full({1, 3}, 2, DType::i32), 0)));
              }),
              HasSubstr("the gather at "));
  EXPECT_THAT(kernel_error([](tl::Tile a, tl::Tile) {
                tl::item<float>(tl::sum(tl::gather(a, tl::full({1, 3}, 2, DType::i32), 0)));
              }),
              HasSubstr("has indices outside of the axis; keep them within 0 and its extent"));
  EXPECT_THAT(
      kernel_error([](tl::Tile, tl::Tile) { tl::item<std::int32_t>(tl::sum(tl::histogram(tl::arange(0, 4), 3))); }),
      HasSubstr("counts numbers that are none of its bins; mask them off, or give it more bins"));
}

}  // namespace
}  // namespace kernbench::tile_test
