#include "parallel/saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "kernbench/error.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"

namespace kernbench::tp {

void check_saved(const char* call, const Saved& saved, std::size_t needed, std::size_t most) {
  const auto first = std::span(saved).first(std::min(needed, saved.size()));
  const bool all_defined = std::ranges::all_of(first, &torch::Tensor::defined);
  if (all_defined && saved.size() >= needed && saved.size() <= most) return;
  const char* const between = most == needed + 1 ? "or" : "to";
  const std::string count = needed == most ? std::to_string(needed) : fmt::format("{} {} {}", needed, between, most);
  throw ValueError(
      fmt::format("{}: it needs the {} tensor{} that its forward has kept, but `saved` has {}{}; give it "
                  "the `saved` that the forward has returned",
                  call, count, most == 1 ? "" : "s", saved.size(), all_defined ? "" : ", not all of them defined"));
}

void check_grad(const char* call, const torch::Tensor& grad, const std::vector<std::int64_t>& output) {
  if (!grad.defined()) throw ValueError(fmt::format("{}: the gradient is undefined", call));
  if (grad.sizes().vec() == output) return;
  throw ValueError(
      fmt::format("{}: the gradient must have the shape of the forward's output, {}, but has {}; give it the gradient "
                  "of that output",
                  call, tensor::text_of(output), tensor::text_of(grad.sizes().vec())));
}

void check_grad_is_like(const char* call, const torch::Tensor& grad, const torch::Tensor& weight) {
  if (grad.scalar_type() == weight.scalar_type() && grad.device() == weight.device()) return;
  throw ValueError(
      fmt::format("{}: the gradient must have the element type and the device of the layer's weight, {}, but is {}; "
                  "convert it with .to(…)",
                  call, tensor::describe(weight), tensor::describe(grad)));
}

std::vector<std::int64_t> with_last(const torch::Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  if (!sizes.empty()) sizes.back() = last;
  return sizes;
}

}  // namespace kernbench::tp
