// Linear layers whose weights are cut over the ranks of a tensor parallel group, as Megatron-LM's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kernbench/tp/gradients.h"
#include "kernbench/tp/parallel_state.h"

namespace kernbench::tp {

/// The element type of a layer, also by its name: "f32", "f16", "bf16", "f8e4m3" or "f8e5m2". ValueError for others.
class LayerType {
 public:
  LayerType(torch::ScalarType type, Where where = Where::current());  // NOLINT(google-explicit-constructor)
  LayerType(const char* name, Where where = Where::current());        // NOLINT(google-explicit-constructor)
  torch::ScalarType type() const { return type_; }

 private:
  torch::ScalarType type_;
};

struct LinearOptions {
  /// Of the whole layer; `in_features` and `out_features` are other names for them.
  std::int64_t input_size = 0, output_size = 0;
  std::int64_t in_features = 0, out_features = 0;
  bool bias = true;
  /// ColumnParallelLinear: every rank gets the whole output. ValueError with sequence_parallel, and of a row.
  bool gather_output = false;
  /// RowParallelLinear: the input is the rank's part already. ValueError of a column.
  bool input_is_parallel = false;
  /// The bias is not added, but returned beside the output, for a kernel that adds it with something else.
  bool skip_bias_add = false;
  /// The input of a column, and the output of a row, is shared along its first dimension: the all-reduce of a pair of
  /// layers becomes a reduce-scatter and an all-gather. In a group of one rank it is off, with a warning.
  bool sequence_parallel = false;
  /// Communication runs beside computation (overlap.h): a row's reduction in chunks of rows, with sequence_parallel
  /// also a column's all-gather; backward what is sent of the input's gradient beside the product of the weight's. In a
  /// group of one rank nothing changes.
  bool tp_comm_overlap = false;
  /// With tp_comm_overlap, chunks of a row's reduction; 0: chosen. ValueError for more without it.
  std::int64_t tp_comm_num_splits = 0;
  LayerType dtype = torch::kFloat;
  /// Fills the master weight [output_size, input_size], a host tensor of f32, which every rank makes alike and of which
  /// it keeps its part: the model is the same for each number of ranks. Without one, normal numbers with a deviation
  /// of 0.02 from the rank's generator, as torch::randn gives them.
  std::function<void(torch::Tensor& weight)> init_method = {};
  /// The tensor parallel group; empty: that of initialize_model_parallel.
  ProcessGroup tp_group = {};
  /// On the device; by default weights are spread over all PEs, and outputs lie as the product yields them.
  std::optional<DPPolicy> weight_placement = {}, output_placement = {};
};

struct LinearForward {
  torch::Tensor output;
  torch::Tensor bias;  // as the second of forward()
  Saved saved;
};

/// Y = X Aᵀ + b with the rows of A (Y's columns) cut over the group: a rank has [output_size / n, input_size], and its
/// part of the bias, which is zero at first.
class ColumnParallelLinear {
 public:
  explicit ColumnParallelLinear(LinearOptions options, Where where = Where::current());

  /// x is [..., input_size]; with sequence_parallel the rank's part of the first dimension. The output is [...,
  /// output_size / n], or with gather_output [..., output_size]. The second is the bias with skip_bias_add, else
  /// undefined.
  std::pair<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x, Where where = Where::current()) const;
  /// The output alone; ValueError with skip_bias_add, where the bias would be lost.
  torch::Tensor operator()(const torch::Tensor& x, Where where = Where::current()) const;
  LinearForward forward_saving(const torch::Tensor& x, Where where = Where::current()) const;
  /// Gradients of the input (as the rank gave it), and of the rank's weight and bias; that of the bias is undefined
  /// without one and with skip_bias_add. Communicates by the conjugates of forward's mappings: one all-reduce of the
  /// input's gradient, or with sequence_parallel a reduce-scatter (the gathered input is kept).
  LinearGrads backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current()) const;

  const torch::Tensor& weight() const { return weight_; }
  const torch::Tensor& bias() const { return bias_; }  // undefined without one

 private:
  LinearOptions options_;
  torch::Tensor weight_, bias_;
};

/// Y = X Aᵀ + b with the columns of A (X's columns) cut over the group: a rank has [output_size, input_size / n], and
/// the whole bias, which is added once, after the sum over the ranks.
class RowParallelLinear {
 public:
  explicit RowParallelLinear(LinearOptions options, Where where = Where::current());

  /// x is [..., input_size / n] with input_is_parallel, else [..., input_size]. The output is whole on each rank, with
  /// sequence_parallel the rank's part of the first dimension. The second as in ColumnParallelLinear.
  std::pair<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x, Where where = Where::current()) const;
  torch::Tensor operator()(const torch::Tensor& x, Where where = Where::current()) const;
  LinearForward forward_saving(const torch::Tensor& x, Where where = Where::current()) const;
  /// Gradients of the input (as the rank gave it), and of the rank's weight and bias; that of the bias is undefined
  /// without one and with skip_bias_add. Communicates by the conjugates of forward's mappings: nothing, or with
  /// sequence_parallel an all-gather; without input_is_parallel another one of the input's gradient.
  LinearGrads backward(const Saved& saved, const torch::Tensor& grad, Where where = Where::current()) const;

  const torch::Tensor& weight() const { return weight_; }
  const torch::Tensor& bias() const { return bias_; }

 private:
  LinearOptions options_;
  torch::Tensor weight_, bias_;
};

}  // namespace kernbench::tp
