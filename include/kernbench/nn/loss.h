// Losses as modules. Each is its function (kernbench/torch/losses.h) with the options that it was made with.
#pragma once

#include "kernbench/nn/module.h"
#include "kernbench/torch/functional_losses.h"

namespace kernbench::torch::nn {

class L1LossImpl : public Module {
 public:
  explicit L1LossImpl(const L1LossOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  L1LossOptions options;
};
TORCH_MODULE(L1Loss);

class MSELossImpl : public Module {
 public:
  explicit MSELossImpl(const MSELossOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  MSELossOptions options;
};
TORCH_MODULE(MSELoss);

class SmoothL1LossImpl : public Module {
 public:
  explicit SmoothL1LossImpl(const SmoothL1LossOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  SmoothL1LossOptions options;
};
TORCH_MODULE(SmoothL1Loss);

class HuberLossImpl : public Module {
 public:
  explicit HuberLossImpl(const HuberLossOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  HuberLossOptions options;
};
TORCH_MODULE(HuberLoss);

class KLDivLossImpl : public Module {
 public:
  explicit KLDivLossImpl(const KLDivLossOptions& given = {}) : options(given) {}
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  KLDivLossOptions options;
};
TORCH_MODULE(KLDivLoss);

// Weights are buffers: `to` takes them along. They may be undefined.

class NLLLossImpl : public Module {
 public:
  explicit NLLLossImpl(const NLLLossOptions& given = {});
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  NLLLossOptions options;
  Tensor weight;
};
TORCH_MODULE(NLLLoss);

class CrossEntropyLossImpl : public Module {
 public:
  explicit CrossEntropyLossImpl(const CrossEntropyLossOptions& given = {});
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  CrossEntropyLossOptions options;
  Tensor weight;
};
TORCH_MODULE(CrossEntropyLoss);

class BCELossImpl : public Module {
 public:
  explicit BCELossImpl(const BCELossOptions& given = {});
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  BCELossOptions options;
};
TORCH_MODULE(BCELoss);

class BCEWithLogitsLossImpl : public Module {
 public:
  explicit BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& given = {});
  Tensor forward(const TensorOperand& input, const Tensor& target) const;
  void pretty_print(std::ostream& out) const override;

  BCEWithLogitsLossOptions options;
  Tensor weight, pos_weight;
};
TORCH_MODULE(BCEWithLogitsLoss);

}  // namespace kernbench::torch::nn
