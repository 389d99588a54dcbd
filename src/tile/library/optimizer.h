// Library kernel: a step of an optimiser, which reads a parameter and its running means once and writes them once.
#pragma once

#include "tile/library/view.h"

namespace kernbench::tile::library {

/// As tensor::AdamFactors, in f32.
struct AdamStep {
  float mean, square, step, root, epsilon, decay, shrink;
};

/// g = grad + decay parameter; parameter -= shrink parameter; mean += (g - mean) mean_share; square += (g^2 - square)
/// square_share; parameter -= step mean / (root sqrt(square) + epsilon). All have one shape; the means are f32 and lie
/// as the parameter does. Each program makes what it holds of the parameter, block by block of at most 16 Ki elements.
/// In f32, the parameter rounded once. TCM: nine f32 tiles of a block. Four loads, three stores; vector work for each
/// element: eleven operations, of which one is a division and one a root, two more with a decay or a shrink.
void adam(const View& parameter, const View& grad, const View& mean, const View& square, const AdamStep& step);

}  // namespace kernbench::tile::library
