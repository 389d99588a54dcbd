// Checks of what a backward is given: what its forward has kept, and the gradient of the output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernbench/tp/gradients.h"

namespace kernbench::tp {

/// ValueError unless `saved` has `needed` tensors, or up to `most` of them, and those needed are defined:
/// "gelu_backward: it needs the 1 tensor that its forward has kept, but `saved` has 0 …".
void check_saved(const char* call, const Saved& saved, std::size_t needed, std::size_t most);
inline void check_saved(const char* call, const Saved& saved, std::size_t needed) {
  check_saved(call, saved, needed, needed);
}
/// The tensor at `index`; undefined where the forward has had none.
inline torch::Tensor saved_or_none(const Saved& saved, std::size_t index) {
  return index < saved.size() ? saved[index] : torch::Tensor();
}

/// ValueError unless the gradient is defined and has the sizes of the forward's output.
void check_grad(const char* call, const torch::Tensor& grad, const std::vector<std::int64_t>& output);
/// ValueError unless it has the element type and the device of a layer's weight.
void check_grad_is_like(const char* call, const torch::Tensor& grad, const torch::Tensor& weight);
/// The sizes with another last one.
std::vector<std::int64_t> with_last(const torch::Tensor& x, std::int64_t last);

}  // namespace kernbench::tp
