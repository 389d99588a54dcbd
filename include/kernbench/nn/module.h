// What all modules have in common: named parameters, buffers and children, as torch::nn::Module.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/nn/module_holder.h"
#include "kernbench/nn/ordered_dict.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::torch::nn {

/// What load_state_dict found without a counterpart.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys, unexpected_keys;
};

/// A part of a model: derive from it, register what it has, and give it a `forward` of whatever form. Names of nested
/// modules are joined by dots, and the order is that of registration: a module's own before those of its children. A
/// tensor that is undefined is registered, but never listed. Host and device alike; nothing here takes simulated time
/// but `to` and load_state_dict, which copy.
///
/// There is no tape: gradients come from pairs of functions (kernbench/tp/gradients.h), and the program sets them
/// (Tensor::mutable_grad); `requires_grad` is accepted and ignored.
class Module : public std::enable_shared_from_this<Module> {
 public:
  /// Its name in print; by default that of its class.
  explicit Module(std::string name);
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
  virtual ~Module() = default;

  const std::string& name() const;

  /// Names are not empty and have no dot, and none is given twice, also not to a parameter and a buffer or module:
  /// ValueError. What is returned is the registered handle itself; copies of it share the elements, so that a member
  /// `weight = register_parameter("weight", …)` follows when the module moves.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, const ModuleHolder<ModuleType>& holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// In the place of the child of that name.
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, std::shared_ptr<ModuleType> module) {
    replace_child(name, module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, const ModuleHolder<ModuleType>& holder) {
    return replace_module(name, holder.ptr());
  }
  /// ValueError when there is none of that name; so is it of replace_module.
  void unregister_module(const std::string& name);

  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  /// This one and all below it. ValueError with include_self for a module that no std::shared_ptr owns.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const { return children_; }
  /// Calls `function` with this module and then with all below it.
  void apply(const std::function<void(Module&)>& function);
  void apply(const std::function<void(const std::string&, Module&)>& function, const std::string& name_prefix = {});

  /// Training mode, which dropout knows, of this module and all below it. On at first.
  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const { return training_; }

  /// Gradients of all parameters (Tensor::mutable_grad) become zeros, a launch each on a device, or undefined.
  virtual void zero_grad(bool set_to_none = false, Where where = Where::current());

  /// Moves and converts all parameters, with their gradients, and buffers. Every handle of a parameter follows, views
  /// of its elements do not. A type is that of floating-point tensors only: whole numbers and masks keep theirs (as in
  /// Python; libtorch converts them too), and a type of whole numbers is a ValueError. With options also a placement on
  /// the device.
  virtual void to(const TensorOptions& options, bool non_blocking = false, Where where = Where::current());
  void to(Device device, ScalarType type, bool non_blocking = false, Where where = Where::current());
  void to(ScalarType type, bool non_blocking = false, Where where = Where::current());
  void to(Device device, bool non_blocking = false, Where where = Where::current());
  void to(DeviceType device, bool non_blocking = false, Where where = Where::current());
  void to(const char* device, bool non_blocking = false, Where where = Where::current());

  /// Parameters and buffers by name, in the order of Python's state_dict: of each module its parameters, then its
  /// buffers. They share the elements.
  OrderedDict<std::string, Tensor> state_dict() const;
  /// Copies the tensors of `state` into those of this module, wherever both lie and whatever their types are. With
  /// `strict`, names that one side lacks are a ValueError; shapes that differ are one in any case. One error has
  /// everything that is wrong, in PyTorch's words, and nothing has been copied then.
  IncompatibleKeys load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict = true,
                                   Where where = Where::current());

  template <class ModuleType>
    requires requires { typename ModuleType::ContainedType; }
  typename ModuleType::ContainedType* as() {
    return dynamic_cast<typename ModuleType::ContainedType*>(this);
  }
  template <class ModuleType>
  ModuleType* as() {
    return dynamic_cast<ModuleType*>(this);
  }
  template <class ModuleType>
    requires requires { typename ModuleType::ContainedType; }
  const typename ModuleType::ContainedType* as() const {
    return dynamic_cast<const typename ModuleType::ContainedType*>(this);
  }
  template <class ModuleType>
  const ModuleType* as() const {
    return dynamic_cast<const ModuleType*>(this);
  }

  /// The module without what is below it: "torch::nn::Linear(in_features=3, out_features=4, bias=true)".
  virtual void pretty_print(std::ostream& out) const;
  /// With all below it, one on a line.
  friend std::ostream& operator<<(std::ostream& out, const Module& module);

 protected:
  // As in libtorch, where derived classes use it.
  OrderedDict<std::string, Tensor> parameters_{"Parameter"};  // NOLINT(misc-non-private-member-variables-in-classes)

 private:
  using Visit = std::function<void(const std::string& prefix, Module& module)>;

  void add_child(std::string name, std::shared_ptr<Module> module);
  void replace_child(const std::string& name, std::shared_ptr<Module> module);
  /// ValueError when `module` is this one or has it below it.
  void check_no_cycle(const std::string& name, Module* module) const;
  /// ValueError when `name` is in a dictionary other than `own`, which refuses what it has itself.
  template <class Own>
  void check_free(const std::string& name, const Own& own) const;
  void visit(const std::string& prefix, const Visit& function);
  void print_with_children(std::ostream& out, const std::string& indentation) const;

  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};
  mutable std::optional<std::string> name_;
  bool training_ = true;
};

std::ostream& operator<<(std::ostream& out, const Module& module);

template <class Contained>
std::ostream& operator<<(std::ostream& out, const ModuleHolder<Contained>& module) {
  return out << static_cast<const Module&>(*module);
}

}  // namespace kernbench::torch::nn
