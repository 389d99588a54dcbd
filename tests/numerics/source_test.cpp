// What made lanes invalid, through every operation that hands lanes on.
#include "numerics/memory/source.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "numerics/memory/masked_transfer.h"
#include "numerics/memory/memory.h"
#include "numerics/memory/source_ranges.h"
#include "support.h"

namespace kernbench::numerics {
namespace {

Source named(const char* operation, Cause cause = Cause::given) {
  return {.cause = cause, .operation = operation, .work = nullptr, .where = {}};
}

/// Of each lane '.' when it is valid, else the first letter of its source's operation ('?' without one).
std::string sources(Executor& executor, const Value& value) {
  const TileView tile = view(executor, value);
  std::string text;
  for (std::int64_t lane = 0; lane < value.numel(); ++lane) {
    if (tile.valid(lane)) {
      text += '.';
      continue;
    }
    const char* operation = tile.source(lane).operation;
    text += operation != nullptr ? operation[0] : '?';
  }
  return text;
}

Cause cause(Executor& executor, const Value& value, std::int64_t lane = 0) {
  return view(executor, value).source(lane).cause;
}

/// An i32 tile whose lanes are valid at '.', and made invalid by the operation of that letter elsewhere.
Value lanes(Executor& executor, const std::string& text, DType dtype = DType::i32, Shape shape = {}) {
  static const char* const kNames[] = {"a", "b", "c", "m"};
  if (shape.rank() == 0) shape = Shape{static_cast<std::int64_t>(text.size())};
  Value result = cast(executor, full(executor, shape, DType::i32, 1), dtype);
  for (const char* name : kNames) {
    std::vector<std::uint8_t> kept;
    for (const char letter : text) kept.push_back(letter != name[0]);
    std::vector<std::byte> mask(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) mask[i] = static_cast<std::byte>(kept[i]);
    const SourceScope here(executor.sources(), named(name));
    result = mask_lanes(executor, result, from_bytes(executor, DType::boolean, shape, mask));
  }
  return result;
}

class Sources : public ::testing::TestWithParam<int> {
 protected:
  Executor executor_{GetParam(), true};
  Value of(const std::string& text, DType dtype = DType::i32, const Shape& shape = {}) {
    return lanes(executor_, text, dtype, shape);
  }
  std::string text(const Value& value) { return sources(executor_, value); }
};

TEST_P(Sources, OperationsThatMakeLanesInvalidAreTheirSource) {
  const Value zero = test::tile(executor_, DType::i32, Shape{2}, {0, 1});
  const SourceScope here(executor_.sources(), named("x"));
  const auto made = [&](BinaryOperation operation, const Argument& b) {
    return binary(executor_, operation, test::tile(executor_, DType::i32, Shape{2}, {7, 7}), b, DType::i32);
  };
  const Value quotient = made(BinaryOperation::truncate_divide, zero), rest = made(BinaryOperation::fmod, zero);
  const Value shifted = made(BinaryOperation::shift_left, test::tile(executor_, DType::i32, Shape{2}, {32, 31}));
  EXPECT_EQ(text(quotient), "x.");
  EXPECT_EQ(cause(executor_, quotient), Cause::divide_by_zero);
  EXPECT_EQ(text(rest), "x.");
  EXPECT_EQ(cause(executor_, rest), Cause::remainder_by_zero);
  EXPECT_EQ(text(shifted), "x.");
  EXPECT_EQ(cause(executor_, shifted), Cause::shift_count);
  const Value nothing = reduce(executor_, ReduceOperation::argmax, full(executor_, Shape{0}, DType::i32, 0),
                               std::nullopt, false, DType::i32);
  EXPECT_EQ(text(nothing), "x");
  EXPECT_EQ(cause(executor_, nothing), Cause::no_lanes);
}

TEST_P(Sources, TheSourceIsThatOfTheSubmissionNotOfTheExecution) {
  Value quotient;
  {
    const SourceScope here(executor_.sources(), named("x"));
    quotient = binary(executor_, BinaryOperation::truncate_divide, of(".."), 0, DType::i32);
  }
  const SourceScope later(executor_.sources(), named("y"));
  EXPECT_EQ(text(quotient), "xx");
}

TEST_P(Sources, ALaneThatDependsOnInvalidOnesHasTheFirstOfThem) {
  const SourceScope here(executor_.sources(), named("x"));
  const Value left = of("ab."), right = of("c.c");
  EXPECT_EQ(text(binary(executor_, BinaryOperation::add, left, right, DType::i32)), "abc");
  EXPECT_EQ(text(binary(executor_, BinaryOperation::add, right, left, DType::i32)), "cbc");
  EXPECT_EQ(text(binary(executor_, BinaryOperation::truncate_divide, left, 0, DType::i32)), "abx");
  EXPECT_EQ(text(fma(executor_, of("..."), right, left, DType::i32)), "cbc");
  EXPECT_EQ(text(clamp(executor_, left, 0, right, DType::i32)), "abc");
  EXPECT_EQ(text(unary(executor_, UnaryOperation::negate, left, DType::i32)), "ab.");
  EXPECT_EQ(text(cast(executor_, left, DType::f16)), "ab.");
  EXPECT_EQ(text(bitcast(executor_, left, DType::f32)), "ab.");
  const Value condition = cast(executor_, of("m.."), DType::boolean);
  EXPECT_EQ(text(where(executor_, condition, left, right, DType::i32)), "mb.");
  EXPECT_EQ(text(binary(executor_, BinaryOperation::add, of("a."), of("b.", DType::i32, Shape{2, 1}), DType::i32)),
            "aba.");
}

TEST_P(Sources, ReductionsScansAndProductsHandThemOn) {
  const Value x = of(".ab...", DType::i32, Shape{2, 3});
  EXPECT_EQ(text(reduce(executor_, ReduceOperation::sum, x, 1, false, DType::i32)), "a.");
  EXPECT_EQ(text(reduce(executor_, ReduceOperation::sum, x, 0, false, DType::i32)), ".ab");
  EXPECT_EQ(text(reduce(executor_, ReduceOperation::argmax, x, 0, false, DType::i32)), ".ab");
  EXPECT_EQ(text(cumsum(executor_, x, 1, false, DType::i32)), ".aa...");
  EXPECT_EQ(text(cumsum(executor_, x, 1, true, DType::i32)), "bbb...");
  const Value y = of("..c...", DType::i32, Shape{3, 2});
  EXPECT_EQ(text(dot(executor_, x, y, {}, DType::i32)), "aac.");
  EXPECT_EQ(text(dot(executor_, x, y, of("m..m", DType::i32, Shape{2, 2}), DType::i32)), "macm");
}

TEST_P(Sources, LargeProductsHandThemOn) {
  const std::int64_t n = 320;
  std::string rows(static_cast<std::size_t>(n * n), '.'), columns = rows;
  rows[static_cast<std::size_t>(5 * n + 7)] = 'a';
  columns[static_cast<std::size_t>(9 * n + 11)] = 'b';
  const Shape square{n, n};
  const std::string product =
      text(dot(executor_, of(rows, DType::f32, square), of(columns, DType::f32, square), {}, DType::f32));
  EXPECT_EQ(product[static_cast<std::size_t>(5 * n)], 'a');
  EXPECT_EQ(product[static_cast<std::size_t>(11)], 'b');
  EXPECT_EQ(product[static_cast<std::size_t>(5 * n + 11)], 'a');
  EXPECT_EQ(product[static_cast<std::size_t>(6 * n)], '.');
}

TEST_P(Sources, ChangesOfShapeHandThemOn) {
  const Value x = of("a.b..c", DType::i32, Shape{2, 3});
  EXPECT_EQ(text(transpose(executor_, x)), "a...bc");
  EXPECT_EQ(text(reshape(executor_, x, Shape{6})), "a.b..c");
  EXPECT_EQ(text(narrow(executor_, x, 1, 1, 2)), ".b.c");
  const Value parts[] = {x, of("...", DType::i32, Shape{1, 3}), of("c..", DType::i32, Shape{1, 3})};
  EXPECT_EQ(text(cat(executor_, parts, 0)), "a.b..c...c..");
  EXPECT_EQ(text(broadcast_to(executor_, of("a."), Shape{2, 2})), "a.a.");
}

TEST_P(Sources, MemoryRemembersThem) {
  Memory memory(executor_);
  memory.map(0, 64);
  const Piece four{&memory, 0, 1, 16, 0, 0, 0}, six{&memory, 0, 1, 24, 0, 0, 0};
  scatter(executor_, {}, of("a.bb"), std::span(&four, 1));
  const SourceScope here(executor_.sources(), named("load"));
  const Value loaded = gather(executor_, {}, DType::i32, Shape{8}, std::span(&six, 1));
  EXPECT_EQ(text(loaded), "a.bbllll");
  EXPECT_EQ(cause(executor_, loaded, 4), Cause::never_written);
  EXPECT_EQ(cause(executor_, loaded, 6), Cause::outside);
  EXPECT_EQ(
      cause(executor_, gather(executor_, {}, DType::i32, Shape{7}, std::span(&six, 1), std::nullopt, Cause::masked), 6),
      Cause::masked);
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{8}, std::span(&six, 1), Scalar(0))), "a.bbll..");
  // Halves of an element, and memory that is written again.
  EXPECT_EQ(text(gather(executor_, {}, DType::i64, Shape{2}, std::span(&four, 1))), "ab");
  scatter(executor_, {}, of("..c."), std::span(&four, 1));
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{6}, std::span(&six, 1))), "..c.ll");
  memory.write(0, std::vector<std::byte>(24));
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{6}, std::span(&six, 1))), "......");
  scatter(executor_, {}, of("aaaa"), std::span(&four, 1));
  memory.write(0, std::vector<std::byte>(8), std::vector<std::uint8_t>(8));
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{4}, std::span(&four, 1))), "llaa");
}

