// Modules made of modules: a chain, a list, a dictionary, and a function as a module.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernbench/nn/any_module.h"

namespace kernbench::torch::nn {

/// One module after the other, each on what the one before has yielded; the first may take several tensors. Without
/// names they are called "0", "1", ….
class SequentialImpl : public Module {
 public:
  SequentialImpl() = default;
  template <class First, class... Rest>
    requires(!std::is_base_of_v<SequentialImpl, std::remove_cvref_t<First>>)
  explicit SequentialImpl(First&& first, Rest&&... rest) {
    push_back(std::forward<First>(first));
    (push_back(std::forward<Rest>(rest)), ...);
  }
  SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
    for (const NamedAnyModule& each : modules) push_back(each.name(), each.module());
  }

  /// ValueError when there are no modules.
  template <class... Rest>
  Tensor forward(const TensorOperand& first, const Rest&... rest) {
    const Tensor inputs[] = {first.tensor, rest...};
    return run(inputs, first.where);
  }

  /// A module, a holder, a shared pointer or an AnyModule.
  template <class ModuleType>
  void push_back(ModuleType&& module) {
    push_back(std::to_string(size()), std::forward<ModuleType>(module));
  }
  template <class ModuleType>
  void push_back(std::string name, ModuleType&& module) {
    add(std::move(name), AnyModule(std::forward<ModuleType>(module)));
  }
  void push_back(const NamedAnyModule& module) { add(module.name(), module.module()); }
  /// All modules of another chain.
  template <class Container>
    requires requires(const Container& c) { c.begin()->ptr(); }
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  std::size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  auto begin() { return modules_.begin(); }
  auto begin() const { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto end() const { return modules_.end(); }
  /// IndexError outside.
  std::shared_ptr<Module> ptr(std::size_t index) const;
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }
  /// ValueError when the module is of another type.
  template <class ModuleType>
  ModuleType& at(std::size_t index) const {
    if (auto* const found = dynamic_cast<ModuleType*>(ptr(index).get())) return *found;
    throw ValueError("Sequential: the module at " + std::to_string(index) + " is of another type");
  }

  void pretty_print(std::ostream& out) const override;

 private:
  Tensor run(std::span<const Tensor> inputs, const Where& where);
  void add(std::string name, AnyModule module);

  std::vector<AnyModule> modules_;
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules)  // NOLINT(google-explicit-constructor): as in libtorch
      : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
};

/// Modules by number, called "0", "1", …, without a forward of its own.
class ModuleListImpl : public Module {
 public:
  ModuleListImpl() = default;
  template <class First, class... Rest>
    requires(!std::is_base_of_v<ModuleListImpl, std::remove_cvref_t<First>>)
  explicit ModuleListImpl(First&& first, Rest&&... rest) {
    push_back(std::forward<First>(first));
    (push_back(std::forward<Rest>(rest)), ...);
  }

  void push_back(std::shared_ptr<Module> module);
  template <class ModuleType>
  void push_back(const ModuleHolder<ModuleType>& holder) {
    push_back(std::shared_ptr<Module>(holder.ptr()));
  }
  template <class ModuleType>
    requires std::is_base_of_v<Module, std::remove_cvref_t<ModuleType>>
  void push_back(ModuleType&& module) {
    push_back(
        std::shared_ptr<Module>(std::make_shared<std::remove_cvref_t<ModuleType>>(std::forward<ModuleType>(module))));
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  std::size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  auto begin() { return modules_.begin(); }
  auto begin() const { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto end() const { return modules_.end(); }
  /// IndexError outside.
  std::shared_ptr<Module> ptr(std::size_t index) const;
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }
  template <class ModuleType>
  ModuleType& at(std::size_t index) const {
    if (auto* const found = dynamic_cast<ModuleType*>(ptr(index).get())) return *found;
    throw ValueError("ModuleList: the module at " + std::to_string(index) + " is of another type");
  }

  void pretty_print(std::ostream& out) const override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
TORCH_MODULE(ModuleList);

/// Modules by name, in order, without a forward of its own.
class ModuleDictImpl : public Module {
 public:
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
    for (const auto& [name, module] : modules) insert(name, module);
  }

  void insert(const std::string& name, std::shared_ptr<Module> module) { register_module(name, std::move(module)); }
  std::shared_ptr<Module> pop(const std::string& name);
  std::size_t size() const { return named_children().size(); }
  bool empty() const { return size() == 0; }
  bool contains(const std::string& name) const { return named_children().contains(name); }
  std::vector<std::string> keys() const { return named_children().keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children(); }
  OrderedDict<std::string, std::shared_ptr<Module>> items() const { return named_children(); }
  /// ValueError for a name that is not there.
  std::shared_ptr<Module> operator[](const std::string& name) const;

  void pretty_print(std::ostream& out) const override;
};
TORCH_MODULE(ModuleDict);

/// A function as a module: `Functional(torch::relu)`, or with further arguments, `Functional(torch::pow, 2)`.
class FunctionalImpl : public Module {
 public:
  using Function = std::function<Tensor(Tensor)>;
  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  template <class SomeFunction, class... Arguments>
    requires(sizeof...(Arguments) > 0)
  explicit FunctionalImpl(SomeFunction function, Arguments... arguments)
      : function_([=](const Tensor& x) { return function(x, arguments...); }) {}

  Tensor forward(const Tensor& x) { return function_(x); }
  Tensor operator()(const Tensor& x) { return forward(x); }
  void pretty_print(std::ostream& out) const override;

 private:
  Function function_;
};
TORCH_MODULE(Functional);

}  // namespace kernbench::torch::nn
