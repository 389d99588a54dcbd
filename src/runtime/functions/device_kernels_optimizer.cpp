// Steps of an optimiser, and what is done to all gradients of a device.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/functions/device_kernels.h"
#include "tensor/tensor_impl.h"
#include "tile/library/optimizer.h"
#include "tile/library/reduce.h"

namespace kernbench::runtime {

namespace library = tile::library;
using torch::Tensor;

namespace {

float as_f32(double value) {
  return static_cast<float>(value);
}

std::optional<library::View> written_view(const Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  return kernel_view(tensor, true);
}

/// Those that are there.
std::vector<Tensor> defined(std::initializer_list<Tensor> tensors) {
  std::vector<Tensor> found;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined()) found.push_back(tensor);
  }
  return found;
}

template <class Update>
std::vector<PeCoordinate> holders_of_parameters(std::span<const Update> updates) {
  std::vector<Tensor> parameters;
  for (const Update& update : updates) parameters.push_back(update.parameter);
  return holders(parameters);
}

/// Steps in groups, in order: none of a group reads what another one of it writes, as two that step views of one tensor
/// do, so that a kernel may load ahead.
template <class Step>
class StepGroups {
 public:
  void add(Step step, const std::vector<Tensor>& written, const Tensor& grad) {
    const auto is_written = [&](const Tensor& tensor) {
      return written_.contains(tensor::device_storage(tensor).get());
    };
    if (groups_.empty() || is_written(grad) || std::ranges::any_of(written, is_written)) {
      groups_.emplace_back();
      written_.clear();
    }
    groups_.back().push_back(std::move(step));
    for (const Tensor& tensor : written) written_.insert(tensor::device_storage(tensor).get());
  }
  /// A kernel that runs the groups, one after the other.
  std::function<void()> kernel(void (*run)(const std::vector<Step>&)) {
    return [groups = std::move(groups_), run] {
      for (const auto& steps : groups) run(steps);
    };
  }

 private:
  std::vector<std::vector<Step>> groups_;
  std::set<const void*> written_;
};

std::vector<library::View> views_of(std::span<const Tensor> tensors, bool written) {
  std::vector<library::View> views;
  for (const Tensor& tensor : tensors) views.push_back(kernel_view(tensor, written));
  return views;
}

