#include "tensor/functions/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <map>
#include <variant>
#include <vector>

#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "tensor/functions/dispatch.h"
#include "tensor/promotion.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

using torch::Tensor;

namespace {

void check_fits(const char* call, const Tensor& parameter, const char* name, const Tensor& tensor) {
  if (!tensor.defined()) fail(call, fmt::format("{} is undefined", name));
  if (tensor.sizes() == parameter.sizes() && tensor.device() == parameter.device()) return;
  fail(call, fmt::format("{} must have the shape and device of the parameter, {}, but is {}", name, describe(parameter),
                         describe(tensor)));
}

/// What is written has a place of its own for each element.
void check_written(const char* call, const Tensor& tensor) {
  check_in_place(call, tensor, tensor.sizes().vec(), tensor.scalar_type(), {});
}

std::vector<Tensor> written_by(const SgdUpdate& update) {
  return {update.parameter, update.buffer};
}
std::vector<Tensor> written_by(const AdamUpdate& update) {
  return {update.parameter, update.mean, update.square, update.largest};
}
std::vector<Tensor> written_by(const RootUpdate& update) {
  return {update.parameter, update.square, update.mean, update.buffer};
}

/// The gradient as it counts, with the parameter's share.
Tensor counted(const Tensor& grad, const Tensor& parameter, double decay, bool maximize) {
  Tensor g = grad.to(parameter.scalar_type());
  if (maximize) g = -g;
  return decay == 0 ? g : g + parameter * decay;
}

void step_on_host(const SgdUpdate& update) {
  const Tensor p = update.parameter.to(wide_type(update.parameter.scalar_type()));
  Tensor g = counted(update.grad, p, update.decay, update.maximize);
  if (update.buffer.defined()) {
    const Tensor sum = update.is_first ? g : update.buffer.to(p.scalar_type()) * update.keep + g * update.add;
    update.buffer.copy_(sum);
    g = update.nesterov ? g + sum * update.keep : sum;
  }
  update.parameter.copy_(p - g * update.rate);
}

void step_on_host(const AdamUpdate& update) {
  Tensor p = update.parameter.to(wide_type(update.parameter.scalar_type()));
  const Tensor g = counted(update.grad, p, update.decay, update.maximize);
  if (update.shrink != 1) p = p * update.shrink;
  // Zeros are a share of the gradient that nothing is added to.
  const auto sum = [&](const Tensor& kept, double keep, const Tensor& added) {
    return update.is_first ? added : kept.to(p.scalar_type()) * keep + added;
  };
  const Tensor mean = sum(update.mean, update.mean_keep, g * update.mean_add);
  Tensor square = sum(update.square, update.square_keep, g * update.square_add * g);
  update.mean.copy_(mean);
  update.square.copy_(square);
  if (update.largest.defined()) {
    if (!update.is_first) square = torch::maximum(update.largest.to(p.scalar_type()), square);
    update.largest.copy_(square);
  }
  update.parameter.copy_(p - mean * update.step / (square.sqrt() * update.root + update.epsilon));
}

void step_on_host(const RootUpdate& update) {
  const Tensor p = update.parameter.to(wide_type(update.parameter.scalar_type()));
  const Tensor g = counted(update.grad, p, update.decay, update.maximize);
  const auto kept = [&](const Tensor& tensor) { return tensor.to(p.scalar_type()) * update.keep; };
  Tensor square = g * update.add * g;
  square = update.is_first ? square + update.keep * update.start : kept(update.square) + square;
  update.square.copy_(square);
  if (update.mean.defined()) {
    Tensor mean = g * update.add;
    if (!update.is_first) mean = kept(update.mean) + mean;
    update.mean.copy_(mean);
    square = square - mean * mean;
  }
  Tensor taken = g / (square.sqrt() + update.epsilon);
  if (update.buffer.defined()) {
    if (!update.is_first) taken = update.buffer.to(p.scalar_type()) * update.momentum + taken;
    update.buffer.copy_(taken);
  }
  update.parameter.copy_(p - taken * update.rate);
}

void step_on_device(DeviceOperations& kernels, std::span<const SgdUpdate> updates) {
  kernels.sgd(updates);
}
void step_on_device(DeviceOperations& kernels, std::span<const AdamUpdate> updates) {
  kernels.adam(updates);
}
void step_on_device(DeviceOperations& kernels, std::span<const RootUpdate> updates) {
  kernels.root_step(updates);
}

template <class Update>
void take(const char* call, std::span<const Update> updates) {
  std::map<int, std::vector<Update>> of_device;
  for (const Update& update : updates) {
    if (update.parameter.numel() == 0) continue;
    if (!update.parameter.is_cpu()) {
      Update& added = of_device[update.parameter.device().index()].emplace_back(update);
      // No program may read as a gradient what another one has stepped already.
      added.grad = std::get<Tensor>(apart(update.parameter, update.grad));
      continue;
    }
    // Before anything is written: read-only memory is an error.
    for (const Tensor& written : written_by(update)) {
      if (written.defined()) (void)impl_of(written).data_to_write();
    }
  }
  for (const Update& update : updates) {
    if (update.parameter.is_cpu() && update.parameter.numel() > 0) step_on_host(update);
  }
  for (const auto& [device, group] : of_device) step_on_device(device_kernels(call), group);
}

}  // namespace

