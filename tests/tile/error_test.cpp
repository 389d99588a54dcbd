// Misuse of each operation is an error that names the call, what is wrong with it, and the line of the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness.h"

namespace kernbench::tile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tl::Tile;

/// The error must be a ValueError at this file.
auto says(const std::string& text) {
  return AllOf(HasSubstr("ValueError: "), HasSubstr(text),
               HasSubstr("kernel wrong#0 on sip0.cube0.pe0 (program 0), error_test.cpp:"));
}
using Body = std::function<void(Tile a, Tile b)>;

// a is f32 [2, 3], b is f32 [3, 4].
TEST(TileErrors, ShapesThatDoNotBroadcast) {
  const auto text = "shapes [2, 3] and [3, 4] do not broadcast: aligned on the right, extents must be equal or 1";
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { a + b; }), says(std::string("tl::add: ") + text));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::maximum(a, b); }), says(std::string("tl::maximum: ") + text));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::where(a > 0, a, b); }), says(std::string("tl::where: ") + text));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::clamp(a, 0, b); }), says(std::string("tl::clamp: ") + text));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::join(a, b); }), says(std::string("tl::join: ") + text));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::broadcast_to(a, {3, 3}); }),
              says("tl::broadcast_to: a tile of shape [2, 3] does not broadcast to [3, 3]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::broadcast_to(tl::sum(a, 0), {0, 3}); }), says("tl::broadcast_to"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::broadcast_to(a, {3}); }), says("tl::broadcast_to"));
}

TEST(TileErrors, ScalarsOnly) {
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::maximum(1, 2); }),
              says("tl::maximum: both operands are scalars; use ordinary C++ arithmetic"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::where(true, 1, 2); }), says("tl::where: all operands are scalars"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { -tl::Operand(2); }), says("tl::neg: the operand is a scalar"));
}

TEST(TileErrors, TypesThatAnOperationDoesNotTake) {
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::idiv(a, 2); }), says("tl::idiv: takes integers, but got f32"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { (a > 0) & a; }), says("tl::and: takes integers or bool, but got f32"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { ~a; }), says("tl::not: takes integers or bool, but got f32"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { (a > 0) << true; }), says("tl::shl: takes integers, but got bool"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cast(a, DType::i8) >> 1.0f; }), says("tl::shr: takes integers"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::fma(a, tl::cast(a, DType::i32), a); }),
              says("tl::fma: takes floats, but got i32"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::fdiv(a, a > 0); }), says("tl::fdiv: takes floats, but got bool"));
}

TEST(TileErrors, ScalarsThatDoNotFitTheirTile) {
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cast(a, DType::u8) + 256; }),
              says("tl::add: the scalar 256 does not fit the operands' type u8"));
  EXPECT_EQ(kernel_error([](Tile a, Tile) { (void)(-1 < tl::cast(a, DType::u8)); }), "no error");  // compared as i32
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cast(a, DType::i32) * (std::int64_t{1} << 31); }),
              says("the scalar 2147483648 does not fit the operands' type i32"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::full({2}, -1, DType::u8); }),
              says("tl::full: -1 does not fit the type u8"));
}

TEST(TileErrors, F64OnTheDevice) {
  const auto text = "f64 exists on the host only; use f32";
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::zeros({2}, DType::f64); }), says(text));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cast(a, DType::f64); }), says(text));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::bitcast(tl::zeros({2}, DType::i64), DType::f64); }), says(text));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a, b, {}, DType::f64); }), says(text));
}

TEST(TileErrors, AxesOutOfRange) {
  const auto text = [](const char* call, int axis) {
    return says(std::string("tl::") + call + ": axis " + std::to_string(axis) +
                " is out of range for a tile of shape [2, 3]");
  };
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::sum(a, 2); }), text("sum", 2));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::argmin(a, -3); }), text("argmin", -3));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cumsum(a, 2); }), text("cumsum", 2));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cat(a, a, 2); }), text("cat", 2));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::expand_dims(a, 3); }), text("expand_dims", 3));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cumsum(tl::sum(a)); }),
              says("tl::cumsum: axis 0 is out of range for a tile of shape []"));
}

