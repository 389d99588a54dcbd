// softmax, log_softmax, cumsum, layer_norm, rms_norm of kernbench/torch/operations.h, and norms of residual sums of
// kernbench/torch/transformer.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
#include "kernbench/torch/transformer.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/functions/rows.h"
#include "tensor/host_call.h"
#include "tensor/promotion.h"

namespace kernbench::torch {

using tensor::ComputePlace;
using tensor::Extents;
using tensor::impl_of;

namespace {

void softmax_row(std::span<double> row, bool logarithm) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double value : row) largest = value != value ? value : std::max(largest, value);
  double total = 0;
  for (const double value : row) total += std::exp(value - largest);
  for (double& value : row) value = logarithm ? value - largest - std::log(total) : std::exp(value - largest) / total;
}

Tensor softmax_along(const char* call, const Tensor& given, std::int64_t dimension, std::optional<ScalarType> type,
                     bool logarithm) {
  const ComputePlace place = tensor::place_of(call, {given});
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(given).sizes.size());
  const Tensor x = type ? given.to(*type) : given;
  if (!x.is_floating_point())
    tensor::fail_type(call, x.scalar_type(), "give a floating-point dtype, as in x.softmax(0, torch::kFloat)");
  if (!place.on_device()) {
    return tensor::map_rows<double>(x, dimension, x.scalar_type(),
                                    [logarithm](std::span<double> row) { softmax_row(row, logarithm); });
  }
  if (x.dim() == 0) return softmax_along(call, x.view({1}), 0, {}, logarithm).view({});
  Tensor out = tensor::new_result(call, place, impl_of(x).sizes, x.scalar_type());
  if (out.numel() != 0) tensor::device_kernels(call).softmax(x, static_cast<std::int64_t>(at), logarithm, out);
  return out;
}

std::string shape_text(IntArrayRef sizes) {
  return tensor::text_of(std::span(sizes.begin(), sizes.size()));
}

/// The last dimensions of x are `shape`, and so are those of the weight and the bias.
void check_normalized_shape(const char* call, const Tensor& x, IntArrayRef shape, const Tensor& weight,
                            const Tensor& bias) {
  if (shape.empty()) {
    tensor::fail(call,
                 "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                 "element, but got normalized_shape = []");
  }
  const auto& sizes = impl_of(x).sizes;
  if (sizes.size() < shape.size() || !std::equal(shape.begin(), shape.end(), sizes.end() - std::ssize(shape.vec()))) {
    tensor::fail(call, fmt::format("Given normalized_shape={}, expected input with these last dimensions, but got "
                                   "input of size {}",
                                   shape_text(shape), tensor::text_of(sizes)));
  }
  const auto check = [&](const char* name, const Tensor& parameter) {
    if (!parameter.defined()) return;
    if (!(parameter.sizes() == shape)) {
      tensor::fail(call, fmt::format("Expected {} to be of same shape as normalized_shape, but got {} of shape {} and "
                                     "normalized_shape = {}",
                                     name, name, shape_text(parameter.sizes()), shape_text(shape)));
    }
    if (parameter.scalar_type() != x.scalar_type()) {
      tensor::fail(call, fmt::format("expected scalar type {} but found {} for {}; convert it with .to(…)",
                                     tensor::text_of(x.scalar_type()), tensor::text_of(parameter.scalar_type()), name));
    }
  };
  if (!x.is_floating_point())
    tensor::fail_type(call, x.scalar_type(), "convert the input with .to(torch::kFloat) first");
  check("weight", weight);
  check("bias", bias);
}

/// All elements as double; none where there is no tensor.
std::vector<double> doubles_of(const Tensor& parameter) {
  if (!parameter.defined()) return {};
  tensor::Rows<double> rows(parameter, std::vector<bool>(static_cast<std::size_t>(parameter.dim()), true));
  const std::span<double> values = rows.read(0);
  return {values.begin(), values.end()};
}

/// Each row of the last dimensions through `function`.
template <class Function>
Tensor normalised(const Tensor& x, std::size_t dimensions, const Function& function) {
  std::vector<bool> chosen(impl_of(x).sizes.size(), false);
  std::fill(chosen.end() - static_cast<std::ptrdiff_t>(dimensions), chosen.end(), true);
  tensor::Rows<double> rows(x, chosen);
  Tensor out = tensor::new_host_tensor(impl_of(x).sizes, x.scalar_type());
  for (std::int64_t row = 0; row < rows.count() && rows.length() > 0; ++row) {
    const std::span<double> values = rows.read(row);
    function(values);
    tensor::write_elements<double>(out, row * rows.length(), values);
  }
  return out;
}

void scale_and_shift(std::span<double> row, const std::vector<double>& weight, const std::vector<double>& bias) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!weight.empty()) row[i] *= weight[i];
    if (!bias.empty()) row[i] += bias[i];
  }
}

double mean_square(std::span<const double> row, double centre) {
  double total = 0;
  for (const double value : row) total += (value - centre) * (value - centre);
  return total / static_cast<double>(row.size());
}

double mean_of(std::span<const double> row) {
  double total = 0;
  for (const double value : row) total += value;
  return total / static_cast<double>(row.size());
}

Tensor or_undefined(const std::optional<Tensor>& parameter) {
  return parameter ? *parameter : Tensor();
}

std::vector<tensor::DeviceOperand> operands_of(const tensor::Norm& norm) {
  std::vector<tensor::DeviceOperand> operands{norm.x};
  for (const Tensor* more : {&norm.residual, &norm.weight, &norm.bias})
    if (more->defined()) operands.emplace_back(*more);
  return operands;
}

