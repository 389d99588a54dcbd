// A module's handle, which reads like a value and is shared like a pointer, as torch::nn::ModuleHolder.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernbench/error.h"
#include "kernbench/torch/operands.h"
#include "kernbench/torch/tensor.h"

namespace kernbench::torch::nn {

class Module;

/// Owns a `Contained` together with its copies. TORCH_MODULE derives a class from it for each module.
template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;

  /// A module without arguments, where it has such a constructor; use `nullptr` for an empty handle.
  ModuleHolder() : impl_(make_default()) {}
  /// Empty, to be assigned later.
  ModuleHolder(std::nullptr_t) {}                                                // NOLINT(google-explicit-constructor)
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}  // NOLINT(google-explicit-constructor)
  /// A module of these arguments.
  template <class First, class... Rest>
    requires(sizeof...(Rest) > 0 || (!std::is_base_of_v<ModuleHolder, std::remove_cvref_t<First>> &&
                                     !std::is_convertible_v<First, std::shared_ptr<Contained>> &&
                                     !std::is_same_v<std::remove_cvref_t<First>, std::nullptr_t>))
  explicit ModuleHolder(First&& first, Rest&&... rest)
      : impl_(std::make_shared<Contained>(std::forward<First>(first), std::forward<Rest>(rest)...)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  bool is_empty() const { return impl_ == nullptr; }
  /// ValueError when empty.
  const std::shared_ptr<Contained>& ptr() const {
    if (!impl_) throw ValueError("the module holder is empty: it was made from nullptr and never assigned");
    return impl_;
  }
  Contained* get() const { return ptr().get(); }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }

  /// forward() of the module; a tensor as the first argument brings the line of the call along.
  template <class... Rest>
  decltype(auto) operator()(const TensorOperand& first, Rest&&... rest) const {
    if constexpr (requires(Contained& module) { module.forward(first, std::forward<Rest>(rest)...); })
      return get()->forward(first, std::forward<Rest>(rest)...);
    else
      return get()->forward(first.tensor, std::forward<Rest>(rest)...);
  }
  template <class First, class... Rest>
    requires(!std::is_convertible_v<First, const Tensor&>)
  decltype(auto) operator()(First&& first, Rest&&... rest) const {
    return get()->forward(std::forward<First>(first), std::forward<Rest>(rest)...);
  }
  decltype(auto) operator()() const { return get()->forward(); }
  /// Of a container.
  template <class Index>
  decltype(auto) operator[](Index&& index) const {
    return (*get())[std::forward<Index>(index)];
  }

 protected:
  std::shared_ptr<Contained> impl_;  // NOLINT(misc-non-private-member-variables-in-classes): as in libtorch

 private:
  static std::shared_ptr<Contained> make_default() {
    static_assert(std::is_default_constructible_v<Contained>,
                  "this module has no constructor without arguments: make an empty handle with nullptr");
    return std::make_shared<Contained>();
  }
};

}  // namespace kernbench::torch::nn

/// `TORCH_MODULE(Net);` declares the handle `Net` of the module `NetImpl`.
#define TORCH_MODULE(Name)                                                            \
  class Name : public ::kernbench::torch::nn::ModuleHolder<Name##Impl> { /* NOLINT */ \
   public:                                                                            \
    using ::kernbench::torch::nn::ModuleHolder<Name##Impl>::ModuleHolder;             \
  }
