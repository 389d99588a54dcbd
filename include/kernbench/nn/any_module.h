// A module of any type whose forward takes tensors and yields one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kernbench/nn/module.h"

namespace kernbench::torch::nn {

/// As torch::nn::AnyModule, for tensors: what containers call.
class AnyModule {
 public:
  AnyModule() = default;
  template <class ModuleType>
    requires std::is_base_of_v<Module, ModuleType>
  explicit AnyModule(std::shared_ptr<ModuleType> module) : module_(module), forward_(forward_of(std::move(module))) {}
  template <class ModuleType>
    requires std::is_base_of_v<Module, std::remove_cvref_t<ModuleType>>
  explicit AnyModule(ModuleType&& module)
      : AnyModule(std::make_shared<std::remove_cvref_t<ModuleType>>(std::forward<ModuleType>(module))) {}
  template <class ModuleType>
  explicit AnyModule(const ModuleHolder<ModuleType>& holder) : AnyModule(holder.ptr()) {}

  bool is_empty() const { return module_ == nullptr; }
  std::shared_ptr<Module> ptr() const { return module_; }
  /// ValueError with another number of tensors than the module's forward takes.
  template <class... Rest>
  Tensor forward(const TensorOperand& first, const Rest&... rest) const {
    const Tensor inputs[] = {first.tensor, rest...};
    return call(inputs, first.where);
  }
  Tensor call(std::span<const Tensor> inputs, const Where& where) const;

 private:
  using Forward = std::function<Tensor(std::span<const Tensor>, const Where&)>;
  static constexpr std::size_t kMostInputs = 8;

  /// Calls forward with so many tensors, when it takes as many.
  template <class ModuleType, std::size_t... I>
  static bool call_with(ModuleType& module, std::span<const Tensor> in, const Where& where, Tensor& out,
                        std::index_sequence<I...>) {
    if constexpr (requires { module.forward(TensorOperand(in[0], where), in[I + 1]...); }) {
      if (in.size() == sizeof...(I) + 1) return out = module.forward(TensorOperand(in[0], where), in[I + 1]...), true;
    } else if constexpr (requires { module.forward(in[0], in[I + 1]...); }) {
      if (in.size() == sizeof...(I) + 1) return out = module.forward(in[0], in[I + 1]...), true;
    }
    return false;
  }
  template <class ModuleType>
  static Forward forward_of(std::shared_ptr<ModuleType> module) {
    return [module = std::move(module)](std::span<const Tensor> in, const Where& where) {
      Tensor out;
      const bool called = [&]<std::size_t... N>(std::index_sequence<N...>) {
        return (call_with(*module, in, where, out, std::make_index_sequence<N>()) || ...);
      }(std::make_index_sequence<kMostInputs>());
      if (!called) throw_wrong_count(*module, in.size());
      return out;
    };
  }
  [[noreturn]] static void throw_wrong_count(const Module& module, std::size_t count);

  std::shared_ptr<Module> module_;
  Forward forward_;
};

/// A module with the name that it takes in a container.
class NamedAnyModule {
 public:
  template <class ModuleType>
  NamedAnyModule(std::string name, ModuleType&& module)
      : name_(std::move(name)), module_(std::forward<ModuleType>(module)) {}
  const std::string& name() const { return name_; }
  const AnyModule& module() const { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace kernbench::torch::nn
