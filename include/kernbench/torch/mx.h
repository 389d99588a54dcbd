// Tensors in the MX formats, as tl::dot_scaled takes them.
#pragma once

#include <string_view>
#include <tuple>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch::ahbm {

/// x [..., n] of a floating-point type on the host, in blocks of 32 along the last dimension, as (elements, scales):
/// scales are Byte [..., n / 32] with E8M0, and elements of "e4m3" and "e5m2" Float8_e4m3fn and Float8_e5m2 [..., n],
/// of "e2m1" Byte [..., n / 2], the first of two in the lower half.
///
/// By the OCP Microscaling specification 1.0, section 6.3: a block's scale is the power of two by which its largest
/// element gets the largest exponent of the format; elements are divided by it and rounded to nearest, ties to even,
/// and saturate. A block of zeros has the smallest scale, one with infinities or NaN the scale NaN. ValueError for
/// another format, other types, a device's tensors, and an n that 32 does not divide.
std::tuple<Tensor, Tensor> to_mx(const Tensor& x, std::string_view format, Where where = Where::current());
/// What they stand for, in f32: each element times its scale, exactly unless that leaves f32's range.
Tensor from_mx(const Tensor& elements, const Tensor& scales, std::string_view format, Where where = Where::current());

}  // namespace kernbench::torch::ahbm