TEST_P(Sources, MasksOfAccessesAreSourcesToo) {
  Memory memory(executor_);
  memory.map(0, 64, true);
  const Piece piece{&memory, 0, 1, 12, 0, 0, 0};
  const std::span<const Piece> three(&piece, 1);
  const Value mask = test::tile(executor_, DType::boolean, Shape{4}, {1, 0, 1, 1});
  scatter(executor_, {}, of("aaa"), three, test::tile(executor_, DType::boolean, Shape{3}, {1, 0, 0}));
  scatter_masked(executor_, {}, of("..b"), three, test::tile(executor_, DType::boolean, Shape{3}, {0, 0, 1}));
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{3}, three)), "a.b");
  const SourceScope here(executor_.sources(), named("load"));
  const Value loaded = gather_masked(executor_, {}, DType::i32, Shape{4}, three, mask, {});
  EXPECT_EQ(text(loaded), "albl");
  EXPECT_EQ(cause(executor_, loaded, 1), Cause::masked);
  EXPECT_EQ(cause(executor_, loaded, 3), Cause::outside);
  EXPECT_EQ(text(gather_masked(executor_, {}, DType::i32, Shape{4}, three, mask, of(".c.c"))), "acbc");
  scatter(executor_, {}, of("..."), three, cast(executor_, of("m.."), DType::boolean));
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{3}, three)), "m..");
}

