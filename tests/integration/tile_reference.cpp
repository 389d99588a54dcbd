#include "tile_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "programs.h"

namespace kernbench::testing {

namespace {

/// To nearest, ties to even, with `significand` bits and subnormals that are multiples of 2^least.
double to_precision(double value, int significand, int least, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int quantum = std::max(exponent - significand, least);
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  return std::abs(result) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

double to_integer(double value) {
  if (std::isnan(value)) return 0;
  return std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1) + 0.0;  // integers have no negative zero
}

tl::Extents extents(const std::vector<std::int64_t>& values) {
  return tl::Extents(std::span(values));
}

}  // namespace

std::int64_t numel(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

double rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return value != 0;
    case DType::i32:
      return to_integer(value);
    case DType::f16:
      return to_precision(value, 11, -24, 65504);
    case DType::bf16:
      return to_precision(value, 8, -133, 0x1.FEp127);
    case DType::f32:
      return to_precision(value, 24, -149, 0x1.FFFFFEp127);
    default:
      return value;
  }
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

HostTile random_tile(std::mt19937& random, DType dtype, std::vector<std::int64_t> shape, bool special) {
  std::normal_distribution<double> normal(0, 4);
  const std::vector<double> extremes{0.0,
                                     -0.0,
                                     std::numeric_limits<double>::infinity(),
                                     -0x1p-24,
                                     0x1p-133,
                                     65504.0,
                                     -3.3e38,
                                     -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
  HostTile tile{dtype, std::move(shape), {}};
  for (std::int64_t i = 0; i < numel(tile.shape); ++i) {
    double value = dtype == DType::boolean ? static_cast<double>(random() % 2) : normal(random);
    if (dtype == DType::i32)
      value = random() % 4 == 0 ? static_cast<std::int32_t>(random()) / 64 : std::round(value * 3);
    if (special && is_floating_point(dtype) && random() % 5 == 0) value = extremes[random() % extremes.size()];
    tile.values.push_back(rounded(value, dtype));
  }
  return tile;
}

HostTile on_device(const std::vector<HostTile>& inputs, DType dtype, const std::vector<std::int64_t>& shape,
                   const std::function<tl::Tile(const std::vector<tl::Tile>&)>& compute) {
  std::vector<torch::Tensor> tensors;
  for (const HostTile& input : inputs) {
    auto values = input.values;
    tensors.push_back(torch::from_blob(values.data(), input.shape, torch::kDouble).to(one_pe(input.dtype)));
  }
  const auto out = torch::empty(shape, one_pe(dtype));
  const auto kernel = [&](const std::vector<tl::In>& parameters, const tl::Tensor& result) {
    std::vector<tl::Tile> tiles;
    for (const auto& tensor : parameters) {
      const std::vector<std::int64_t> origin(tensor.shape().size(), 0);
      tiles.push_back(tl::load(tensor, extents(origin), tensor.shape()));
    }
    const tl::Tile tile = compute(tiles);
    EXPECT_EQ(tile.dtype(), dtype);
    EXPECT_EQ(tile.shape(), extents(shape));
    tl::store(result, extents(std::vector<std::int64_t>(shape.size(), 0)), tile);
  };
  switch (tensors.size()) {
    case 0:
      torch::launch("compute", [&](tl::Tensor z) { kernel({}, z); }, out);
      break;
    case 1:
      torch::launch("compute", [&](tl::In a, tl::Tensor z) { kernel({a}, z); }, tensors[0], out);
      break;
    case 2:
      torch::launch(
          "compute", [&](tl::In a, tl::In b, tl::Tensor z) { kernel({a, b}, z); }, tensors[0], tensors[1], out);
      break;
    default:
      torch::launch(
          "compute", [&](tl::In a, tl::In b, tl::In c, tl::Tensor z) { kernel({a, b, c}, z); }, tensors[0], tensors[1],
          tensors[2], out);
  }
  const auto host = out.cpu().to(torch::kDouble).contiguous();
  return {dtype, shape, {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()}};
}

void expect_same(const HostTile& got, const HostTile& expected, const std::string& what) {
  ASSERT_EQ(got.dtype, expected.dtype) << what;
  ASSERT_EQ(got.shape, expected.shape) << what;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    ASSERT_TRUE(same(got.values[i], expected.values[i]))
        << what << ", element " << i << ": " << got.values[i] << " instead of " << expected.values[i];
  }
}

}  // namespace kernbench::testing
