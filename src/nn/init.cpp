#include "kernbench/nn/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/device_backend.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/random.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch::nn::init {

namespace {

double fan_of(const Tensor& tensor, const FanModeType& mode) {
  const auto [in, out] = _calculate_fan_in_and_fan_out(tensor);
  return static_cast<double>(std::holds_alternative<enumtype::kFanIn>(mode) ? in : out);
}

double xavier_deviation(const Tensor& tensor, double gain) {
  const auto [in, out] = _calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(in + out));
}

/// Sets the elements in row-major order to what `source` makes of f64, when somebody looks at them.
void write(const Tensor& tensor, const tensor::ElementSource& source) {
  if (tensor.numel() == 0) return;
  const Tensor wide = tensor::new_host_tensor(tensor.sizes().vec(), kDouble);
  tensor::impl_of(wide).storage->make_by(source, kDouble);
  tensor.copy_(wide.to(tensor.scalar_type()));
}

/// The share of a normal distribution below x.
double share_below(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

/// Its inverse: an approximation to 4.5e-4 (Abramowitz and Stegun, 26.2.23) and two of Halley's steps, each of which
/// triples the digits.
double quantile(double share) {
  if (share <= 0 || share >= 1) return share <= 0 ? -HUGE_VAL : HUGE_VAL;
  const double t = std::sqrt(-2 * std::log(std::min(share, 1 - share)));
  const double tail =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double x = share < 0.5 ? -tail : tail;
  for (int step = 0; step < 2; ++step) {
    const double error = (share_below(x) - share) * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    x -= error / (1 + x * error / 2);
  }
  return x;
}

/// Makes the rows of a matrix orthogonal, each of length 1: what they have of those before them is taken away, twice,
/// since the first time leaves what has been rounded.
void make_orthogonal(std::vector<double>& matrix, std::size_t rows, std::size_t columns) {
  const auto row = [&](std::size_t i) { return std::span(matrix).subspan(i * columns, columns); };
  const auto product = [&](std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += a[j] * b[j];
    return sum;
  };
  for (std::size_t i = 0; i < rows; ++i) {
    for (int time = 0; time < 2; ++time) {
      for (std::size_t k = 0; k < i; ++k) {
        const double share = product(row(i), row(k));
        for (std::size_t j = 0; j < columns; ++j) row(i)[j] -= share * row(k)[j];
      }
      const double length = std::sqrt(product(row(i), row(i)));
      for (double& x : row(i)) x /= length;
    }
  }
}

/// A matrix of random numbers with orthogonal rows or columns, made once, when the first of its elements is asked for.
class OrthogonalMatrix {
 public:
  OrthogonalMatrix(tensor::Generator::Draw draw, std::int64_t rows, std::int64_t columns, double gain)
      : draw_(draw), rows_(static_cast<std::size_t>(rows)), columns_(static_cast<std::size_t>(columns)), gain_(gain) {}

  void write(std::int64_t first, std::int64_t count, std::byte* out) {
    std::call_once(made_, [&] { make(); });
    std::memcpy(out, elements_.data() + first, static_cast<std::size_t>(count) * sizeof(double));
  }

 private:
  void make() {
    const std::size_t lines = std::min(rows_, columns_), length = std::max(rows_, columns_);
    std::vector<double> drawn(rows_ * columns_);
    tensor::fill_normal(draw_, kDouble, 0, static_cast<std::int64_t>(drawn.size()),
                        reinterpret_cast<std::byte*>(drawn.data()));
    make_orthogonal(drawn, lines, length);
    for (double& x : drawn) x *= gain_;
    if (lines == rows_) {
      elements_ = std::move(drawn);
      return;
    }
    elements_.resize(drawn.size());
    for (std::size_t i = 0; i < lines; ++i)
      for (std::size_t j = 0; j < length; ++j) elements_[j * lines + i] = drawn[i * length + j];
  }

  const tensor::Generator::Draw draw_;
  const std::size_t rows_, columns_;
  const double gain_;
  std::once_flag made_;
  std::vector<double> elements_;
};

void check_floats(const char* call, const Tensor& tensor) {
  tensor::check_floats(call, tensor);
  tensor::check_in_place(call, tensor, tensor.sizes().vec(), tensor.scalar_type(), {});
}

}  // namespace

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (std::holds_alternative<enumtype::kTanh>(nonlinearity)) return 5.0 / 3.0;
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return std::sqrt(2.0);
  if (std::holds_alternative<enumtype::kLeakyReLU>(nonlinearity)) return std::sqrt(2.0 / (1 + param * param));
  return 1;
}

