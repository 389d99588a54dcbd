#include "numerics/value.h"

#include <gtest/gtest.h>

#include "numerics/memory/memory.h"
#include "support.h"

namespace kernbench::numerics {
namespace {

TEST(Value, ItemReadsTheOnlyLaneAndItsValidity) {
  Executor executor(1, true);
  const Item half_item = item(executor, test::tile(executor, DType::f16, Shape{1, 1}, {1.5}));
  EXPECT_EQ(half_item.value.as_double(), 1.5);
  EXPECT_TRUE(half_item.valid);
  EXPECT_EQ(item(executor, full(executor, Shape{}, DType::i32, -7)).value.as_integer(), -7);
  EXPECT_EQ(item(executor, full(executor, Shape{}, DType::boolean, true)).value.kind(), Scalar::Kind::boolean);
  EXPECT_FALSE(item(executor, test::tile(executor, DType::f32, Shape{}, {1}, {0})).valid);
}

TEST(Value, AMaskOfAllValidLanesIsNoMask) {
  Executor executor(1, true);
  EXPECT_TRUE(view(executor, test::tile(executor, DType::f32, Shape{2}, {1, 2}, {1, 1})).sources.empty());
  EXPECT_FALSE(view(executor, test::tile(executor, DType::f32, Shape{2}, {1, 2}, {1, 0})).all_valid());
}

TEST(Value, NothingIsComputedForAValueThatNobodyHolds) {
  Executor executor(1, true);
  const Value one = full(executor, Shape{}, DType::f32, 1);
  (void)view(executor, one);
  Value dropped = binary(executor, BinaryOperation::add, one, 1, DType::f32);
  const std::weak_ptr<TileStorage> storage = dropped.storage();
  dropped = {};
  EXPECT_TRUE(storage.expired());
  executor.drain();
  EXPECT_EQ(executor.first_error(), nullptr);
}

TEST(Value, WithoutDataOnlyTypesAndShapesExist) {
  Executor executor(2, false);
  Memory memory(executor);
  memory.map(0, std::int64_t{1} << 45);  // more than any host has
  const Piece piece{&memory, 16, 4, 8, 64, 0, 4};
  const Value loaded = gather(executor, {}, DType::f16, Shape{4, 4}, std::span(&piece, 1));
  const Value product = dot(executor, loaded, transpose(executor, loaded), {}, DType::f32);
  const Value sum = reduce(executor, ReduceOperation::sum,
                           binary(executor, BinaryOperation::less, product, 1.0, DType::boolean), 0, true, DType::i32);
  scatter(executor, {}, cast(executor, product, DType::f16), std::span(&piece, 1));
  inspect(executor, {}, sum, [](const TileView&) { FAIL(); });
  memory.write(0, std::vector<std::byte>(16));
  for (const Value& value :
       {loaded, product, sum, reshape(executor, product, Shape{16}), full(executor, Shape{3}, DType::i32, 1),
        test::tile(executor, DType::f32, Shape{1}, {1})}) {
    EXPECT_FALSE(value.has_data());
  }
  EXPECT_EQ(product.shape(), (Shape{4, 4}));
  EXPECT_EQ(sum.shape(), (Shape{1, 4}));
  EXPECT_EQ(sum.dtype(), DType::i32);
  EXPECT_EQ(executor.submitted(), 0u);
  executor.drain();
}

TEST(Value, InspectSeesTheValueAndItsErrorIsTheRuns) {
  Executor executor(1, true);
  const Value value = arange(executor, 0, 3, DType::i32);
  double seen = 0;
  inspect(executor, {1, 1, 1}, value, [&](const TileView& tile) { seen = tile.element(2).as_double(); });
  inspect(executor, {5, 1, 1}, value, [&](const TileView&) { throw std::runtime_error("late"); });
  inspect(executor, {2, 1, 1}, value, [&](const TileView&) { throw std::runtime_error("early"); });
  executor.drain();
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(executor.first_error_key(), (OperationKey{2, 1, 1}));
  EXPECT_THROW(std::rethrow_exception(executor.first_error()), std::runtime_error);
}

}  // namespace
}  // namespace kernbench::numerics
