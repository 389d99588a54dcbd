#include "kernbench/tp/layers.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernbench/dtype.h"
#include "kernbench/error.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "kernbench/tp/mappings.h"
#include "kernbench/tp/overlap.h"
#include "parallel/begun.h"
#include "parallel/group_of.h"
#include "parallel/master_weight.h"
#include "parallel/parameter_grads.h"
#include "parallel/saved.h"
#include "runtime/context.h"
#include "tensor/host_call.h"

namespace kernbench::tp {

using torch::Tensor;

namespace {

constexpr const char* kColumn = "ColumnParallelLinear";
constexpr const char* kRow = "RowParallelLinear";

/// One size under its two names.
std::int64_t size_of(const char* layer, const char* name, std::int64_t size, const char* other,
                     std::int64_t other_size) {
  if (size != 0 && other_size != 0 && size != other_size) {
    throw ValueError(fmt::format("{}: {} ({}) and {} ({}) are two names of one size; give one of them", layer, name,
                                 size, other, other_size));
  }
  const std::int64_t given = size != 0 ? size : other_size;
  if (given >= 1) return given;
  throw ValueError(fmt::format("{}: {} must be at least 1, got {}", layer, name, given));
}

/// Fills in what stands for something else, and checks the rest.
LinearOptions settled(const char* layer, LinearOptions options, const GroupOf& of) {
  options.in_features = options.input_size =
      size_of(layer, "input_size", options.input_size, "in_features", options.in_features);
  options.out_features = options.output_size =
      size_of(layer, "output_size", options.output_size, "out_features", options.out_features);
  options.tp_group = of.group;
  if (options.tp_comm_num_splits < 0) {
    throw ValueError(
        fmt::format("{}: tp_comm_num_splits must be at least 0, got {}", layer, options.tp_comm_num_splits));
  }
  if (options.tp_comm_num_splits > 0 && !options.tp_comm_overlap) {
    throw ValueError(
        fmt::format("{}: tp_comm_num_splits ({}) says how communication overlaps, and tp_comm_overlap is false; set "
                    "tp_comm_overlap, or leave the number out",
                    layer, options.tp_comm_num_splits));
  }
  if (options.sequence_parallel && of.size == 1) {
    runtime::current_context(layer).simulation.warn_once(
        "`sequence_parallel` is set to `True`, but tensor model parallel size is 1. Disabling sequence parallel.");
    options.sequence_parallel = false;
  }
  return options;
}

/// The rank's part of the master weight along `dimension`.
Tensor weight_of(const char* layer, const LinearOptions& options, const GroupOf& of, std::int64_t dimension) {
  return on_device(part_of({layer, options.output_size, options.input_size, options.init_method}, dimension, of),
                   options.dtype.type(), options.weight_placement);
}

Tensor zero_bias(const LinearOptions& options, std::int64_t length) {
  return on_device(torch::zeros({length}), options.dtype.type(), options.weight_placement);
}

void check_input(const char* layer, const Tensor& x, std::int64_t features) {
  if (!x.defined()) throw ValueError(fmt::format("{}: the input is undefined", layer));
  if (x.dim() == 0) {
    throw ValueError(
        fmt::format("{}: the input is a scalar, and needs at least one dimension, of {} elements", layer, features));
  }
  if (x.size(-1) == features) return;
  throw ValueError(
      fmt::format("{}: the input's last dimension is {}, but the weight expects {}", layer, x.size(-1), features));
}

Tensor placed(const Tensor& output, const LinearOptions& options) {
  return options.output_placement ? output.to(output.options().placement(*options.output_placement)) : output;
}

OverlapOptions overlap_of(const LinearOptions& options) {
  return {options.tp_group, options.sequence_parallel, options.tp_comm_num_splits};
}

void check_bias_is_added(const char* layer, const LinearOptions& options) {
  if (!options.skip_bias_add || !options.bias) return;
  throw ValueError(fmt::format(
      "{}: operator() returns the output alone, and skip_bias_add leaves the bias to the caller; call forward()",
      layer));
}

}  // namespace

LayerType::LayerType(torch::ScalarType type, Where where) : LayerType(kernbench::name(type), where) {}

LayerType::LayerType(const char* name, Where where) : type_(torch::kFloat) {
  for (const DType each : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    if (kernbench::name(each) != std::string_view(name)) continue;
    type_ = each;
    return;
  }
  const tensor::HostCall here("LayerType", where);
  throw ValueError(fmt::format("a layer's dtype is one of f32, f16, bf16, f8e4m3 and f8e5m2, not \"{}\"", name));
}

ColumnParallelLinear::ColumnParallelLinear(LinearOptions options, Where where) {
  const tensor::HostCall here(kColumn, where);
  const GroupOf of(options.tp_group, kColumn);
  options_ = settled(kColumn, std::move(options), of);
  if (options_.input_is_parallel) {
    throw ValueError(
        "ColumnParallelLinear: input_is_parallel is an option of RowParallelLinear; a column's input is whole, or with "
        "sequence_parallel shared along its first dimension: leave it out");
  }
  if (options_.gather_output && options_.sequence_parallel) {
    throw ValueError(
        "ColumnParallelLinear: gather_output and sequence_parallel exclude each other, as in Megatron-LM; set "
        "gather_output to false, or share no tokens");
  }
  check_divides(kColumn, "output_size", options_.output_size, of.size);
  weight_ = weight_of(kColumn, options_, of, 0);
  if (options_.bias) bias_ = zero_bias(options_, options_.output_size / of.size);
}

LinearForward ColumnParallelLinear::forward_saving(const Tensor& x, Where where) const {
  const tensor::HostCall here(kColumn, where);
  const GroupOf of(options_.tp_group, kColumn);  // it is still there
  check_input(kColumn, x, options_.input_size);
  const Tensor added = options_.bias && !options_.skip_bias_add ? bias_ : Tensor();
  Forward linear;
  if (options_.sequence_parallel && options_.tp_comm_overlap) {
    const GatheredLinear both = gather_linear_overlapped(x, weight_, added, overlap_of(options_));
    linear = {both.output, {both.input, weight_}};
    if (added.defined()) linear.saved.push_back(added);
  } else {
    const Tensor whole = options_.sequence_parallel ? gather_from_sequence_parallel_region(x, options_.tp_group)
                                                    : copy_to_tensor_model_parallel_region(x, options_.tp_group);
    linear = linear_forward(whole, weight_, added);
  }
  if (options_.gather_output)
    linear.output = gather_from_tensor_model_parallel_region(linear.output, options_.tp_group);
  return {placed(linear.output, options_), options_.skip_bias_add ? bias_ : Tensor(), std::move(linear.saved)};
}

std::pair<Tensor, Tensor> ColumnParallelLinear::forward(const Tensor& x, Where where) const {
  LinearForward result = forward_saving(x, where);
  return {std::move(result.output), std::move(result.bias)};
}

LinearGrads ColumnParallelLinear::backward(const Saved& saved, const Tensor& grad, Where where) const {
  const tensor::HostCall here(kColumn, where);
  constexpr const char* kCall = "ColumnParallelLinear::backward";
  const GroupOf of(options_.tp_group, kCall);
  check_saved(kCall, saved, options_.bias && !options_.skip_bias_add ? 3 : 2);
  check_grad(kCall, grad, with_last(saved.at(0), options_.gather_output ? options_.output_size : weight_.size(0)));
  check_grad_is_like(kCall, grad, saved.at(1));
  const Tensor part =
      options_.gather_output ? gather_from_tensor_model_parallel_region_backward(grad, options_.tp_group) : grad;
  if (!options_.tp_comm_overlap) {
    LinearGrads grads = linear_backward(saved, part);
    grads.input = options_.sequence_parallel
                      ? gather_from_sequence_parallel_region_backward(grads.input, options_.tp_group)
                      : copy_to_tensor_model_parallel_region_backward(grads.input, options_.tp_group);
    return grads;
  }
  const Tensor input = torch::matmul(part, saved.at(1));
  const Begun sum = options_.sequence_parallel ? begin_reduce_scatter(input, of, kColumn, /*async_op=*/true)
                                               : begin_reduce(input, of, /*async_op=*/true);
  LinearGrads grads = linear_parameter_grads(saved, part);
  grads.input = sum.wait();
  return grads;
}

Tensor ColumnParallelLinear::operator()(const Tensor& x, Where where) const {
  check_bias_is_added(kColumn, options_);
  return forward(x, where).first;
}

RowParallelLinear::RowParallelLinear(LinearOptions options, Where where) {
  const tensor::HostCall here(kRow, where);
  const GroupOf of(options.tp_group, kRow);
  options_ = settled(kRow, std::move(options), of);
  if (options_.gather_output) {
    throw ValueError(
        "RowParallelLinear: gather_output is an option of ColumnParallelLinear; a row's output is whole on each rank, "
        "or with sequence_parallel shared along its first dimension: leave it out");
  }
  check_divides(kRow, "input_size", options_.input_size, of.size);
  if (options_.sequence_parallel && !options_.input_is_parallel) {
    throw ValueError("RowParallelLinear: to enable sequence_parallel, input_is_parallel must be true");
  }
  weight_ = weight_of(kRow, options_, of, 1);
  if (options_.bias) bias_ = zero_bias(options_, options_.output_size);
}

LinearForward RowParallelLinear::forward_saving(const Tensor& x, Where where) const {
  const tensor::HostCall here(kRow, where);
  const GroupOf of(options_.tp_group, kRow);  // it is still there
  check_input(kRow, x, options_.input_is_parallel ? weight_.size(1) : options_.input_size);
  const Tensor part = options_.input_is_parallel ? x : scatter_to_tensor_model_parallel_region(x, options_.tp_group);
  Tensor output;
  if (options_.tp_comm_overlap) {
    output = linear_reduce_overlapped(part, weight_, overlap_of(options_));
  } else {
    const Tensor product = torch::linear(part, weight_);
    output = options_.sequence_parallel ? reduce_scatter_to_sequence_parallel_region(product, options_.tp_group)
                                        : reduce_from_tensor_model_parallel_region(product, options_.tp_group);
  }
  if (options_.bias && !options_.skip_bias_add) output = output + bias_;
  return {placed(output, options_), options_.skip_bias_add ? bias_ : Tensor(), {part, weight_}};
}

std::pair<Tensor, Tensor> RowParallelLinear::forward(const Tensor& x, Where where) const {
  LinearForward result = forward_saving(x, where);
  return {std::move(result.output), std::move(result.bias)};
}

LinearGrads RowParallelLinear::backward(const Saved& saved, const Tensor& grad, Where where) const {
  const tensor::HostCall here(kRow, where);
  constexpr const char* kCall = "RowParallelLinear::backward";
  const GroupOf of(options_.tp_group, kCall);
  check_saved(kCall, saved, 2);
  std::vector<std::int64_t> output = with_last(saved.at(0), weight_.size(0));
  if (options_.sequence_parallel) output.front() /= of.size;
  check_grad(kCall, grad, output);
  check_grad_is_like(kCall, grad, saved.at(1));
  Saved with_bias = saved;
  // The bias was added after the sum, but its gradient is that of a plain layer: all tokens are here.
  if (options_.bias && !options_.skip_bias_add) with_bias.push_back(bias_);
  LinearGrads grads;
  if (options_.sequence_parallel && options_.tp_comm_overlap) {
    const GatheredLinear both = gather_linear_overlapped(grad, saved.at(1).t(), {}, overlap_of(options_));
    grads = linear_parameter_grads(with_bias, both.input);
    grads.input = both.output;
  } else {
    grads =
        linear_backward(with_bias, options_.sequence_parallel
                                       ? reduce_scatter_to_sequence_parallel_region_backward(grad, options_.tp_group)
                                       : reduce_from_tensor_model_parallel_region_backward(grad, options_.tp_group));
  }
  if (!options_.input_is_parallel)
    grads.input = scatter_to_tensor_model_parallel_region_backward(grads.input, options_.tp_group);
  return grads;
}

Tensor RowParallelLinear::operator()(const Tensor& x, Where where) const {
  check_bias_is_added(kRow, options_);
  return forward(x, where).first;
}

}  // namespace kernbench::tp
