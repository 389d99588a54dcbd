// equal and allclose.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <sstream>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

using tensor::HostRead;
using tensor::impl_of;

namespace {

/// The elements as double, in row-major order.
std::vector<double> doubles(const Tensor& dense) {
  const auto& impl = impl_of(dense);
  std::vector<double> result(static_cast<std::size_t>(impl.numel()));
  numerics::convert(kDouble, reinterpret_cast<std::byte*>(result.data()), impl.dtype, impl.data(), impl.numel());
  return result;
}

bool same_integers(const Tensor& a, const Tensor& b) {
  return std::memcmp(impl_of(a).data(), impl_of(b).data(), a.nbytes()) == 0;
}

bool close(double a, double b, double rtol, double atol, bool equal_nan) {
  if (a == b) return true;
  if (std::isnan(a) && std::isnan(b)) return equal_nan;
  const double error = std::abs(a - b);
  return std::isfinite(error) && error <= atol + std::abs(rtol * b);
}

}  // namespace

bool equal(const TensorOperand& a, const Tensor& b) {
  const tensor::HostCall here("equal", a.where);
  if (!(a.tensor.sizes() == b.sizes())) return false;
  const Tensor x = tensor::host_copy(a.tensor, HostRead::equal), y = tensor::host_copy(b, HostRead::equal);
  if (x.scalar_type() == y.scalar_type() && !x.is_floating_point()) return x.numel() == 0 || same_integers(x, y);
  return doubles(x) == doubles(y);
}

bool allclose(const TensorOperand& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const tensor::HostCall here("allclose", a.where);
  if (a.tensor.scalar_type() != b.scalar_type()) {
    std::ostringstream text;
    text << a.tensor.scalar_type() << " did not match " << b.scalar_type();
    throw ValueError(text.str());
  }
  if (!(rtol >= 0)) throw ValueError(fmt::format("rtol must be greater than or equal to zero, but got {}", rtol));
  if (!(atol >= 0)) throw ValueError(fmt::format("atol must be greater than or equal to zero, but got {}", atol));
  const tensor::Extents sizes = tensor::broadcast_sizes(impl_of(a.tensor).sizes, impl_of(b).sizes);
  const auto values = [&](const Tensor& tensor) {
    return doubles(tensor::host_copy(tensor, HostRead::allclose).expand(sizes).contiguous());
  };
  const std::vector<double> x = values(a.tensor), y = values(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!close(x[i], y[i], rtol, atol, equal_nan)) return false;
  return true;
}

bool Tensor::equal(const Tensor& other, Where where) const {
  const tensor::HostCall here("equal", where);
  return torch::equal(*this, other);
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan, Where where) const {
  const tensor::HostCall here("allclose", where);
  return torch::allclose(*this, other, rtol, atol, equal_nan);
}

}  // namespace kernbench::torch
