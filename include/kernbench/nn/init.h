// First values of parameters, as torch::nn::init. Elements of a host tensor that nobody has looked at yet are made when
// somebody does, so that a large model costs nothing before.
#pragma once

#include <cstdint>
#include <tuple>
#include <variant>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

namespace enumtype {
struct kLinear {};
struct kSigmoid {};
struct kTanh {};
struct kReLU {};
struct kLeakyReLU {};
struct kFanIn {};
struct kFanOut {};
}  // namespace enumtype
inline constexpr enumtype::kLinear kLinear;
inline constexpr enumtype::kSigmoid kSigmoid;
inline constexpr enumtype::kTanh kTanh;
inline constexpr enumtype::kReLU kReLU;
inline constexpr enumtype::kLeakyReLU kLeakyReLU;
inline constexpr enumtype::kFanIn kFanIn;
inline constexpr enumtype::kFanOut kFanOut;

namespace nn::init {

using NonlinearityType =
    std::variant<enumtype::kLinear, enumtype::kSigmoid, enumtype::kTanh, enumtype::kReLU, enumtype::kLeakyReLU>;
using FanModeType = std::variant<enumtype::kFanIn, enumtype::kFanOut>;

/// The recommended gain (He et al., arXiv:1502.01852); `param` is the slope of a leaky ReLU.
double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

// Each writes and returns `tensor`; random numbers come from the calling rank's generator.
Tensor constant_(Tensor tensor, const Scalar& value, Where where = Where::current());
Tensor ones_(Tensor tensor, Where where = Where::current());
Tensor zeros_(Tensor tensor, Where where = Where::current());
/// ValueError unless it has two dimensions.
Tensor eye_(Tensor matrix, Where where = Where::current());
Tensor uniform_(Tensor tensor, double low = 0, double high = 1, Where where = Where::current());
Tensor normal_(Tensor tensor, double mean = 0, double std = 1, Where where = Where::current());
/// Python's: as normal_, but that what lies outside of [a, b] is drawn again: the quantiles of numbers that are even
/// between those of a and b. Drawn on the host; a tensor of a device gets a copy. ValueError for a negative std, and
/// for a above b.
Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2,
                     Where where = Where::current());
/// `gain` times a matrix [size(0), the rest] whose rows, or where these are more its columns, have length 1 and stand
/// at right angles (Saxe et al., arXiv:1312.6120): what is drawn by normal_, made orthogonal in double on the host,
/// which takes the wall time of 2 rows columns min(rows, columns) multiplications; a tensor of a device gets a copy.
/// ValueError for fewer than two dimensions.
Tensor orthogonal_(Tensor tensor, double gain = 1, Where where = Where::current());
// By the number of inputs and outputs of an element; ValueError for fewer than two dimensions. Kaiming: He et al.;
// Xavier: Glorot and Bengio, AISTATS 2010.
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                        NonlinearityType nonlinearity = kLeakyReLU, Where where = Where::current());
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                       NonlinearityType nonlinearity = kLeakyReLU, Where where = Where::current());
Tensor xavier_uniform_(Tensor tensor, double gain = 1, Where where = Where::current());
Tensor xavier_normal_(Tensor tensor, double gain = 1, Where where = Where::current());
/// Inputs and outputs: of [out, in, …] both times the elements of the rest.
std::tuple<std::int64_t, std::int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace nn::init

}  // namespace kernbench::torch