AdamUpdate adam_update(double rate, double beta1, double beta2, double epsilon, std::int64_t step) {
  const auto n = static_cast<double>(step);
  AdamUpdate update;
  update.mean_keep = beta1;
  update.mean_add = 1 - beta1;
  update.square_keep = beta2;
  update.square_add = 1 - beta2;
  update.step = rate / (1 - std::pow(beta1, n));
  update.root = 1 / std::sqrt(1 - std::pow(beta2, n));
  update.epsilon = epsilon;
  return update;
}

void check_parameter(const char* call, const Tensor& parameter) {
  if (!parameter.defined()) fail(call, "the parameter is undefined");
  if (!parameter.is_floating_point())
    fail_type(call, parameter.scalar_type(), "a parameter must be a floating-point tensor");
  check_written(call, parameter);
}

void check_gradient(const char* call, const Tensor& parameter, const Tensor& grad) {
  check_fits(call, parameter, "grad", grad);
  if (!grad.is_floating_point()) fail_type(call, grad.scalar_type(), "a gradient must be a floating-point tensor");
}

void check_state(const char* call, const Tensor& parameter, const char* name, const Tensor& state, DType type) {
  check_fits(call, parameter, name, state);
  if (state.scalar_type() != type) {
    fail(call, fmt::format("{} must be {}, but is {}; convert it with .to(…)", name, text_of(type), describe(state)));
  }
  check_written(call, state);
}

void take_steps(const char* call, std::span<const SgdUpdate> updates) {
  take(call, updates);
}
void take_steps(const char* call, std::span<const AdamUpdate> updates) {
  take(call, updates);
}
void take_steps(const char* call, std::span<const RootUpdate> updates) {
  take(call, updates);
}

namespace {

/// Tensors by what takes them: one launch for those of a device, or a call for each.
struct Takers {
  std::map<int, std::vector<Tensor>> of_device;
  std::vector<Tensor> alone;
};

Takers takers_of(std::span<const Tensor> tensors) {
  Takers takers;
  for (const Tensor& tensor : tensors) {
    if (tensor.is_cpu() || !tensor.is_floating_point() || tensor.numel() == 0)
      takers.alone.push_back(tensor);
    else
      takers.of_device[tensor.device().index()].push_back(tensor);
  }
  return takers;
}

Takers checked_takers_of(const char* call, std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) check_written(call, tensor);
  return takers_of(tensors);
}

Tensor norm_of(const Tensor& tensor, double p) {
  return std::isinf(p) && p > 0 ? tensor.abs().max() : tensor.norm(p);
}

}  // namespace

void scale_all(const char* call, std::span<const Tensor> tensors, const Tensor& total_norm, double max_norm) {
  if (total_norm.numel() != 1) fail(call, "total_norm must have one element, but is " + describe(total_norm));
  const Takers takers = checked_takers_of(call, tensors);
  std::vector<Tensor> by_calls = takers.alone;
  for (const auto& [device, group] : takers.of_device) {
    if (total_norm.is_cpu())
      by_calls.insert(by_calls.end(), group.begin(), group.end());
    else
      device_kernels(call).scale(group, total_norm.to(group.front().device()), max_norm);
  }
  if (by_calls.empty()) return;
  const Tensor factor = (max_norm / (total_norm + 1e-6)).clamp_max(1.0);
  for (const Tensor& tensor : by_calls) tensor.mul_(factor.is_cpu() ? factor : factor.to(tensor.device()));
}

void zero_all(const char* call, std::span<const Tensor> tensors) {
  const Takers takers = checked_takers_of(call, tensors);
  for (const Tensor& tensor : takers.alone) tensor.zero_();
  for (const auto& [device, group] : takers.of_device) device_kernels(call).zero(group);
}

void clamp_all(const char* call, std::span<const Tensor> tensors, double low, double high) {
  const Takers takers = checked_takers_of(call, tensors);
  for (const Tensor& tensor : takers.alone) tensor.clamp_(low, high);
  for (const auto& [device, group] : takers.of_device) device_kernels(call).clamp(group, low, high);
}

std::vector<Tensor> norms_of(const char* call, std::span<const Tensor> tensors, double p) {
  const Takers takers = takers_of(tensors);
  std::vector<Tensor> norms;
  for (const Tensor& tensor : takers.alone) norms.push_back(norm_of(tensor, p));
  for (const auto& [device, group] : takers.of_device) {
    DType type = group.front().scalar_type();
    for (const Tensor& tensor : group) type = torch::promote_types(type, tensor.scalar_type());
    const Tensor of_all = torch::empty({}, group.front().options().dtype(type));
    if (group.size() > 1 && device_kernels(call).total_norm(group, p, of_all)) {
      norms.push_back(of_all);
    } else {
      for (const Tensor& tensor : group) norms.push_back(norm_of(tensor, p));
    }
  }
  return norms;
}

}  // namespace kernbench::tensor
