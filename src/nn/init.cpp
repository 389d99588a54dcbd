#include "kernbench/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "kernbench/torch/factories.h"
#include "tensor/host_call.h"

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
