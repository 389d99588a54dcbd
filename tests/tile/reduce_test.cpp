// Reductions and running sums against plain loops in the documented order.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness.h"

namespace kernbench::tile_test {
namespace {

DType sum_type(DType type) {
  return type == DType::boolean || type == DType::i8 || type == DType::u8 ? DType::i32 : type;
}

float add(float a, float b) {
  return a + b;
}

/// Blocks of 8 from left to right, then neighbours in pairs, an odd one moving up: docs/model-numerics.md.
float tree_sum(const std::vector<Real>& values) {
  std::vector<float> partial;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (i % 8 == 0)
      partial.push_back(value);
    else
      partial.back() = add(partial.back(), value);
  }
  while (partial.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i < partial.size(); i += 2) {
      next.push_back(i + 1 < partial.size() ? add(partial[i], partial[i + 1]) : partial[i]);
    }
    partial = next;
  }
  return partial.front();
}

Real sum_of(const std::vector<Real>& values, DType type) {
  if (is_float(type)) return round_to(tree_sum(values), type);
  std::uint64_t sum = 0;
  for (const Real value : values) sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return static_cast<Real>(wrap_to(static_cast<std::int64_t>(sum), sum_type(type)));
}

/// Index of the lane that no other one beats; of equal ones the first; NaN lanes do not count unless all are.
std::size_t best(const std::vector<Real>& values, bool largest) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (std::isnan(values[at]) || (largest ? values[i] > values[at] : values[i] < values[at])) at = i;
  }
  return at;
}
/// The value of the best lane; among zeros -0 < +0.
Real extreme(const std::vector<Real>& values, bool largest) {
  Real result = values[best(values, largest)];
  for (const Real value : values) {
    if (value == 0 && result == 0 && std::signbit(value) != largest) result = value;
  }
  return result;
}

struct ReduceCase {
  const char* name;
  std::function<tl::Tile(const tl::Tile&, std::optional<int>, bool)> compute;
  std::function<DType(DType)> yields;
  std::function<Real(const std::vector<Real>&, DType)> reference;
};

using Axis = std::optional<int>;
const std::vector<ReduceCase>& reduce_cases() {
  const auto same_type = [](DType type) { return type; };
  const auto index = [](DType) { return DType::i32; };
  static const std::vector<ReduceCase> cases{
      {"sum", [](const tl::Tile& x, Axis axis, bool keep) { return tl::sum(x, axis, keep); }, sum_type, sum_of},
      {"max", [](const tl::Tile& x, Axis axis, bool keep) { return tl::max(x, axis, keep); }, same_type,
       [](const std::vector<Real>& v, DType) { return extreme(v, true); }},
      {"min", [](const tl::Tile& x, Axis axis, bool keep) { return tl::min(x, axis, keep); }, same_type,
       [](const std::vector<Real>& v, DType) { return extreme(v, false); }},
      {"argmax", [](const tl::Tile& x, Axis axis, bool keep) { return tl::argmax(x, axis, keep); }, index,
       [](const std::vector<Real>& v, DType) { return static_cast<Real>(best(v, true)); }},
      {"argmin", [](const tl::Tile& x, Axis axis, bool keep) { return tl::argmin(x, axis, keep); }, index,
       [](const std::vector<Real>& v, DType) { return static_cast<Real>(best(v, false)); }}};
  return cases;
}

HostTile reduced(const HostTile& x, const ReduceCase& what, std::optional<int> axis, bool keep) {
  HostTile result{what.yields(x.dtype), {}, {}};
  Sizes kept;  // the shape with the reduced extents as 1
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const bool gone = !axis || static_cast<int>(d) == *axis;
    kept.push_back(gone ? 1 : x.shape[d]);
    if (!gone || keep) result.shape.push_back(kept.back());
  }
  std::vector<std::vector<Real>> groups(static_cast<std::size_t>(numel(kept)));
  result.lanes.resize(groups.size());
  for (std::int64_t i = 0; i < numel(x.shape); ++i) {
    const std::size_t to = source_of(i, x.shape, kept);
    const Lane& lane = x.lanes[static_cast<std::size_t>(i)];
    groups[to].push_back(lane.value);
    if (!lane.valid) result.lanes[to].valid = false;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) result.lanes[i].value = what.reference(groups[i], x.dtype);
  return result;
}

