// Steps of an optimiser on a device.
#include <vector>

#include "runtime/functions/device_kernels.h"
#include "tile/library/optimizer.h"

namespace kernbench::runtime {

using torch::Tensor;

void SimulatedOperations::adam(const Tensor& parameter, const Tensor& grad, const Tensor& mean, const Tensor& square,
                               const tensor::AdamFactors& factors) {
  const auto f32 = [](double value) { return static_cast<float>(value); };
  const tile::library::AdamStep step{f32(factors.mean),    f32(factors.square), f32(factors.step),  f32(factors.root),
                                     f32(factors.epsilon), f32(factors.decay),  f32(factors.shrink)};
  launch({.name = "adam",
          .written = {parameter, mean, square},
          .read = {grad},
          .pes = {},
          .body = [p = kernel_view(parameter, true), g = kernel_view(grad, false), m = kernel_view(mean, true),
                   v = kernel_view(square, true), step] { tile::library::adam(p, g, m, v, step); }});
}

}  // namespace kernbench::runtime