TEST_P(Sources, AtomicsHandThemOnAndLeaveThemInMemory) {
  Memory memory(executor_);
  memory.map(0, 64);
  const Piece piece{&memory, 0, 1, 16, 0, 0, 0};
  const std::span<const Piece> four(&piece, 1);
  scatter(executor_, {}, of("a...", DType::i32), four, test::tile(executor_, DType::boolean, Shape{4}, {1, 1, 0, 1}));
  Value old;
  {
    const SourceScope here(executor_.sources(), named("x"));
    const Value mask = cast(executor_, test::tile(executor_, DType::i32, Shape{4}, {1, 1, 1, 0}), DType::boolean);
    old = atomic(executor_, {}, AtomicOperation::add, four, of("bb.b"), {}, mask, DType::i32, Shape{4});
    EXPECT_EQ(text(old), "a.xx");
    EXPECT_EQ(cause(executor_, old, 2), Cause::never_written);
    EXPECT_EQ(cause(executor_, old, 3), Cause::masked_atomic);
  }
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{4}, four)), "abx.");
  const Value exchanged = atomic(executor_, {}, AtomicOperation::exchange, four, of("...c"), {},
                                 cast(executor_, of("..m."), DType::boolean), DType::i32, Shape{4});
  EXPECT_EQ(text(exchanged), "abm.");
  EXPECT_EQ(text(gather(executor_, {}, DType::i32, Shape{4}, four)), "..mc");
}

