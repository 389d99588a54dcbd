// Gradients clipped, and parameters as one vector, as torch::nn::utils.
#pragma once

#include <initializer_list>
#include <vector>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch::nn::utils {

/// Multiplies the gradients of the parameters that have one by max_norm / (their norm + 1e-6) where that is below 1,
/// and returns their norm: that of order `norm_type` of the norms of all; of order 0 how many there are, as in
/// libtorch. It waits for the norm, as in libtorch; with --no-data it returns max_norm. Of parameters cut over ranks it
/// sees the rank's part alone. ValueError with `error_if_nonfinite` for a norm that is not finite.
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false, Where where = Where::current());
double clip_grad_norm_(std::initializer_list<Tensor> parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false, Where where = Where::current());
double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2, bool error_if_nonfinite = false,
                       Where where = Where::current());

/// The two halves of clip_grad_norm_, as in Python: neither waits, and between them a program may add up the norms of
/// parts on other ranks. A tensor without dimensions, where the first tensor is; of no tensors 0 on the host.
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type = 2, bool error_if_nonfinite = false,
                      Where where = Where::current());
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm,
                           Where where = Where::current());

/// Clamps the gradients to [-clip_value, clip_value].
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value, Where where = Where::current());
void clip_grad_value_(std::initializer_list<Tensor> parameters, double clip_value, Where where = Where::current());
void clip_grad_value_(const Tensor& parameter, double clip_value, Where where = Where::current());

/// The elements of all parameters, one after the other, as one dimension: a copy.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters, Where where = Where::current());
/// The parameters become parts of the vector (Tensor::set_data). ValueError for a vector that is too short.
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters, Where where = Where::current());

}  // namespace kernbench::torch::nn::utils