TEST(TileErrors, EmptyHandles) {
  const std::vector<std::pair<const char*, Body>> bodies{
      {"add", [](Tile a, Tile) { a + Tile(); }},
      {"exp", [](Tile, Tile) { tl::exp({}); }},
      {"where", [](Tile a, Tile) { tl::where(a, a, Tile()); }},
      {"cast", [](Tile, Tile) { tl::cast({}, DType::f16); }},
      {"bitcast", [](Tile, Tile) { tl::bitcast({}, DType::i32); }},
      {"sum", [](Tile, Tile) { tl::sum({}); }},
      {"cumsum", [](Tile, Tile) { tl::cumsum({}); }},
      {"dot", [](Tile a, Tile) { tl::dot(a, {}); }},
      {"reshape", [](Tile, Tile) { tl::reshape({}, {1}); }},
      {"permute", [](Tile, Tile) { tl::permute({}, {0}); }},
      {"broadcast_to", [](Tile, Tile) { tl::broadcast_to({}, {1}); }},
      {"cat", [](Tile a, Tile) { tl::cat(a, {}); }},
      {"split", [](Tile, Tile) { tl::split({}); }},
      {"zeros_like", [](Tile, Tile) { tl::zeros_like({}); }}};
  for (const auto& [call, body] : bodies) {
    EXPECT_THAT(kernel_error(body), says(std::string("tl::") + call + ": an empty tile")) << call;
  }
}

TEST(TileErrors, TilesOfAnotherProgram) {
  std::vector<Tile> shared;
  const auto result = try_simulate(tiny(), [&] {
    auto x = torch::ones({2, 4}, torch::dtype(torch::kFloat).device("ahbm"));
    torch::launch(
        "shared",
        [&](tl::Tensor) {
          if (tl::program_id(0) == 0) {
            shared.push_back(tl::zeros({4}, DType::f32));
            tl::delay(100000);
            shared.clear();
          } else {
            tl::delay(1000);
            tl::cat({tl::zeros({4}, DType::f32), shared.front()});
          }
        },
        x);
    torch::ahbm::synchronize();
  });
  shared.clear();
  ASSERT_TRUE(result.error);
  EXPECT_THAT(result.error->message, HasSubstr("tl::cat: the tile belongs to another program"));
}

TEST(TileErrors, Products) {
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a, b, {}, DType::f32, {.rows = 4, .columns = -1}); }),
              says("tl::dot: fold is 4 x -1; rows and columns must be positive, or 0 for all that the array has"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::use_dma_queues(-2); }),
              says("tl::use_dma_queues: count is -2; it must be positive, or 0 for all queues of the PE"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::dot(a, a); }),
              says("tl::dot: inner extents differ: [2, 3] x [2, 3]"));
  EXPECT_THAT(
      kernel_error([](Tile a, Tile b) { tl::dot(tl::reshape(a, {1, 2, 3}), b); }),
      says("operands must both be two-dimensional, or both three-dimensional (batched), got [1, 2, 3] and [3, 4]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::dot(tl::ravel(a), tl::ravel(a)); }), says("two-dimensional"));
  EXPECT_THAT(
      kernel_error([](Tile, Tile) { tl::dot(tl::zeros({2, 2, 3}, DType::f16), tl::zeros({1, 3, 2}, DType::f16)); }),
      says("batch extents differ: [2, 2, 3] x [1, 3, 2]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a, tl::cast(b, DType::f16)); }),
              says("operand types differ: f32 and f16; cast one of them"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a > 0, b > 0); }), says("boolean operands are not supported"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(tl::cast(a, DType::i64), tl::cast(b, DType::i64)); }),
              says("i64 operands are not supported; cast to i32"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a, b, {}, DType::i32); }),
              says("operands of type f32 cannot accumulate into i32"));
  EXPECT_THAT(
      kernel_error([](Tile a, Tile b) { tl::dot(tl::cast(a, DType::i8), tl::cast(b, DType::i8), {}, DType::i8); }),
      says("operands of type i8 cannot accumulate into i8"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a, b, a); }),
              says("the accumulator has shape [2, 3], the product [2, 4]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::dot(a, b, tl::zeros({2, 4}, DType::i32)); }),
              says("the accumulator's type i32 does not fit operands of type f32"));
}

