// Tiles on the host, in double precision: what tests of loads and stores compare with.
#pragma once

#include <cstdint>
#include <functional>
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
/// `value` rounded once to `dtype` (bool, i32, f16, bf16 or f32): floats to nearest, ties to even; i32 truncates and
/// saturates; bool is value != 0.
double rounded(double value, DType dtype);
/// Equal, or both NaN.
bool same(double a, double b);

/// Random values of the element type; floats now and then infinite, NaN, huge or tiny if `special`.
HostTile random_tile(std::mt19937& random, DType dtype, std::vector<std::int64_t> shape, bool special);

/// On the calling host fiber: `inputs` go to the device, one program on PE 0 loads them, computes, and stores the
/// result, whose type and shape must be as given; it comes back as a HostTile.
HostTile on_device(const std::vector<HostTile>& inputs, DType dtype, const std::vector<std::int64_t>& shape,
                   const std::function<tl::Tile(const std::vector<tl::Tile>&)>& compute);

/// Expects equal bits of the values (all NaN are alike).
void expect_same(const HostTile& got, const HostTile& expected, const std::string& what);

}  // namespace kernbench::testing