void append(std::vector<Tensor>& all, const std::vector<Tensor>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

void SimulatedOperations::sgd(std::span<const tensor::SgdUpdate> updates) {
  StepGroups<library::SgdStep> groups;
  Call call{.name = "sgd", .written = {}, .read = {}, .pes = holders_of_parameters(updates), .body = {}};
  for (const tensor::SgdUpdate& update : updates) {
    const std::vector<Tensor> written = defined({update.parameter, update.buffer});
    append(call.written, written);
    call.read.push_back(update.grad);
    groups.add({.parameter = kernel_view(update.parameter, true),
                .grad = kernel_view(update.grad, false),
                .buffer = written_view(update.buffer),
                .rate = as_f32(update.rate),
                .decay = as_f32(update.decay),
                .keep = as_f32(update.keep),
                .add = as_f32(update.add),
                .is_first = update.is_first,
                .nesterov = update.nesterov,
                .maximize = update.maximize},
               written, update.grad);
  }
  call.body = groups.kernel(library::sgd);
  launch(std::move(call));
}

void SimulatedOperations::adam(std::span<const tensor::AdamUpdate> updates) {
  StepGroups<library::AdamStep> groups;
  Call call{.name = "adam", .written = {}, .read = {}, .pes = holders_of_parameters(updates), .body = {}};
  for (const tensor::AdamUpdate& update : updates) {
    const std::vector<Tensor> written = defined({update.parameter, update.mean, update.square, update.largest});
    append(call.written, written);
    call.read.push_back(update.grad);
    groups.add({.parameter = kernel_view(update.parameter, true),
                .grad = kernel_view(update.grad, false),
                .mean = kernel_view(update.mean, true),
                .square = kernel_view(update.square, true),
                .largest = written_view(update.largest),
                .mean_keep = as_f32(update.mean_keep),
                .mean_add = as_f32(update.mean_add),
                .square_keep = as_f32(update.square_keep),
                .square_add = as_f32(update.square_add),
                .step = as_f32(update.step),
                .root = as_f32(update.root),
                .epsilon = as_f32(update.epsilon),
                .decay = as_f32(update.decay),
                .shrink = as_f32(update.shrink),
                .is_first = update.is_first,
                .maximize = update.maximize},
               written, update.grad);
  }
  call.body = groups.kernel(library::adam);
  launch(std::move(call));
}

void SimulatedOperations::root_step(std::span<const tensor::RootUpdate> updates) {
  StepGroups<library::RootStep> groups;
  Call call{.name = updates.front().name, .written = {}, .read = {}, .pes = holders_of_parameters(updates), .body = {}};
  for (const tensor::RootUpdate& update : updates) {
    const std::vector<Tensor> written = defined({update.parameter, update.square, update.mean, update.buffer});
    append(call.written, written);
    call.read.push_back(update.grad);
    groups.add({.parameter = kernel_view(update.parameter, true),
                .grad = kernel_view(update.grad, false),
                .square = kernel_view(update.square, true),
                .mean = written_view(update.mean),
                .buffer = written_view(update.buffer),
                .keep = as_f32(update.keep),
                .add = as_f32(update.add),
                .start = as_f32(update.start),
                .momentum = as_f32(update.momentum),
                .rate = as_f32(update.rate),
                .epsilon = as_f32(update.epsilon),
                .decay = as_f32(update.decay),
                .is_first = update.is_first,
                .maximize = update.maximize},
               written, update.grad);
  }
  call.body = groups.kernel(library::root_step);
  launch(std::move(call));
}

void SimulatedOperations::scale(std::span<const Tensor> tensors, const Tensor& total_norm, double max_norm) {
  launch({.name = "scale",
          .written = {tensors.begin(), tensors.end()},
          .read = {total_norm},
          .pes = holders(tensors),
          .body = [views = views_of(tensors, true), norm = kernel_view(total_norm.view({1}), false),
                   most = as_f32(max_norm)] { library::scale(views, norm, most); }});
}

void SimulatedOperations::zero(std::span<const Tensor> tensors) {
  launch({.name = "zero",
          .written = {tensors.begin(), tensors.end()},
          .read = {},
          .pes = holders(tensors),
          .body = [views = views_of(tensors, true)] {
            for (const auto& view : views) library::zero(view);
          }});
}

void SimulatedOperations::clamp(std::span<const Tensor> tensors, double low, double high) {
  launch({.name = "clamp",
          .written = {tensors.begin(), tensors.end()},
          .read = {},
          .pes = holders(tensors),
          .body = [views = views_of(tensors, true), low = as_f32(low), high = as_f32(high)] {
            for (const auto& view : views) library::clamp(view, low, high);
          }});
}

/// Each PE reduces what it holds of all tensors, then one what they have found. An element that lies in several places
/// would count in each.
bool SimulatedOperations::total_norm(std::span<const Tensor> tensors, double p, const Tensor& out) {
  const bool largest = std::isinf(p) && p > 0;
  if ((p != 1 && p != 2 && !largest) || std::ranges::any_of(tensors, is_replicated)) return false;
  library::ReduceOptions options;
  if (largest) options.reduction = library::Reduction::maximum;
  options.map = [squares = p == 2](const std::vector<tl::Tile>& tiles, const library::Box&) {
    return squares ? tiles.front() * tiles.front() : tl::abs(tiles.front());
  };
  std::vector<PeCoordinate> pes = holders(tensors);
  const auto count = static_cast<std::int64_t>(pes.size());
  const Tensor parts = temporary(out, {{count}}, DType::f32);
  launch({.name = "norm",
          .written = {parts},
          .read = {tensors.begin(), tensors.end()},
          .pes = std::move(pes),
          .body = [views = views_of(tensors, false), options, target = kernel_view(parts, true)] {
            library::reduce_held(views, options, target);
          }});
  options.map = {};
  options.reduced = {true};
  if (p == 2) options.finish = [](const tl::Tile& sum) { return tl::sqrt(sum); };
  reduce("norm", parts, {}, std::move(options), out.view({1}));
  return true;
}

}  // namespace kernbench::runtime
