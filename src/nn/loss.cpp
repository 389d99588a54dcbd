#include "kernbench/nn/loss.h"

#include <ostream>

namespace kernbench::torch::nn {

Tensor L1LossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::l1_loss(input, target, options);
}
void L1LossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::L1Loss()";
}

Tensor MSELossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::mse_loss(input, target, options);
}
void MSELossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::MSELoss()";
}

Tensor SmoothL1LossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::smooth_l1_loss(input, target, options, options.beta());
}
void SmoothL1LossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::SmoothL1Loss";
}

Tensor HuberLossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::huber_loss(input, target, options);
}
void HuberLossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::HuberLoss";
}

Tensor KLDivLossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::kl_div(input, target, options);
}
void KLDivLossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::KLDivLoss()";
}

NLLLossImpl::NLLLossImpl(const NLLLossOptions& given)
    : options(given), weight(register_buffer("weight", options.weight())) {}
Tensor NLLLossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::nll_loss(input, target, NLLLossOptions(options).weight(weight));
}
void NLLLossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::NLLLoss()";
}

CrossEntropyLossImpl::CrossEntropyLossImpl(const CrossEntropyLossOptions& given)
    : options(given), weight(register_buffer("weight", options.weight())) {}
Tensor CrossEntropyLossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::cross_entropy(input, target, CrossEntropyLossOptions(options).weight(weight));
}
void CrossEntropyLossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::CrossEntropyLoss()";
}

BCELossImpl::BCELossImpl(const BCELossOptions& given) : options(given) {
  register_buffer("weight", options.weight());
}
Tensor BCELossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::binary_cross_entropy(input, target, options);
}
void BCELossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::BCELoss()";
}

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& given)
    : options(given),
      weight(register_buffer("weight", options.weight())),
      pos_weight(register_buffer("pos_weight", options.pos_weight())) {}
Tensor BCEWithLogitsLossImpl::forward(const TensorOperand& input, const Tensor& target) const {
  return functional::binary_cross_entropy_with_logits(
      input, target, BCEWithLogitsLossOptions(options).weight(weight).pos_weight(pos_weight));
}
void BCEWithLogitsLossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::BCEWithLogitsLoss()";
}

}  // namespace kernbench::torch::nn
