// Tile operations computed plainly in double precision: what the tests of the tile language compare with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "kernbench/kernbench.h"

namespace kernbench::testing {

/// A dense row-major array; every value is one that its element type can hold.
struct HostTile {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

std::int64_t numel(const std::vector<std::int64_t>& shape);
/// `value` rounded once to `dtype`: floats to nearest, ties to even; i32 wraps when `wraps`, else truncates and
/// saturates; bool is value != 0.
double rounded(double value, DType dtype, bool wraps = false);
/// Equal, or both NaN.
bool same(double a, double b);

/// Random values of the element type; floats now and then infinite, NaN, huge or tiny if `special`.
HostTile random_tile(std::mt19937& random, DType dtype, std::vector<std::int64_t> shape, bool special);

/// The element type that arithmetic on two tiles (or a tile and a scalar) is computed in: f32, or i64 for integers.
bool computes_in_integers(DType a, DType b);
/// `operation` on each pair of elements, broadcast as numpy does; operands and result are rounded to f32 when one of
/// the types is a float, and the result to `dtype`.
HostTile broadcast(const HostTile& a, const HostTile& b, DType dtype,
                   const std::function<double(double, double)>& operation);
std::vector<std::int64_t> broadcast_shape(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);
/// Folds one axis, or all, with `operation` in double, in order; no rounding.
HostTile fold(const HostTile& x, std::optional<int> axis, bool keep_dims,
              const std::function<double(double, double)>& operation);

/// On the calling host fiber: `inputs` go to the device, one program on PE 0 loads them, computes, and stores the
/// result, whose type and shape must be as given; it comes back as a HostTile.
HostTile on_device(const std::vector<HostTile>& inputs, DType dtype, const std::vector<std::int64_t>& shape,
                   const std::function<tl::Tile(const std::vector<tl::Tile>&)>& compute);

/// Expects equal bits of the values (all NaN are alike).
void expect_same(const HostTile& got, const HostTile& expected, const std::string& what);

}  // namespace kernbench::testing
