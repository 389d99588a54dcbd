// Tensor functions on device tensors against the same ones on host tensors, whose results are held to libtorch's.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernbench/torch/backward.h"
#include "support.h"

namespace kernbench {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using torch::Tensor;
using Function = std::function<Tensor(const Tensor& x, const Tensor& y, const Tensor& z)>;

enum class Kind : std::uint8_t { floats, positive, numbers, integers, booleans };

struct Case {
  const char* name;
  Kind kind;
  Function function;
  double ulps = 0;  // of the type, relative to the result; and of 1, absolute
};

/// A class for each line of x.
Tensor classes_of(const Tensor& x) {
  return x.select(1, 0).mul(4).abs().to(torch::kLong).remainder(x.size(1));
}

/// Of each element a place along the dimension, where several may meet.
Tensor places_in(const Tensor& x, std::int64_t dimension) {
  const Tensor line = torch::arange(x.numel(), torch::dtype(torch::kLong).device(x.device()));
  return line.mul(7).add(3).remainder(x.size(dimension)).view(x.sizes());
}

/// x and y are [m, n] and broadcast; z is [n, m].
const std::vector<Case>& cases() {
  using T = const Tensor&;
  static const std::vector<Case> all{
      {"x + y", Kind::numbers, [](T x, T y, T) { return x + y; }},
      {"add with alpha", Kind::numbers, [](T x, T y, T) { return torch::add(x, y, 2); }},
      {"x - 3", Kind::numbers, [](T x, T, T) { return x - 3; }},
      {"3 - x", Kind::numbers, [](T x, T, T) { return 3 - x; }},
      {"x * 0.5", Kind::floats, [](T x, T, T) { return x * 0.5; }},
      {"x / y", Kind::positive, [](T x, T y, T) { return x / y; }},
      {"2 / x", Kind::positive, [](T x, T, T) { return 2 / x; }},
      {"floor_divide", Kind::integers, [](T x, T y, T) { return torch::floor_divide(x, y * y + 1); }},
      {"remainder", Kind::integers, [](T x, T y, T) { return torch::remainder(x, y * y + 1); }},
      {"fmod", Kind::integers, [](T x, T y, T) { return torch::fmod(x, y * y + 1); }},
      {"pow 2", Kind::floats, [](T x, T, T) { return torch::pow(x, 2); }},
      {"square in place", Kind::numbers,
       [](T x, T, T) {
         auto copy = x.clone();
         copy.square_();
         return copy;
       }},
      {"pow 3", Kind::floats, [](T x, T, T) { return torch::pow(x, 3); }},
      {"pow -1", Kind::positive, [](T x, T, T) { return torch::pow(x.to(torch::kFloat), -1); }},
      {"pow 2.0 of integers", Kind::integers, [](T x, T, T) { return torch::pow(x, 2.0); }},
      {"pow 3 of integers", Kind::integers, [](T x, T, T) { return torch::pow(x, 3); }},
      {"pow", Kind::positive, [](T x, T y, T) { return torch::pow(x, y); }},
      {"maximum", Kind::numbers, [](T x, T y, T) { return torch::maximum(x, y); }},
      {"minimum", Kind::numbers, [](T x, T y, T) { return torch::minimum(x, y); }},
      {"clamp", Kind::numbers, [](T x, T, T) { return torch::clamp(x, torch::Scalar(-1), torch::Scalar(2)); }},
      {"x < y", Kind::numbers, [](T x, T y, T) { return x < y; }},
      {"x == 1", Kind::numbers, [](T x, T, T) { return x == 1; }},
      {"logical_and", Kind::numbers, [](T x, T y, T) { return torch::logical_and(x, y); }},
      {"x & y", Kind::integers, [](T x, T y, T) { return x & y; }},
      {"x | y of bool", Kind::booleans, [](T x, T y, T) { return x | y; }},
      {"where", Kind::numbers, [](T x, T y, T) { return torch::where(x > y, x, y); }},
      {"addcmul", Kind::floats, [](T x, T y, T) { return torch::addcmul(x, x, y, 0.5); }},
      {"lerp", Kind::floats, [](T x, T y, T) { return torch::lerp(x, y, 0.25); }},
      {"lerp of weights", Kind::floats, [](T x, T y, T) { return torch::lerp(x, y, y.sigmoid()); }},
      {"addcdiv", Kind::floats, [](T x, T y, T) { return torch::addcdiv(x, x, y.abs() + 1, 0.5); }},
      {"isclose", Kind::numbers, [](T x, T y, T) { return torch::isclose(x, y, 0.5, 0.25); }},
      {"neg", Kind::numbers, [](T x, T, T) { return torch::neg(x); }},
      {"abs", Kind::numbers, [](T x, T, T) { return torch::abs(x); }},
      {"sqrt", Kind::positive, [](T x, T, T) { return torch::sqrt(x); }},
      {"rsqrt", Kind::positive, [](T x, T, T) { return torch::rsqrt(x); }},
      {"exp", Kind::floats, [](T x, T, T) { return torch::exp(x); }},
      {"exp of integers", Kind::integers, [](T x, T, T) { return torch::exp(x); }},
      {"expm1", Kind::floats, [](T x, T, T) { return torch::expm1(x); }},
      {"log", Kind::positive, [](T x, T, T) { return torch::log(x); }},
      {"log10", Kind::positive, [](T x, T, T) { return torch::log10(x); }},
      {"log1p", Kind::positive, [](T x, T, T) { return torch::log1p(x); }},
      {"sin", Kind::floats, [](T x, T, T) { return torch::sin(x); }},
      {"tanh", Kind::floats, [](T x, T, T) { return torch::tanh(x); }},
      {"erf", Kind::floats, [](T x, T, T) { return torch::erf(x); }},
      {"sigmoid", Kind::floats, [](T x, T, T) { return torch::sigmoid(x); }},
      {"round", Kind::floats, [](T x, T, T) { return torch::round(x * 2); }},
      {"sign", Kind::numbers, [](T x, T, T) { return torch::sign(x); }},
      {"relu", Kind::floats, [](T x, T, T) { return torch::relu(x); }},
      {"silu", Kind::floats, [](T x, T, T) { return torch::silu(x); }},
      {"gelu", Kind::floats, [](T x, T, T) { return torch::gelu(x); }},
      {"gelu tanh", Kind::floats, [](T x, T, T) { return torch::gelu(x, "tanh"); }},
      {"sum", Kind::integers, [](T x, T, T) { return torch::sum(x); }, 0},
      {"sum of rows", Kind::floats, [](T x, T, T) { return torch::sum(x, {1}); }, 64},
      {"mean of columns", Kind::floats, [](T x, T, T) { return torch::mean(x, {0}, true); }, 16},
      {"amax", Kind::numbers, [](T x, T, T) { return torch::amax(x, {0}); }, 0},
      {"min", Kind::numbers, [](T x, T, T) { return torch::min(x); }, 0},
      {"argmax", Kind::integers, [](T x, T, T) { return torch::argmax(x, 1); }, 0},
      {"argmin of all", Kind::integers, [](T x, T, T) { return torch::argmin(x); }, 0},
      {"any", Kind::booleans, [](T x, T, T) { return torch::any(x, 0); }, 0},
      {"all", Kind::booleans, [](T x, T, T) { return torch::all(x); }, 0},
      {"var", Kind::floats, [](T x, T, T) { return torch::var(x.expand({3, -1, -1}), {0, 1}); }, 64},
      {"norm", Kind::floats, [](T x, T, T) { return torch::norm(x); }, 64},
      {"norm of rows", Kind::floats, [](T x, T, T) { return x.norm(2, 1, true); }, 64},
      {"norm of order 3", Kind::floats, [](T x, T, T) { return x.norm(3, 0); }, 64},
      {"norm of order 1", Kind::floats, [](T x, T, T) { return x.norm(1, 1); }, 64},
      {"norm of order 0", Kind::floats, [](T x, T, T) { return x.relu().norm(0, 1); }},
      {"norm of order infinity", Kind::floats, [](T x, T, T) { return x.norm(HUGE_VAL, 0); }},
      {"logsumexp", Kind::floats, [](T x, T, T) { return x.logsumexp(1); }, 64},
      {"logsumexp of all", Kind::floats, [](T x, T, T) { return torch::logsumexp(x, {0, 1}, true); }, 64},
      {"cumsum", Kind::integers, [](T x, T, T) { return torch::cumsum(x, 0); }, 0},
      {"softmax", Kind::floats, [](T x, T, T) { return torch::softmax(x, -1); }, 16},
      {"softmax of columns", Kind::floats, [](T x, T, T) { return torch::softmax(x, 0); }, 16},
      {"log_softmax", Kind::floats, [](T x, T, T) { return torch::log_softmax(x, 1); }, 32},
      {"layer_norm", Kind::floats, [](T x, T, T) { return torch::layer_norm(x * 8, {x.size(1)}); }, 256},
      {"rms_norm", Kind::floats, [](T x, T, T) { return torch::rms_norm(x * 8, {x.size(1)}); }, 64},
      {"matmul", Kind::integers, [](T x, T, T z) { return torch::matmul(x.to(torch::kInt), z.to(torch::kInt)); }, 0},
      {"mm of floats", Kind::floats, [](T x, T, T z) { return torch::mm(x, z); }, 64},
      {"mm with itself transposed", Kind::floats, [](T x, T, T) { return torch::mm(x, x.t()); }, 64},
      {"matmul of a batch", Kind::floats, [](T x, T, T z) { return torch::matmul(x.expand({3, -1, -1}), z); }, 64},
      {"addmm", Kind::floats, [](T x, T, T z) { return torch::addmm(torch::mm(x, z), x, z, 0.5, 2); }, 256},
      {"mv", Kind::floats, [](T x, T y, T) { return torch::mv(x, y.select(0, 0)); }, 64},
      {"linear", Kind::floats, [](T x, T y, T) { return torch::linear(x, y); }, 64},
      {"cat", Kind::numbers, [](T x, T y, T) { return torch::cat({x, y.expand(x.sizes()), x}, 1); }, 0},
      {"stack", Kind::numbers, [](T x, T y, T) { return torch::stack({x, y.expand(x.sizes())}, 1); }, 0},
      {"repeat", Kind::numbers, [](T x, T, T) { return x.repeat({2, 3}); }, 0},
      {"tile", Kind::numbers, [](T x, T, T) { return x.tile({2, 1, 2}); }, 0},
      {"repeat_interleave", Kind::numbers, [](T x, T, T) { return x.repeat_interleave(3, 1); }, 0},
      {"flip", Kind::numbers, [](T x, T, T) { return x.flip({0, 1}); }, 0},
      {"roll", Kind::numbers, [](T x, T, T) { return x.roll({1, -2}, {0, 1}); }, 0},
      {"constant_pad_nd", Kind::numbers, [](T x, T, T) { return torch::constant_pad_nd(x, {1, 2, -1, 1}, 3); }, 0},
      {"one_hot", Kind::integers, [](T x, T, T) { return torch::one_hot((x * x).remainder(5).to(torch::kLong), 5); },
       0},
      {"einsum of a product", Kind::integers,
       [](T x, T, T z) { return torch::einsum("ij,jk->ki", {x.to(torch::kInt), z.to(torch::kInt)}); }, 0},
      {"einsum of a batch", Kind::floats,
       [](T x, T, T z) { return torch::einsum("bij,jk,k->bi", {x.expand({3, -1, -1}), z, z.select(0, 0)}); }, 256},
      {"tril", Kind::numbers, [](T x, T, T) { return torch::tril(x, 1); }, 0},
      {"contiguous of a transpose", Kind::numbers, [](T x, T, T) { return x.t().contiguous(); }, 0},
      {"reshape of a transpose", Kind::numbers, [](T x, T, T) { return x.t().reshape({-1}); }, 0},
      {"to another type", Kind::numbers, [](T x, T, T) { return x.to(torch::kFloat); }, 0},
      {"masked_fill", Kind::numbers, [](T x, T, T) { return torch::masked_fill(x, x > 1, 7); }, 0},
      {"masked_fill in place", Kind::numbers,
       [](T x, T y, T) {
         auto copy = x.clone();
         copy.masked_fill_(y.expand(x.sizes()) > 1, 7);
         return copy;
       }},
      {"index_put_ of a number", Kind::numbers,
       [](T x, T, T) {
         auto copy = x.clone();
         copy.index_put_({torch::indexing::Slice(), torch::indexing::Slice(0, 1)}, 2.0);
         return copy;
       }},
      {"copy_ of a host row", Kind::numbers,
       [](T x, T, T) {
         auto copy = x.clone();
         return copy.copy_(torch::arange(x.size(1)));
       }},
      {"copy_ of a host number", Kind::numbers,
       [](T x, T, T) {
         auto copy = x.clone();
         copy.narrow(0, 0, 1).copy_(torch::full({}, 3));
         return copy;
       }},
      {"arange", Kind::numbers,
       [](T x, T, T) {
         return torch::arange(-7, 3 * x.numel(), 3, torch::dtype(x.scalar_type()).device(x.device()));
       }},
      {"arange that goes down", Kind::floats,
       [](T x, T, T) {
         return torch::arange(9, -5000, -4, torch::dtype(x.scalar_type()).device(x.device()));
       }},
      {"arange in steps of a half", Kind::floats,
       [](T x, T, T) { return torch::arange(1, 30, 0.5, torch::dtype(x.scalar_type()).device(x.device())); }},
      {"mse_loss", Kind::floats, [](T x, T y, T) { return torch::mse_loss(x, y); }, 16},
      {"l1_loss", Kind::floats, [](T x, T y, T) { return torch::l1_loss(x, y); }, 16},
      {"smooth_l1_loss", Kind::floats,
       [](T x, T y, T) { return torch::smooth_l1_loss(x, y, torch::Reduction::None, 0.5); }, 4},
      {"huber_loss", Kind::floats, [](T x, T y, T) { return torch::huber_loss(x, y, torch::Reduction::Mean, 0.5); },
       16},
      {"nll_loss", Kind::floats,
       [](T x, T, T) { return torch::nll_loss(x, classes_of(x), {}, torch::Reduction::Mean, 0); }, 64},
      {"cross_entropy_loss", Kind::floats, [](T x, T, T) { return torch::cross_entropy_loss(x, classes_of(x)); }, 64},
      {"cross_entropy_loss with weights and smoothing", Kind::floats,
       [](T x, T y, T) {
         const Tensor weight = y.select(0, 0).abs().add(0.5);
         return torch::cross_entropy_loss(x, classes_of(x), weight, torch::Reduction::Mean, 1, 0.25);
       },
       64},
      {"cross_entropy_loss of each line", Kind::floats,
       [](T x, T, T) { return torch::cross_entropy_loss(x, classes_of(x), {}, torch::Reduction::None, 2, 0.1); }, 64},
      {"cross_entropy_loss of probabilities", Kind::floats,
       [](T x, T y, T) { return torch::cross_entropy_loss(x, torch::softmax(y.expand(x.sizes()), 1)); }, 64},
      {"binary_cross_entropy", Kind::floats,
       [](T x, T y, T) { return torch::binary_cross_entropy(x.sigmoid(), y.expand(x.sizes()).sigmoid()); }, 64},
      {"binary_cross_entropy_with_logits", Kind::floats,
       [](T x, T y, T) {
         return torch::binary_cross_entropy_with_logits(x, y.sigmoid(), x.abs(), y.abs(), torch::Reduction::Mean);
       },
       64},
      {"kl_div", Kind::floats,
       [](T x, T y, T) { return torch::kl_div(torch::log_softmax(x, 1), torch::relu(y), torch::Reduction::Mean); }, 64},
      {"leaky_relu", Kind::floats, [](T x, T, T) { return torch::leaky_relu(x, 0.1); }},
      {"softplus", Kind::floats, [](T x, T, T) { return torch::softplus(x, 2, 1.5); }, 2},
      {"softmax backward", Kind::floats,
       [](T x, T, T) { return torch::_softmax_backward_data(x, x.softmax(-1), -1, x.scalar_type()); }, 4},
      {"log_softmax backward", Kind::floats,
       [](T x, T, T) { return torch::_log_softmax_backward_data(x, x.log_softmax(-1), -1, x.scalar_type()); }, 4},
      {"elu", Kind::floats, [](T x, T, T) { return torch::elu(x, 0.5, 1.5, 0.7); }, 2},
      {"selu", Kind::floats, [](T x, T, T) { return torch::selu(x); }},
      {"mish", Kind::floats, [](T x, T, T) { return torch::mish(x); }},
      {"hardtanh", Kind::numbers, [](T x, T, T) { return torch::hardtanh(x, -1, 2); }},
      {"relu6", Kind::numbers, [](T x, T, T) { return torch::relu6(x * 3); }},
      {"hardsigmoid", Kind::floats, [](T x, T, T) { return torch::hardsigmoid(x * 3); }},
      {"hardswish", Kind::floats, [](T x, T, T) { return torch::hardswish(x * 3); }},
      {"log_sigmoid", Kind::floats, [](T x, T, T) { return torch::log_sigmoid(x * 9); }},
      {"xlogy", Kind::numbers, [](T x, T y, T) { return torch::xlogy(x, y); }},
      {"atan2", Kind::numbers, [](T x, T y, T) { return torch::atan2(x, y); }},
      {"hypot", Kind::floats, [](T x, T y, T) { return torch::hypot(x, y); }},
      {"nan_to_num", Kind::numbers, [](T x, T y, T) { return torch::nan_to_num(x.to(torch::kFloat) / y, 7); }, 1},
      {"heaviside", Kind::numbers, [](T x, T y, T) { return torch::heaviside(x, y); }},
      {"scatter of a number", Kind::numbers, [](T x, T, T) { return torch::scatter(x, 0, places_in(x, 0), 3); }},
      {"scatter_add", Kind::floats, [](T x, T, T) { return torch::scatter_add(x, 1, places_in(x, 1), x); }, 16},
      {"scatter that adds a number", Kind::floats,
       [](T x, T, T) { return torch::scatter(x, 0, places_in(x, 0), 2, "add"); }, 16},
      {"index_fill", Kind::numbers,
       [](T x, T, T) { return torch::index_fill(x, 1, places_in(x, 1).select(0, 0).slice(0, 0, 3).sub(1), 4); }},
      {"take", Kind::numbers, [](T x, T, T) { return torch::take(x, places_in(x, 0).sub(x.size(0))); }},
      {"put that adds", Kind::floats, [](T x, T, T) { return torch::put(x, places_in(x, 0), x, true); }, 64},
      {"diag", Kind::numbers, [](T x, T, T) { return torch::diag(torch::diag(x, 0), 1); }},
      {"trace", Kind::integers, [](T x, T, T) { return torch::trace(x); }},
      {"median", Kind::numbers, [](T x, T, T) { return torch::median(x); }},
      {"median of columns", Kind::numbers, [](T x, T, T) { return std::get<0>(torch::median(x, 0)); }},
      {"where medians are", Kind::integers, [](T x, T, T) { return std::get<1>(torch::median(x, 1, true)); }},
      {"quantile", Kind::numbers, [](T x, T, T) { return torch::quantile(x.to(torch::kFloat), 0.3, 1); }, 2},
      {"unfold", Kind::numbers, [](T x, T, T) { return x.unfold(1, (x.size(1) + 1) / 2, 2) * 2; }},
      {"as_strided", Kind::numbers,
       [](T x, T, T) { return x.clone().contiguous().as_strided({x.size(0), 2}, {1, 0}, 0) + 1; }},
      {"baddbmm", Kind::floats,
       [](T x, T, T z) {
         return torch::baddbmm(x.select(0, 0).narrow(0, 0, 1), x.expand({2, -1, -1}), z.expand({2, -1, -1}), 0.5, 2);
       },
       256},
      {"addbmm", Kind::floats,
       [](T x, T, T z) {
         return torch::addbmm(x.select(0, 0).narrow(0, 0, 1), x.expand({2, -1, -1}), z.expand({2, -1, -1}));
       },
       256},
      {"tensordot", Kind::floats, [](T x, T y, T) { return torch::tensordot(x, y, {1}, {1}); }, 256},
      {"cross", Kind::integers,
       [](T x, T y, T) {
         return torch::cross(x.select(1, 0).expand({3, -1}), y.expand(x.sizes()).select(1, 0).expand({3, -1}), 0);
       }},
      {"in-place on a slice", Kind::numbers,
       [](T x, T, T) {
         auto copy = x.clone();
         copy.narrow(0, 0, 1).add_(5);
         copy.select(1, 0).fill_(2);
         return copy;
       },
       0},
  };
  return all;
}

DType type_of(Draw& draw, Kind kind) {
  switch (kind) {
    case Kind::booleans:
      return DType::boolean;
    case Kind::integers:
      return draw.of(std::vector{DType::i32, DType::i64});
    case Kind::numbers:
      return draw.of(std::vector{DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64});
    default:
      return draw.of(std::vector{DType::f32, DType::f16, DType::bf16});
  }
}

Values values_of(Kind kind, DType dtype) {
  if (kind == Kind::booleans) return whole_numbers(dtype, 0, 1);
  if (kind == Kind::positive) return whole_numbers(dtype, 1, 6);
  if (kind == Kind::floats) return normal(dtype);
  return whole_numbers(dtype, -5, 5);
}

TEST(HostAndDevice, EveryFunctionAgreesForRandomTypesShapesViewsAndPlacements) {
  for_random_cases(static_cast<int>(cases().size()) * 6, [number = std::size_t{0}](Draw& draw) mutable {
    const Case& test = cases()[number++ % cases().size()];
    SCOPED_TRACE(test.name);
    const DType dtype = type_of(draw, test.kind);
    const std::int64_t m = draw.integer(1, 40), n = draw.integer(1, 70);
    const auto values = values_of(test.kind, dtype);
    const Pair x = random_pair(draw, {m, n}, values), z = random_pair(draw, {n, m}, values);
    const Pair y = random_pair(draw, {draw.chance(3) ? 1 : m, n}, values);
    const Tensor host = test.function(x.host, y.host, z.host);
    const Tensor device = test.function(x.device, y.device, z.device);
    ASSERT_TRUE(device.device().is_ahbm()) << "the result left the device";
    ASSERT_EQ(device.scalar_type(), host.scalar_type());
    ASSERT_EQ(device.sizes(), host.sizes());
    const double tolerance =
        test.ulps * 2 * (test.ulps > 0 && unit(host.scalar_type()) > 0 ? unit(host.scalar_type()) : 0);
    expect_near(device, elements(host), tolerance, tolerance, std::string(test.name) + " of " + name(dtype));
  });
}

TEST(HostAndDevice, DeviceFunctionsLaunchKernelsAndReadNothing) {
  SimulateOptions options;
  options.topology = "tiny";
  options.data = false;  // a host read would be an error
  const RunResult result = simulate(options, [] {
    const auto x = torch::ones({32, 48}, torch::dtype(torch::kHalf).device("ahbm"));
    const auto y = torch::softmax(torch::gelu(torch::mm(x, x.t()) + 1), -1);
    EXPECT_EQ(y.sizes(), torch::IntArrayRef({32, 32}));
  });
  std::vector<std::string> names;
  for (const auto& launch : result.launches) names.push_back(launch.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fill#0", "matmul#0", "add#0", "gelu#0", "softmax#0"}));
}

/// The launches of a program, and the bytes that it copies to the device, without data.
std::pair<std::vector<std::string>, std::int64_t> work_of(const std::function<void(const Tensor&)>& program) {
  SimulateOptions options;
  options.topology = "tiny";
  options.data = false;
  const RunResult result = simulate(options, [&] { program(torch::empty({32, 48}, torch::device("ahbm"))); });
  std::vector<std::string> names;
  for (const auto& launch : result.launches) names.push_back(launch.name);
  std::int64_t bytes = 0;
  for (const auto& copy : result.copies) bytes += copy.bytes.count();
  return {names, bytes};
}

TEST(HostAndDevice, FunctionsOfSeveralStepsAreOneLaunch) {
  const std::vector<std::pair<std::string, std::function<void(const Tensor&)>>> functions{
      {"leaky_relu", [](const Tensor& x) { torch::leaky_relu(x); }},
      {"softplus", [](const Tensor& x) { torch::softplus(x); }},
      {"elu", [](const Tensor& x) { torch::elu(x); }},
      {"elu",
       [](const Tensor& x) {
         Tensor same = x;
         torch::elu_(same);
       }},
      {"nan_to_num", [](const Tensor& x) { x.nan_to_num_(); }},
      {"lerp", [](const Tensor& x) { x.lerp(x, 0.25); }},
      {"lerp", [](const Tensor& x) { x.lerp(x, x); }},
      {"multiply_add", [](const Tensor& x) { x.addcmul(x, x); }},
      {"addcmul", [](const Tensor& x) { x.addcmul(x, x, 2); }},
      {"addcdiv", [](const Tensor& x) { x.addcdiv(x, x); }},
      {"gelu_backward", [](const Tensor& x) { torch::gelu_backward(x, x, "tanh"); }},
      {"silu_backward", [](const Tensor& x) { torch::silu_backward(x, x); }},
      {"isclose", [](const Tensor& x) { x.isclose(x); }},
      {"pow", [](const Tensor& x) { x.square(); }},
      {"arange", [](const Tensor& x) { torch::arange(100, torch::device(x.device())); }},
      {"fill", [](const Tensor& x) { x.index_put_({torch::indexing::Slice(0, 3)}, 1.0); }}};
  for (const auto& [name, function] : functions) {
    const auto [launches, bytes] = work_of(function);
    EXPECT_EQ(launches, std::vector<std::string>{name + "#0"});
    EXPECT_EQ(bytes, 0) << name;
  }
}

TEST(HostAndDevice, AMaskedFillInPlaceWritesToTheTensor) {
  const auto [launches, bytes] = work_of([](const Tensor& x) { x.masked_fill_(x > 0, 1); });
  EXPECT_EQ(launches, (std::vector<std::string>{"gt#0", "where#0"}));
}

TEST(HostAndDevice, AHostTensorThatRepeatsIsCopiedOnceWhereThatSavesMoreThanALaunch) {
  const auto copy = [](std::int64_t rows, bool expanded) {
    return work_of([&](const Tensor& x) {
      const auto row = torch::ones({256});
      torch::empty({rows, 256}, x.options()).copy_(expanded ? row.expand({rows, 256}) : row);
    });
  };
  for (const bool expanded : {false, true}) {
    const auto [launches, bytes] = copy(256, expanded);
    EXPECT_EQ(bytes, 256 * 4);
    EXPECT_EQ(launches, std::vector<std::string>{"copy#0"});
    const auto [few_launches, few_bytes] = copy(16, expanded);
    EXPECT_EQ(few_bytes, 16 * 256 * 4);
    EXPECT_TRUE(few_launches.empty());
  }
}

TEST(HostAndDevice, HostTensorsOfAnyTypeRepeatOnTheDevice) {
  SimulateOptions options;
  options.topology = "tiny";
  simulate(options, [] {
    const auto row = torch::arange(512, torch::kInt).sub(200);
    for (const auto& source : {row, row.view({512, 1}), torch::full({}, 7, torch::kLong), row.expand({512, 512})}) {
      const auto x = torch::zeros({512, 512}, torch::kHalf), y = torch::zeros({512, 600}, torch::kHalf);
      const auto there = x.to("ahbm"), wider = y.to("ahbm");
      for (const auto& to : {x, there, y.narrow(1, 5, 512), wider.narrow(1, 5, 512)}) to.copy_(source);
      expect_equal(there, elements(x), "a whole tensor");
      expect_equal(wider, elements(y), "columns of a tensor");
    }
  });
}

TEST(HostAndDevice, TensorsWithoutElementsReduceAsOnTheHost) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> functions{
      {"sum", [](const Tensor& x) { return torch::sum(x); }},
      {"sum of columns", [](const Tensor& x) { return torch::sum(x, {0}); }},
      {"mean", [](const Tensor& x) { return torch::mean(x); }},
      {"prod", [](const Tensor& x) { return torch::prod(x); }},
      {"all", [](const Tensor& x) { return torch::all(x); }},
      {"any", [](const Tensor& x) { return torch::any(x); }},
      {"var", [](const Tensor& x) { return torch::var(x); }},
      {"mm", [](const Tensor& x) { return torch::mm(x.t(), x); }},
      {"softmax", [](const Tensor& x) { return torch::softmax(x, 1); }}};
  for_random_cases(static_cast<int>(functions.size()) * 2, [&, number = std::size_t{0}](Draw& draw) mutable {
    const auto& [what, function] = functions[number++ % functions.size()];
    const auto host = torch::empty({0, 4}, torch::kFloat);
    expect_equal(function(host.to(torch::device("ahbm").placement(draw.placement()))), elements(function(host)), what);
  });
}

TEST(HostAndDevice, TimesAreTheSameWithoutDataWithExactEventsAndWithMoreThreads) {
  const auto program = [] {
    torch::manual_seed(7);
    const auto options = torch::dtype(torch::kHalf).device("ahbm");
    const auto x = torch::randn({300, 210}, options), z = torch::randn({210, 96}, options);
    const auto y = torch::softmax(torch::mm(x, z), 0) + torch::layer_norm(torch::mm(x, z), {96});
    torch::argmax(torch::cumsum(y.t().contiguous(), 0).slice(1, 0, 300, 3), 1);
    torch::var(torch::cat({x, x}, 0));
    torch::ahbm::synchronize();
  };
  for (const char* mesh : {"[1, 1]", "[2, 2]"}) {
    SimulateOptions options;
    options.topology = "tiny";
    options.quick_plans = true;
    options.overrides = {std::string("sip.cubes.mesh=") + mesh};
    const RunResult first = simulate(options, program);
    for (int mode = 0; mode < 3; ++mode) {
      SimulateOptions other = options;
      if (mode == 0) other.data = false;
      if (mode == 1) other.exact_events = true;
      if (mode == 2) other.threads = 4;
      const RunResult again = simulate(other, program);
      EXPECT_EQ(again.times_fingerprint, first.times_fingerprint) << mesh << " mode " << mode;
      EXPECT_EQ(again.simulated_time, first.simulated_time) << mesh << " mode " << mode;
    }
  }
}

}  // namespace
}  // namespace kernbench
