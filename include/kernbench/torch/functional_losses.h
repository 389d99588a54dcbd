// torch::nn::functional: losses with their option structs, which the modules of losses share.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "kernbench/torch/losses.h"

namespace kernbench::torch {

namespace enumtype {
struct kNone {};
struct kMean {};
struct kSum {};
struct kBatchMean {};
}  // namespace enumtype
inline constexpr enumtype::kNone kNone;
inline constexpr enumtype::kMean kMean;
inline constexpr enumtype::kSum kSum;
inline constexpr enumtype::kBatchMean kBatchMean;

namespace nn {

/// How losses of elements become one: torch::kNone, kMean or kSum.
// NOLINTBEGIN(google-explicit-constructor): as in libtorch
class LossReduction {
 public:
  LossReduction(enumtype::kNone /*none*/) : number_(Reduction::None) {}
  LossReduction(enumtype::kMean /*mean*/) : number_(Reduction::Mean) {}
  LossReduction(enumtype::kSum /*sum*/) : number_(Reduction::Sum) {}
  /// As a number of torch::Reduction.
  std::int64_t number() const { return number_; }

 private:
  std::int64_t number_;
};
/// Also kBatchMean: the sum over the size of the first dimension.
class KLDivReduction : public LossReduction {
 public:
  using LossReduction::LossReduction;
  KLDivReduction(enumtype::kBatchMean /*mean*/) : LossReduction(enumtype::kSum{}), of_batch_(true) {}
  bool of_batch() const { return of_batch_; }

 private:
  bool of_batch_ = false;
};
// NOLINTEND(google-explicit-constructor)

namespace detail {

// NOLINTBEGIN(bugprone-crtp-constructor-accessibility): options are aggregates, made by {}
/// The option `reduction` of a loss, by default the mean. `Options` is the class that has it.
template <class Options, class Kind = LossReduction>
class WithReduction {
 public:
  using reduction_t = Kind;
  WithReduction() = default;
  template <class Value>
    requires std::is_convertible_v<Value, Kind>
  WithReduction(Value value) : reduction_(value) {}  // NOLINT(google-explicit-constructor): as in libtorch
  Options& reduction(const reduction_t& value) { return reduction_ = value, static_cast<Options&>(*this); }
  const reduction_t& reduction() const { return reduction_; }

 private:
  reduction_t reduction_ = enumtype::kMean{};
};

/// The option `weight`; undefined unless it is given.
template <class Options>
class WithWeight {
 public:
  Options& weight(const Tensor& value) { return weight_ = value, static_cast<Options&>(*this); }
  const Tensor& weight() const { return weight_; }

 private:
  Tensor weight_;
};

/// The option `ignore_index`: a target that does not count.
template <class Options>
class WithIgnoredIndex {
 public:
  Options& ignore_index(std::int64_t value) { return ignore_index_ = value, static_cast<Options&>(*this); }
  std::int64_t ignore_index() const { return ignore_index_; }