TEST(TileReduce, EachAxisAndAllInTheDocumentedOrder) {
  run_cases(21, [](Bench& bench) {
    for (const auto& what : reduce_cases()) {
      for (const DType type : kTypes) {
        for (int round = 0; round < 12; ++round) {
          const auto x = bench.draw(type, bench.shape(600), round % 3 == 0 ? Numbers::small : Numbers::all);
          const auto rank = static_cast<int>(x.host.shape.size());
          const bool keep = bench.chance(2);
          const std::string text = std::string(what.name) + " of " + describe(x.host);
          expect_same(what.compute(x.tile, std::nullopt, keep), reduced(x.host, what, std::nullopt, keep), text);
          for (int axis = 0; axis < rank; ++axis) {
            expect_same(what.compute(x.tile, bench.chance(2) ? axis : axis - rank, keep),
                        reduced(x.host, what, axis, keep), text + " over " + std::to_string(axis));
          }
        }
      }
    }
  });
}

TEST(TileReduce, LongSumsOfAllTypes) {
  run_cases(22, [](Bench& bench) {
    for (const DType type : kTypes) {
      const auto x = bench.draw(type, {2999}, Numbers::small, false);
      expect_same(tl::sum(x.tile), reduced(x.host, reduce_cases()[0], std::nullopt, false), name(type));
    }
  });
}

HostTile running_sums(const HostTile& x, int axis, bool reverse) {
  HostTile result{sum_type(x.dtype), x.shape, x.lanes};
  const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
  for (std::int64_t i = 0; i < numel(x.shape); ++i) {
    const Sizes at = coordinates(i, x.shape);
    const std::int64_t end = at[static_cast<std::size_t>(axis)];
    float sum = 0;
    std::uint64_t whole = 0;
    bool valid = true, first = true;
    for (std::int64_t k = reverse ? extent - 1 : 0; reverse ? k >= end : k <= end; k += reverse ? -1 : 1) {
      Sizes from = at;
      from[static_cast<std::size_t>(axis)] = k;
      const Lane& lane = x.lanes[static_cast<std::size_t>(index_of(from, x.shape))];
      valid = valid && lane.valid;
      if (is_float(x.dtype)) {
        sum = first ? static_cast<float>(lane.value) : add(sum, static_cast<float>(lane.value));
      } else {
        whole += static_cast<std::uint64_t>(static_cast<std::int64_t>(lane.value));
      }
      first = false;
    }
    const Real value = is_float(x.dtype) ? round_to(sum, x.dtype)
                                         : static_cast<Real>(wrap_to(static_cast<std::int64_t>(whole), result.dtype));
    result.lanes[static_cast<std::size_t>(i)] = {value, valid};
  }
  return result;
}

TEST(TileReduce, CumsumAddsOneLaneAfterTheOtherFromEitherEnd) {
  run_cases(23, [](Bench& bench) {
    for (const DType type : kTypes) {
      for (int round = 0; round < 40; ++round) {
        const auto x = bench.draw(type, bench.shape(), round % 3 == 0 ? Numbers::small : Numbers::all);
        const auto rank = static_cast<int>(x.host.shape.size());
        if (rank == 0) continue;
        const auto axis = static_cast<int>(bench.below(rank));
        const bool reverse = bench.chance(2);
        expect_same(tl::cumsum(x.tile, bench.chance(2) ? axis : axis - rank, reverse),
                    running_sums(x.host, axis, reverse), "cumsum of " + describe(x.host));
      }
    }
  });
}

}  // namespace
}  // namespace kernbench::tile_test
