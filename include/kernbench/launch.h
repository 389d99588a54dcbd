// Launching kernels: torch::launch("name", kernel, arguments…).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/streams.h"
#include "kernbench/tl.h"
#include "kernbench/torch.h"
#include "kernbench/where.h"

namespace kernbench::torch {

/// Where a launch runs, with how many programs, and with which channels; by default with one program on every PE that
/// holds a shard of one of its tensors.
struct LaunchOptions {
  /// PEs of the launch's device, by cube and PE; empty: the default.
  std::vector<std::pair<CubeId, PeId>> pes = {};
  /// How many programs there are along one to three axes, as Triton's grid: tl::program_id(axis) tells them apart, axis
  /// 0 counts fastest. Each PE, in the order of cubes and PEs, runs programs that follow each other (the first ones
  /// one more each). Without `pes` these are all PEs of the device. Empty: one program on each PE. A grid with no
  /// program launches nothing.
  std::vector<std::int64_t> grid = {};
  /// Every PE of the device takes part, wherever the tensors lie.
  bool all_pes = false;
  /// Channels among the launch's programs for tl::send and tl::recv. They are installed before the programs start,
  /// unless they are already; every message must have been received when the launch completes.
  QueueOptions queues = {};
};

/// The name of a launch, any text, with the line of the call: its arguments leave no room for one behind them.
class LaunchName {
 public:
  template <std::convertible_to<std::string_view> Text>
  LaunchName(const Text& text, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : text_(text), where_(where) {}
  std::string_view text() const { return text_; }
  const Where& where() const { return where_; }

 private:
  std::string_view text_;
  Where where_;
};

namespace detail {

/// The tensors of a launch, collected while its arguments are converted.
class LaunchBuilder {
 public:
  explicit LaunchBuilder(const LaunchName& name);
  ~LaunchBuilder();
  LaunchBuilder(const LaunchBuilder&) = delete;
  LaunchBuilder& operator=(const LaunchBuilder&) = delete;
  /// What the kernel gets for `tensor`; a view of it that is not a whole tensor is an error.
  std::shared_ptr<const addressing::TensorDescriptor> add(const Tensor& tensor, bool written);
  /// Enqueues on the current stream; `body` calls the kernel with its arguments.
  void enqueue(std::function<void()> body, const LaunchOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <class Parameter, class Argument>
struct ArgumentFits
    : std::bool_constant<std::is_same_v<std::decay_t<Argument>, Tensor>
                             ? std::is_same_v<Parameter, tl::Tensor> || std::is_same_v<Parameter, tl::In>
                             : std::is_convertible_v<Argument, Parameter> && !std::is_same_v<Parameter, tl::Tensor> &&
                                   !std::is_same_v<Parameter, tl::In> &&
                                   !(std::is_floating_point_v<std::decay_t<Argument>> &&
                                     std::is_integral_v<Parameter>)> {};

template <class Parameter, class Argument>
Parameter convert_argument(LaunchBuilder& builder, Argument&& argument) {
  if constexpr (std::is_same_v<std::decay_t<Argument>, Tensor>) {
    return Parameter(builder.add(argument, std::is_same_v<Parameter, tl::Tensor>));
  } else {
    return static_cast<Parameter>(std::forward<Argument>(argument));
  }
}

template <class Kernel, class... Parameters, class... Arguments>
void launch(const LaunchOptions& options, const LaunchName& name, Kernel kernel, void (*)(Parameters...),
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "torch::launch: the number of arguments differs from the kernel's number of parameters");
  if constexpr (sizeof...(Parameters) == sizeof...(Arguments)) {
    static_assert((ArgumentFits<std::decay_t<Parameters>, Arguments>::value && ...),
                  "torch::launch: an argument's type does not fit the kernel's parameter (torch::Tensor goes to "
                  "tl::Tensor or tl::In, everything else must convert, and no float to an integer)");
    LaunchBuilder builder(name);
    // Braces fix the order of conversion to that of the arguments.
    std::tuple<std::decay_t<Parameters>...> bound{
        convert_argument<std::decay_t<Parameters>>(builder, std::forward<Arguments>(arguments))...};
    builder.enqueue([kernel = std::move(kernel), bound = std::move(bound)] { std::apply(kernel, bound); }, options);
  }
}

template <class Function>
struct CallOperator;
template <class Class, class... Parameters>
struct CallOperator<void (Class::*)(Parameters...) const> {
  static constexpr void (*signature)(Parameters...) = nullptr;
};

}  // namespace detail

/// Launches `kernel` asynchronously, in the order of the current stream of the current device: one instance on each PE
/// that holds a shard of one of its tensors. Arguments: torch::Tensor for tl::Tensor and tl::In parameters, values for
/// all others. A wrong number or type of arguments does not compile.
template <class... Parameters, class... Arguments>
void launch(const LaunchName& name, void (*kernel)(Parameters...), Arguments&&... arguments) {
  detail::launch(LaunchOptions{}, name, kernel, kernel, std::forward<Arguments>(arguments)...);
}
template <class... Parameters, class... Arguments>
void launch(const LaunchOptions& options, const LaunchName& name, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  detail::launch(options, name, kernel, kernel, std::forward<Arguments>(arguments)...);
}
/// Options come first: an error at the call, not in here.
template <class... Arguments>
void launch(const LaunchName& name, const LaunchOptions& options, Arguments&&... arguments) = delete;
/// The same for a function object that is not mutable (a lambda).
template <class Function, class... Arguments>
  requires std::is_class_v<Function>
void launch(const LaunchName& name, Function kernel, Arguments&&... arguments) {
  detail::launch(LaunchOptions{}, name, std::move(kernel),
                 detail::CallOperator<decltype(&Function::operator())>::signature,
                 std::forward<Arguments>(arguments)...);
}
template <class Function, class... Arguments>
  requires std::is_class_v<Function>
void launch(const LaunchOptions& options, const LaunchName& name, Function kernel, Arguments&&... arguments) {
  detail::launch(options, name, std::move(kernel), detail::CallOperator<decltype(&Function::operator())>::signature,
                 std::forward<Arguments>(arguments)...);
}

}  // namespace kernbench::torch