 private:
  std::int64_t ignore_index_ = -100;
};
// NOLINTEND(bugprone-crtp-constructor-accessibility)

inline std::optional<Tensor> if_defined(const Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace detail

class L1LossOptions : public detail::WithReduction<L1LossOptions> {
 public:
  using WithReduction::WithReduction;
};

class MSELossOptions : public detail::WithReduction<MSELossOptions> {
 public:
  using WithReduction::WithReduction;
};

class SmoothL1LossOptions : public detail::WithReduction<SmoothL1LossOptions> {
 public:
  using WithReduction::WithReduction;
  SmoothL1LossOptions& beta(double value) { return beta_ = value, *this; }
  double beta() const { return beta_; }

 private:
  double beta_ = 1;
};

class HuberLossOptions : public detail::WithReduction<HuberLossOptions> {
 public:
  using WithReduction::WithReduction;
  HuberLossOptions& delta(double value) { return delta_ = value, *this; }
  double delta() const { return delta_; }

 private:
  double delta_ = 1;
};

class KLDivLossOptions : public detail::WithReduction<KLDivLossOptions, KLDivReduction> {
 public:
  using WithReduction::WithReduction;
  KLDivLossOptions& log_target(bool value) { return log_target_ = value, *this; }
  bool log_target() const { return log_target_; }

 private:
  bool log_target_ = false;
};

class NLLLossOptions : public detail::WithReduction<NLLLossOptions>,
                       public detail::WithWeight<NLLLossOptions>,
                       public detail::WithIgnoredIndex<NLLLossOptions> {};

class CrossEntropyLossOptions : public detail::WithReduction<CrossEntropyLossOptions>,
                                public detail::WithWeight<CrossEntropyLossOptions>,
                                public detail::WithIgnoredIndex<CrossEntropyLossOptions> {
 public:
  CrossEntropyLossOptions& label_smoothing(double value) { return label_smoothing_ = value, *this; }
  double label_smoothing() const { return label_smoothing_; }

 private:
  double label_smoothing_ = 0;
};

class BCELossOptions : public detail::WithReduction<BCELossOptions>, public detail::WithWeight<BCELossOptions> {};

class BCEWithLogitsLossOptions : public detail::WithReduction<BCEWithLogitsLossOptions>,
                                 public detail::WithWeight<BCEWithLogitsLossOptions> {
 public:
  BCEWithLogitsLossOptions& pos_weight(const Tensor& value) { return pos_weight_ = value, *this; }
  const Tensor& pos_weight() const { return pos_weight_; }

 private:
  Tensor pos_weight_;
};

namespace functional {

using L1LossFuncOptions = L1LossOptions;
inline Tensor l1_loss(const TensorOperand& input, const Tensor& target, const L1LossFuncOptions& options = {}) {
  return torch::l1_loss(input, target, options.reduction().number());
}

using MSELossFuncOptions = MSELossOptions;
inline Tensor mse_loss(const TensorOperand& input, const Tensor& target, const MSELossFuncOptions& options = {}) {
  return torch::mse_loss(input, target, options.reduction().number());
}

using SmoothL1LossFuncOptions = SmoothL1LossOptions;
/// `beta` as in libtorch, which takes it beside the options and does not look at theirs.
inline Tensor smooth_l1_loss(const TensorOperand& input, const Tensor& target,
                             const SmoothL1LossFuncOptions& options = {}, double beta = 1) {
  return torch::smooth_l1_loss(input, target, options.reduction().number(), beta);
}

using HuberLossFuncOptions = HuberLossOptions;
inline Tensor huber_loss(const TensorOperand& input, const Tensor& target, const HuberLossFuncOptions& options = {}) {
  return torch::huber_loss(input, target, options.reduction().number(), options.delta());
}

using KLDivFuncOptions = KLDivLossOptions;
/// With kBatchMean the sum over the size of the first dimension.
Tensor kl_div(const TensorOperand& input, const Tensor& target, const KLDivFuncOptions& options = {});

using NLLLossFuncOptions = NLLLossOptions;
/// Of two or more dimensions.
Tensor nll_loss(const TensorOperand& input, const Tensor& target, const NLLLossFuncOptions& options = {});

using CrossEntropyFuncOptions = CrossEntropyLossOptions;
inline Tensor cross_entropy(const TensorOperand& input, const Tensor& target,
                            const CrossEntropyFuncOptions& options = {}) {
  return torch::cross_entropy_loss(input, target, nn::detail::if_defined(options.weight()),
                                   options.reduction().number(), options.ignore_index(), options.label_smoothing());
}

using BinaryCrossEntropyFuncOptions = BCELossOptions;
inline Tensor binary_cross_entropy(const TensorOperand& input, const Tensor& target,
                                   const BinaryCrossEntropyFuncOptions& options = {}) {
  return torch::binary_cross_entropy(input, target, nn::detail::if_defined(options.weight()),
                                     options.reduction().number());
}

using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
/// Of one shape.
Tensor binary_cross_entropy_with_logits(const TensorOperand& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {});

}  // namespace functional

}  // namespace nn

}  // namespace kernbench::torch