TEST_P(Sources, ValuesWithoutInvalidLanesHaveNone) {
  Memory memory(executor_);
  memory.map(0, 64, true);
  const Piece piece{&memory, 0, 1, 16, 0, 0, 0};
  const Value x = gather_masked(executor_, {}, DType::i32, Shape{4}, std::span(&piece, 1),
                                cast(executor_, full(executor_, Shape{4}, DType::i32, 1), DType::boolean), {});
  for (const Value& value :
       {x, binary(executor_, BinaryOperation::truncate_divide, x, 3, DType::i32),
        reduce(executor_, ReduceOperation::argmax, x, 0, false, DType::i32), cat(executor_, std::vector{x, x}, 0)}) {
    EXPECT_TRUE(view(executor_, value).sources.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Sources, ::testing::Values(1, 4));

TEST(SourceTable, EqualSourcesHaveEqualNumbers) {
  SourceTable table;
  const SourceId one = table.id_of(named("x", Cause::masked));
  EXPECT_NE(one, kValid);
  EXPECT_EQ(table.id_of(named("x", Cause::masked)), one);
  EXPECT_NE(table.id_of(named("x", Cause::outside)), one);
  EXPECT_EQ(table.at(one), named("x", Cause::masked));
  const std::source_location here = std::source_location::current();
  EXPECT_NE(table.id_of({.cause = Cause::masked, .operation = "x", .work = nullptr, .where = here}), one);
}

class NoNames final : public PlaceNames {
 public:
  std::string name(std::size_t, std::int64_t) const override { return ""; }
};

TEST(SourceTable, PlacesThatNobodyHadWrittenAreKeptForTheFirstReadsOfALineInAllWork) {
  constexpr std::int64_t kMost = SourceTable::kNamedReads;
  SourceTable table;
  const auto names = std::make_shared<NoNames>();
  std::set<SourceId> ids;
  const auto read = [&](const Source& source, std::int64_t place) {
    const SourceScope here(table, source);
    const SourceId id = OwnSource::of_read(table).never_written([&] { return NamedPlace{names, 0, place}; });
    ids.insert(id);
    return table.at(id);
  };
  const Source load = named("load", Cause::never_written);
  for (std::int64_t i = 0; i < kMost; ++i) EXPECT_EQ(read(load, i).unwritten.offset, i);
  const long kept = names.use_count();
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(read(load, kMost + i), load) << "without a place";
  Source of_other_work = load;
  of_other_work.work = "later";
  EXPECT_EQ(read(of_other_work, 0), of_other_work);
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()), kMost + 2);
  EXPECT_EQ(names.use_count(), kept);
  EXPECT_TRUE(read(named("gather"), 7).unwritten.names) << "each line has places of its own";
}

TEST(SourceTable, APlaceIsMadeOnceForAllThatATaskReads) {
  SourceTable table;
  const OwnSource own = OwnSource::of_read(table);
  int made = 0;
  const auto place = [&] { return NamedPlace{nullptr, 0, ++made}; };
  const SourceId first = own.never_written(place);
  EXPECT_EQ(own.never_written(place), first);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(table.at(first).unwritten.offset, 1);
}

TEST(SourceRanges, AgreeWithOneSourceForEachByte) {
  test::Random random(7);
  for (int round = 0; round < 200; ++round) {
    SourceRanges ranges;
    std::vector<SourceId> bytes(40, kValid);
    for (int step = 0; step < 30; ++step) {
      const std::int64_t a = test::integer(random, 0, 40), b = test::integer(random, 0, 40);
      const auto source = static_cast<SourceId>(test::integer(random, 0, 3));
      const std::int64_t begin = std::min(a, b), end = std::max(a, b);
      if (source == 3)
        ranges.erase(begin, end);
      else
        ranges.assign(begin, end, source);
      std::fill(bytes.begin() + begin, bytes.begin() + end, source == 3 ? kValid : source);
      std::vector<SourceId> seen;
      const std::int64_t from = test::integer(random, 0, 20), to = test::integer(random, 20, 40);
      ranges.for_each_part(from, to, [&](std::int64_t first, std::int64_t last, SourceId part) {
        ASSERT_EQ(first, from + static_cast<std::int64_t>(seen.size()));
        ASSERT_LT(first, last);
        seen.insert(seen.end(), static_cast<std::size_t>(last - first), part);
      });
      ASSERT_EQ(seen, std::vector<SourceId>(bytes.begin() + from, bytes.begin() + to));
    }
  }
}

TEST(SourceRanges, NeighboursOfOneSourceAreOneRange) {
  SourceRanges ranges;
  for (const std::int64_t begin : {0, 20, 10, 30}) ranges.assign(begin, begin + 10, 1);
  EXPECT_EQ(ranges.range_count(), 1u);
  ranges.assign(10, 20, 2);
  EXPECT_EQ(ranges.range_count(), 3u);
  ranges.erase(0, 40);
  EXPECT_TRUE(ranges.empty());
}

}  // namespace
}  // namespace kernbench::numerics