void check_residual(const char* call, const Tensor& x, const Tensor& residual) {
  if (residual.sizes() == x.sizes() && residual.scalar_type() == x.scalar_type()) return;
  tensor::fail(call, fmt::format("x and the residual must have one shape and type, but x is {} and the residual {}",
                                 tensor::describe(x), tensor::describe(residual)));
}

double epsilon_of(ScalarType type) {
  switch (type) {
    case kHalf:
      return 0x1p-10;
    case kBFloat16:
      return 0x1p-7;
    case kDouble:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

}  // namespace

Tensor Tensor::softmax(std::int64_t dimension, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("softmax", where);
  return softmax_along("softmax", *this, dimension, type, false);
}
Tensor Tensor::log_softmax(std::int64_t dimension, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("log_softmax", where);
  return softmax_along("log_softmax", *this, dimension, type, true);
}

Tensor Tensor::cumsum(std::int64_t dimension, std::optional<ScalarType> type, Where where) const {
  const tensor::HostCall here("cumsum", where);
  const ComputePlace place = tensor::place_of("cumsum", {*this});
  const std::size_t at = tensor::wrap_dimension(dimension, impl_of(*this).sizes.size());
  const ScalarType result = type.value_or(tensor::is_integral(scalar_type(), true) ? kLong : scalar_type());
  if (place.on_device()) {
    if (dim() == 0) return to(result).clone();
    Tensor out = tensor::new_result("cumsum", place, impl_of(*this).sizes, result);
    if (out.numel() != 0) tensor::device_kernels("cumsum").cumulative_sum(*this, static_cast<std::int64_t>(at), out);
    return out;
  }
  const Tensor x = to(result);
  if (x.is_floating_point()) {
    return tensor::map_rows<double>(x, dimension, result, [](std::span<double> row) {
      double total = 0;
      for (double& value : row) value = total += value;
    });
  }
  return tensor::map_rows<std::int64_t>(x, dimension, result, [](std::span<std::int64_t> row) {
    std::uint64_t total = 0;
    for (std::int64_t& value : row) value = static_cast<std::int64_t>(total += static_cast<std::uint64_t>(value));
  });
}

namespace {

/// One line of the last dimensions at a time, in double.
Tensor normalised_on_the_host(const tensor::Norm& norm) {
  const std::vector<double> weights = doubles_of(norm.weight), biases = doubles_of(norm.bias);
  return normalised(norm.x, static_cast<std::size_t>(norm.dimensions), [&](std::span<double> row) {
    const double mean = norm.centred ? mean_of(row) : 0, scale = 1 / std::sqrt(mean_square(row, mean) + norm.epsilon);
    for (double& value : row) value = (value - mean) * scale;
    scale_and_shift(row, weights, biases);
  });
}

/// The norm, and the sum where there is a residual.
std::tuple<Tensor, Tensor> computed(const char* call, tensor::Norm norm, IntArrayRef normalized_shape) {
  const ComputePlace place = tensor::place_of(call, operands_of(norm));
  check_normalized_shape(call, norm.x, normalized_shape, norm.weight, norm.bias);
  const bool adds = norm.residual.defined();
  if (adds) check_residual(call, norm.x, norm.residual);
  norm.dimensions = std::ssize(normalized_shape.vec());
  if (!place.on_device()) {
    if (adds) norm.x = norm.sum = norm.x + norm.residual;
    return {normalised_on_the_host(norm), norm.sum};
  }
  const auto new_one = [&] { return tensor::new_result(call, place, impl_of(norm.x).sizes, norm.x.scalar_type()); };
  const Tensor out = new_one();
  if (adds) norm.sum = new_one();
  if (out.numel() != 0) tensor::device_kernels(call).normalize(norm, out);
  return {out, norm.sum};
}

tensor::Norm layer_norm_of(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           double eps) {
  tensor::Norm norm;
  norm.x = x;
  norm.weight = or_undefined(weight);
  norm.bias = or_undefined(bias);
  norm.epsilon = eps;
  return norm;
}

tensor::Norm rms_norm_of(const Tensor& x, const std::optional<Tensor>& weight, std::optional<double> eps) {
  tensor::Norm norm = layer_norm_of(x, weight, {}, eps.value_or(epsilon_of(x.scalar_type())));
  norm.centred = false;
  return norm;
}

}  // namespace

Tensor layer_norm(const TensorOperand& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps) {
  const tensor::HostCall here("layer_norm", x.where);
  return std::get<0>(computed("layer_norm", layer_norm_of(x.tensor, weight, bias, eps), normalized_shape));
}

Tensor rms_norm(const TensorOperand& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                std::optional<double> eps) {
  const tensor::HostCall here("rms_norm", x.where);
  return std::get<0>(computed("rms_norm", rms_norm_of(x.tensor, weight, eps), normalized_shape));
}

std::tuple<Tensor, Tensor> ahbm::add_layer_norm(const TensorOperand& x, const Tensor& residual,
                                                IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                                                const std::optional<Tensor>& bias, double eps) {
  const tensor::HostCall here("add_layer_norm", x.where);
  tensor::Norm norm = layer_norm_of(x.tensor, weight, bias, eps);
  norm.residual = residual;
  return computed("add_layer_norm", norm, normalized_shape);
}

std::tuple<Tensor, Tensor> ahbm::add_rms_norm(const TensorOperand& x, const Tensor& residual,
                                              IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                                              std::optional<double> eps) {
  const tensor::HostCall here("add_rms_norm", x.where);
  tensor::Norm norm = rms_norm_of(x.tensor, weight, eps);
  norm.residual = residual;
  return computed("add_rms_norm", norm, normalized_shape);
}

}  // namespace kernbench::torch
