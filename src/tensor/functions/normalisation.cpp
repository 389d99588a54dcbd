// softmax, log_softmax, cumsum, layer_norm, rms_norm of kernbench/torch/operations.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernbench/error.h"
#include "kernbench/torch/operations.h"
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
void check_normalized_shape(const char* call, const Tensor& x, IntArrayRef shape, const std::optional<Tensor>& weight,
                            const std::optional<Tensor>& bias) {
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
  const auto check = [&](const char* name, const std::optional<Tensor>& parameter) {
    if (!parameter || !parameter->defined()) return;
    if (!(parameter->sizes() == shape)) {
      tensor::fail(call, fmt::format("Expected {} to be of same shape as normalized_shape, but got {} of shape {} and "
                                     "normalized_shape = {}",
                                     name, name, shape_text(parameter->sizes()), shape_text(shape)));
    }
    if (parameter->scalar_type() != x.scalar_type()) {
      tensor::fail(call,
                   fmt::format("expected scalar type {} but found {} for {}; convert it with .to(…)",
                               tensor::text_of(x.scalar_type()), tensor::text_of(parameter->scalar_type()), name));
    }
  };
  check("weight", weight);
  check("bias", bias);
  if (!x.is_floating_point())
    tensor::fail_type(call, x.scalar_type(), "convert the input with .to(torch::kFloat) first");
}

/// All elements as double; none where there is no tensor.
std::vector<double> doubles_of(const std::optional<Tensor>& parameter) {
  if (!parameter || !parameter->defined()) return {};
  tensor::Rows<double> rows(*parameter, std::vector<bool>(static_cast<std::size_t>(parameter->dim()), true));
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

ComputePlace place_of_norm(const char* call, const Tensor& x, const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& bias) {
  std::vector<tensor::DeviceOperand> operands{x};
  for (const auto* parameter : {&weight, &bias})
    if (*parameter && (*parameter)->defined()) operands.emplace_back(**parameter);
  return tensor::place_of(call, operands);
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

Tensor layer_norm(const TensorOperand& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps) {
  const tensor::HostCall here("layer_norm", x.where);
  const ComputePlace place = place_of_norm("layer_norm", x.tensor, weight, bias);
  check_normalized_shape("layer_norm", x.tensor, normalized_shape, weight, bias);
  if (place.on_device()) {
    Tensor out = tensor::new_result("layer_norm", place, impl_of(x.tensor).sizes, x.tensor.scalar_type());
    if (out.numel() != 0) {
      tensor::device_kernels("layer_norm")
          .layer_norm(x.tensor, std::ssize(normalized_shape.vec()), or_undefined(weight), or_undefined(bias), eps, out);
    }
    return out;
  }
  const std::vector<double> weights = doubles_of(weight), biases = doubles_of(bias);
  return normalised(x.tensor, normalized_shape.size(), [&](std::span<double> row) {
    const double mean = mean_of(row), scale = 1 / std::sqrt(mean_square(row, mean) + eps);
    for (double& value : row) value = (value - mean) * scale;
    scale_and_shift(row, weights, biases);
  });
}

Tensor rms_norm(const TensorOperand& x, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                std::optional<double> eps) {
  const tensor::HostCall here("rms_norm", x.where);
  const ComputePlace place = place_of_norm("rms_norm", x.tensor, weight, {});
  check_normalized_shape("rms_norm", x.tensor, normalized_shape, weight, {});
  const double epsilon = eps.value_or(epsilon_of(x.tensor.scalar_type()));
  if (place.on_device()) {
    Tensor out = tensor::new_result("rms_norm", place, impl_of(x.tensor).sizes, x.tensor.scalar_type());
    if (out.numel() != 0) {
      tensor::device_kernels("rms_norm")
          .rms_norm(x.tensor, std::ssize(normalized_shape.vec()), or_undefined(weight), epsilon, out);
    }
    return out;
  }
  const std::vector<double> weights = doubles_of(weight);
  return normalised(x.tensor, normalized_shape.size(), [&](std::span<double> row) {
    const double scale = 1 / std::sqrt(mean_square(row, 0) + epsilon);
    for (double& value : row) value *= scale;
    scale_and_shift(row, weights, {});
  });
}

}  // namespace kernbench::torch
