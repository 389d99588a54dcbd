// Library kernels: a step of an optimiser, which reads a parameter and what its steps keep once and writes them once;
// what is done to gradients in place.
#pragma once

#include <optional>
#include <vector>

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// As tensor::SgdUpdate, in f32.
struct SgdStep {
  View parameter, grad;
  std::optional<View> buffer = {};
  float rate = 0, decay = 0, keep = 0, add = 1;
  bool is_first = false, nesterov = false, maximize = false;
};

/// As tensor::AdamUpdate, in f32.
struct AdamStep {
  View parameter, grad, mean, square;
  std::optional<View> largest = {};
  float mean_keep = 0, mean_add = 1, square_keep = 0, square_add = 1;
  float step = 0, root = 1, epsilon = 0, decay = 0, shrink = 1;
  bool is_first = false, maximize = false;
};

/// As tensor::RootUpdate, in f32.
struct RootStep {
  View parameter, grad, square;
  std::optional<View> mean = {}, buffer = {};
  float keep = 1, add = 1, start = 0, momentum = 0, rate = 0, epsilon = 0, decay = 0;
  bool is_first = false, maximize = false;
};

// Each program makes what it holds of the parameter, so that every replica is written, block by block of at most 16 Ki
// elements, one parameter after the other; the loads of three blocks are under way, also of parameters that follow each
// other, so that no step of a call may read what another one writes. What is kept lies best as the parameter does. In
// f32, each written tensor rounded once. TCM: the tiles of two blocks, and five f32 tiles of one.

/// g = grad + decay parameter; buffer = keep buffer + add g, at first g; parameter -= rate g, with a buffer rate
/// buffer, or as Nesterov rate (g + keep buffer). Loads of two tensors and a store of one, of one more each with a
/// buffer (at first the store alone). Vector work for each element: one operation, one more with a decay, two with a
/// buffer (at first none), one for Nesterov.
void sgd(const std::vector<SgdStep>& steps);

/// g = grad + decay parameter; parameter *= shrink; mean = mean_keep mean + mean_add g; square = square_keep square +
/// square_add g^2; parameter -= step mean / (root sqrt(square) + epsilon), with the largest square yet in place of the
/// square. Loads of four tensors and stores of three, of one more each with `largest`; at first loads of two alone.
/// Vector work for each element: ten operations, of which one is a division and one a root, one more with a decay, a
/// shrink or `largest`.
void adam(const std::vector<AdamStep>& steps);

/// g = grad + decay parameter; square = keep square + add g^2; mean = keep mean + add g; d = g / (sqrt(square - mean^2)
/// + epsilon); buffer = momentum buffer + d; parameter -= rate d, or rate buffer. Loads of three tensors and stores of
/// two, of one more each with a mean and with a buffer; at first loads of two alone. Vector work for each element:
/// seven operations, of which one is a division and one a root, four more with a mean, two with a buffer, one with a
/// decay.
void root_step(const std::vector<RootStep>& steps);

/// Each tensor times max_norm / (total_norm + 1e-6) where that is below 1; total_norm has the shape [1]. A load, an
/// operation and a store of each element.
void scale(const std::vector<View>& tensors, const View& total_norm, float max_norm);
/// x = min(max(x, low), high), where NaN stays. A load, two operations and a store of each element.
void clamp(const View& x, float low, float high);
/// A store of each element. TCM: a block.
void zero(const View& x);

}  // namespace kernbench::tile::library