TEST(TileErrors, Shapes) {
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::reshape(a, {4, 2}); }),
              says("tl::reshape: a tile of shape [2, 3] has 6 elements and cannot become [4, 2]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::view(a, {-1, -1}); }), says("cannot become [-1, -1]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::reshape(a, {-1, 4}); }), says("cannot become [-1, 4]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::reshape(a, {-1, 0}); }), says("cannot become [-1, 0]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::reshape(a, {-2, -3}); }), says("cannot become [-2, -3]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::reshape(a, {-1, -2, INT64_MIN}); }), says("cannot become [-1, -2, "));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::reshape(a, {-1, INT64_MAX, INT64_MAX}); }), says("cannot become"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::permute(a, {0, 0}); }),
              says("tl::permute: order [0, 0] does not name each dimension of shape [2, 3] once"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::trans(a, {0}); }), says("tl::trans: order [0]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::permute(a, {0, 1, 2}); }), says("order [0, 1, 2]"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::trans(tl::ravel(a)); }),
              says("tl::trans: a tile of shape [6] has no two dimensions to swap"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::cat(std::span<const Tile>{}); }), says("tl::cat: no tiles were given"));
  EXPECT_THAT(kernel_error([](Tile a, Tile b) { tl::cat(a, b, 1); }),
              says("tl::cat: shapes [2, 3] and [3, 4] must agree but for dimension 1"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cat(a, tl::ravel(a)); }), says("must agree but for dimension 0"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::cat(a, a > 0); }), says("tiles of types f32 and bool"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::split(a); }),
              says("tl::split: the last extent of shape [2, 3] must be 2"));
  EXPECT_THAT(kernel_error([](Tile, Tile) {
                const auto x = tl::zeros({1, 1, 1, 1, 1, 1, 1, 1}, DType::f32);
                tl::join(x, x);
              }),
              says("tl::join: the result of tiles of shape [1, 1, 1, 1, 1, 1, 1, 1] has too many dimensions"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::expand_dims(tl::zeros({1, 1, 1, 1, 1, 1, 1, 1}, DType::f32), 0); }),
              HasSubstr("9 dimensions were given; tiles and tensors have at most 8"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::arange(3, 3); }), says("tl::arange(3, 3): the range must have"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::arange(INT32_MAX, std::int64_t{INT32_MAX} + 2); }),
              says("must be i32"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::arange(INT64_MIN, INT64_MAX); }), says("must be i32"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::bitcast(a, DType::f16); }),
              says("tl::bitcast: f32 has 4 bytes, f16 has 2; only types of one width share their bits"));
  EXPECT_THAT(kernel_error([](Tile a, Tile) { tl::bitcast(tl::cast(a, DType::u8), DType::boolean); }),
              says("tl::bitcast: bits other than 0 and 1 are no bool; use x != 0"));
  EXPECT_THAT(kernel_error([](Tile, Tile) { tl::full({2, 0}, 1, DType::f32); }),
              says("tl::full: shape [2, 0] must be positive in every dimension"));
}

TEST(TileErrors, CallsOutsideOfAKernel) {
  EXPECT_THROW(tl::arange(0, 3), ProgramError);
  EXPECT_THROW(tl::maximum(1, 2), ProgramError);
}

}  // namespace
}  // namespace kernbench::tile_test
