// Steps of optimisers: checks, the host's arithmetic, and the launches on devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/device_operations.h"

namespace kernbench::tensor {

/// The shares, the step and the root of Adam's step number `step`, which counts from 1; the rest is the caller's.
AdamUpdate adam_update(double rate, double beta1, double beta2, double epsilon, std::int64_t step);

/// ValueError unless the parameter is a floating-point tensor whose elements have places of their own, and the gradient
/// a floating-point tensor of its shape on its device.
void check_parameter(const char* call, const torch::Tensor& parameter);
void check_gradient(const char* call, const torch::Tensor& parameter, const torch::Tensor& grad);
/// Likewise for what a parameter's steps keep, which has the type `type`.
void check_state(const char* call, const torch::Tensor& parameter, const char* name, const torch::Tensor& state,
                 DType type);

// All updates are checked already. Those on a device are one launch there, whose programs take the updates of what they
// hold in their order; parameters without elements take no step. In f32 (f64 where the parameter is f64), each written
// tensor rounded once. ValueError for memory that must not be written, and then nothing has been.
void take_steps(const char* call, std::span<const SgdUpdate> updates);
void take_steps(const char* call, std::span<const AdamUpdate> updates);
void take_steps(const char* call, std::span<const RootUpdate> updates);

// A launch for all floating-point tensors of a device, as those are of which gradients consist. ValueError for a tensor
// with several elements in one place, and then nothing has been written.
/// Each tensor times max_norm / (total_norm + 1e-6) where that is below 1; `total_norm` has one element. A launch each
/// where it is on the host.
void scale_all(const char* call, std::span<const torch::Tensor> tensors, const torch::Tensor& total_norm,
               double max_norm);
void zero_all(const char* call, std::span<const torch::Tensor> tensors);
void clamp_all(const char* call, std::span<const torch::Tensor> tensors, double low, double high);

/// Norms of order `p`, one of all floating-point tensors of a device where it can be had in two launches, and one of
/// each other tensor: each without dimensions, where the tensors are.
std::vector<torch::Tensor> norms_of(const char* call, std::span<const torch::Tensor> tensors, double p);

}  // namespace kernbench::tensor
