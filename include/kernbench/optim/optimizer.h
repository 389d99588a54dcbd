// What all optimisers have in common: groups of parameters with options, and what each parameter's steps keep.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernbench/nn/ordered_dict.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::torch::optim {

/// What an optimiser keeps for a parameter. Those that can be saved say what they have by name.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  virtual std::unique_ptr<OptimizerParamState> clone() const;
  /// The tensors that are defined, and numbers as host tensors without dimensions.
  virtual OrderedDict<std::string, Tensor> tensors() const;
  /// One of these; ValueError for a name that there is not.
  virtual void set_tensor(const std::string& name, const Tensor& value);
};

template <class Derived>
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): programs derive from it as from libtorch's
class OptimizerCloneableParamState : public OptimizerParamState {
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const;
  virtual double get_lr() const;
  virtual void set_lr(double lr);
};

template <class Derived>
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): programs derive from it as from libtorch's
class OptimizerCloneableOptions : public OptimizerOptions {
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// Parameters that are stepped alike. Without options they have the optimiser's.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) = default;
  OptimizerParamGroup& operator=(const OptimizerParamGroup&) = delete;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) = default;
  ~OptimizerParamGroup() = default;
  OptimizerParamGroup(std::vector<Tensor> params)  // NOLINT(google-explicit-constructor)
      : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}

  bool has_options() const { return options_ != nullptr; }
  /// ValueError without options.
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

 protected:
  std::vector<Tensor> params_;                 // NOLINT(misc-non-private-member-variables-in-classes)
  std::unique_ptr<OptimizerOptions> options_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

/// Steps parameters, in place, by their gradients (Tensor::mutable_grad), which the program sets: there is no tape.
/// Parameters are on the host or on devices, whole or a rank's part, which is stepped without communication; one whose
/// gradient is undefined is left as it is. What a parameter's steps keep has its type and lies as it does. A step is
/// one launch for all parameters of a device.
class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  /// By the parameter, `p.impl().get()`.
  using States = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer& operator=(Optimizer&&) = delete;
  virtual ~Optimizer() = default;

  /// ValueError for a parameter that is undefined, or given twice.
  void add_param_group(const OptimizerParamGroup& param_group);
  /// To the first group.
  void add_parameters(const std::vector<Tensor>& parameters);

  /// Calls `closure`, if any, which sets the gradients, and steps. Returns the closure's loss. ValueError for a
  /// gradient or a state that does not fit its parameter, and then nothing has been changed.
  virtual Tensor step(LossClosure closure = nullptr, Where where = Where::current()) = 0;
  /// Gradients become zeros, a launch each on a device, or undefined.
  void zero_grad(bool set_to_none = false, Where where = Where::current());

  /// Those of the first group.
  std::vector<Tensor>& parameters();
  const std::vector<Tensor>& parameters() const;
  /// Of all groups.
  std::size_t size() const;
  OptimizerOptions& defaults() { return *defaults_; }
  const OptimizerOptions& defaults() const { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return param_groups_; }
  States& state() { return state_; }
  const States& state() const { return state_; }

  /// What Python's state_dict has, by name: "state.2.exp_avg" of the third parameter, and "param_groups.0.lr". The
  /// tensors are those of the optimiser, not copies.
  OrderedDict<std::string, Tensor> state_dict() const;
  /// Takes copies of these, which then lie as the parameters do, in place of all that was kept. ValueError for a name,
  /// a parameter or a shape that there is not, and then nothing has been changed.
  void load_state_dict(const OrderedDict<std::string, Tensor>& state, Where where = Where::current());

 protected:
  Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  /// What load_state_dict fills. Without it an optimiser refuses to load.
  virtual std::unique_ptr<OptimizerParamState> new_state() const;

  // As in libtorch, where derived classes use them.
  std::vector<OptimizerParamGroup> param_groups_;  // NOLINT(misc-non-private-member-variables-in-classes)
  States state_;                                   // NOLINT(misc-non-private-member-variables-in-classes)
  std::unique_ptr<OptimizerOptions> defaults_;     // NOLINT(misc-non-private-member-variables-in-classes)
};

}  // namespace kernbench::torch::optim