Tensor constant_(Tensor tensor, const Scalar& value, Where where) {
  return tensor.fill_(value, where);
}
Tensor ones_(Tensor tensor, Where where) {
  return tensor.fill_(1, where);
}
Tensor zeros_(Tensor tensor, Where where) {
  return tensor.fill_(0, where);
}

Tensor eye_(Tensor matrix, Where where) {
  const tensor::HostCall here("eye_", where);
  if (matrix.dim() != 2) throw ValueError("Only tensors with 2 dimensions are supported");
  matrix.fill_(0);
  const std::int64_t ones = std::min(matrix.size(0), matrix.size(1));
  matrix.narrow(0, 0, ones).narrow(1, 0, ones).copy_(torch::eye(ones, matrix.scalar_type()));
  return matrix;
}

Tensor uniform_(Tensor tensor, double low, double high, Where where) {
  return tensor.uniform_(low, high, where);
}
Tensor normal_(Tensor tensor, double mean, double std, Where where) {
  return tensor.normal_(mean, std, where);
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b, Where where) {
  const tensor::HostCall here("trunc_normal_", where);
  check_floats("trunc_normal_", tensor);
  if (!(std >= 0) || !(a <= b)) {
    tensor::fail("trunc_normal_",
                 fmt::format("std must be at least 0 and a at most b, but std is {}, a {} and b {}", std, a, b));
  }
  const auto draw = tensor::current_generator().take(tensor.numel());
  if (std == 0) return tensor.fill_(std::clamp(mean, a, b));
  const double low = share_below((a - mean) / std), high = share_below((b - mean) / std);
  write(tensor, [=](std::int64_t first, std::int64_t count, std::byte* out) {
    tensor::fill_uniform(draw, low, high, kDouble, first, count, out);
    for (double& x : std::span(reinterpret_cast<double*>(out), static_cast<std::size_t>(count)))
      x = std::clamp(mean + std * quantile(x), a, b);
  });
  return tensor;
}

Tensor orthogonal_(Tensor tensor, double gain, Where where) {
  const tensor::HostCall here("orthogonal_", where);
  if (tensor.dim() < 2) throw ValueError("Only tensors with 2 or more dimensions are supported");
  check_floats("orthogonal_", tensor);
  if (tensor.numel() == 0) return tensor;
  const auto matrix = std::make_shared<OrthogonalMatrix>(tensor::current_generator().take(tensor.numel()),
                                                         tensor.size(0), tensor.numel() / tensor.size(0), gain);
  write(tensor, [matrix](std::int64_t first, std::int64_t count, std::byte* out) { matrix->write(first, count, out); });
  return tensor;
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity, Where where) {
  const tensor::HostCall here("kaiming_uniform_", where);
  const double bound = std::sqrt(3.0) * calculate_gain(nonlinearity, a) / std::sqrt(fan_of(tensor, mode));
  return tensor.uniform_(-bound, bound);
}
Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity, Where where) {
  const tensor::HostCall here("kaiming_normal_", where);
  return tensor.normal_(0, calculate_gain(nonlinearity, a) / std::sqrt(fan_of(tensor, mode)));
}
Tensor xavier_uniform_(Tensor tensor, double gain, Where where) {
  const tensor::HostCall here("xavier_uniform_", where);
  const double bound = std::sqrt(3.0) * xavier_deviation(tensor, gain);
  return tensor.uniform_(-bound, bound);
}
Tensor xavier_normal_(Tensor tensor, double gain, Where where) {
  const tensor::HostCall here("xavier_normal_", where);
  return tensor.normal_(0, xavier_deviation(tensor, gain));
}

std::tuple<std::int64_t, std::int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  if (tensor.dim() < 2)
    throw ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  std::int64_t field = 1;
  for (std::int64_t d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

}  // namespace kernbench::torch::nn::init
