#include "kernbench/nn/utils.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/optimizer.h"
#include "tensor/host_call.h"

namespace kernbench::torch::nn::utils {

namespace {

std::vector<Tensor> grads_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> grads;
  for (const Tensor& parameter : parameters) {
    if (parameter.grad().defined()) grads.push_back(parameter.grad());
  }
  return grads;
}

Tensor norm_of(const std::vector<Tensor>& grads, double norm_type) {
  if (norm_type == 0) return torch::full({}, static_cast<double>(grads.size()));
  const bool largest = norm_type == std::numeric_limits<double>::infinity();
  std::vector<Tensor> norms = tensor::norms_of("get_total_norm", grads, norm_type);
  for (Tensor& norm : norms) norm = norm.to(grads.front().device());
  if (norms.size() == 1) return norms.front();
  const Tensor all = torch::stack(norms);
  return largest ? all.max() : all.norm(norm_type);
}

}  // namespace

Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type, bool error_if_nonfinite, Where where) {
  const tensor::HostCall here("get_total_norm", where);
  if (tensors.empty()) return torch::zeros({});
  const Tensor norm = norm_of(tensors, norm_type);
  if (error_if_nonfinite && !std::isfinite(norm.item_or<double>(0))) {
    throw ValueError(fmt::format(
        "The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
        "this error and scale the gradients with the non-finite norm anyway, set `error_if_nonfinite=false`",
        norm_type));
  }
  return norm;
}

void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm,
                           Where where) {
  const tensor::HostCall here("clip_grads_with_norm_", where);
  const std::vector<Tensor> grads = grads_of(parameters);
  if (grads.empty()) return;
  tensor::scale_all("clip_grads_with_norm_", grads, total_norm, max_norm);
}

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite, Where where) {
  const tensor::HostCall here("clip_grad_norm_", where);
  const std::vector<Tensor> grads = grads_of(parameters);
  if (grads.empty()) return 0;
  const Tensor norm = get_total_norm(grads, norm_type, error_if_nonfinite);
  clip_grads_with_norm_(parameters, max_norm, norm);
  return norm.item_or<double>(max_norm);
}

double clip_grad_norm_(std::initializer_list<Tensor> parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite, Where where) {
  return clip_grad_norm_(std::vector<Tensor>(parameters), max_norm, norm_type, error_if_nonfinite, where);
}

double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type, bool error_if_nonfinite,
                       Where where) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite, where);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value, Where where) {
  const tensor::HostCall here("clip_grad_value_", where);
  tensor::clamp_all("clip_grad_value_", grads_of(parameters), -clip_value, clip_value);
}

void clip_grad_value_(std::initializer_list<Tensor> parameters, double clip_value, Where where) {
  clip_grad_value_(std::vector<Tensor>(parameters), clip_value, where);
}

void clip_grad_value_(const Tensor& parameter, double clip_value, Where where) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value, where);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters, Where where) {
  const tensor::HostCall here("parameters_to_vector", where);
  std::vector<Tensor> parts;
  parts.reserve(parameters.size());
  for (const Tensor& parameter : parameters) parts.push_back(parameter.view({-1}));
  return torch::cat(parts);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters, Where where) {
  const tensor::HostCall here("vector_to_parameters", where);
  std::vector<Tensor> parts;
  std::int64_t first = 0;
  for (const Tensor& parameter : parameters) {
    parts.push_back(vec.slice(0, first, first + parameter.numel()).view_as(parameter));
    first += parameter.numel();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].set_data(parts[i]);
}

}  // namespace kernbench::torch::nn::utils
