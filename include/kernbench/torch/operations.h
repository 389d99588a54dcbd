// Functions of tensors in libtorch's spelling, and their operators. What each computes is PyTorch's; a device tensor is
// computed by library kernels on its device, in the order of the current stream, a host tensor on the host at no
// simulated cost. Operands on different devices are an error; a host tensor of no dimensions mixes with device tensors.
#pragma once

#include "kernbench/torch/activations.h"
#include "kernbench/torch/dimensions.h"
#include "kernbench/torch/elementwise.h"
#include "kernbench/torch/joining.h"
#include "kernbench/torch/losses.h"
