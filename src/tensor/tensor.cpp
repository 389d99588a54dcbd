// Attributes and element access of kernbench/torch/tensor.h.
#include "kernbench/torch/tensor.h"

#include <fmt/format.h>

#include <sstream>

#include "numerics/conversion.h"
#include "tensor/dimensions.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"
#include "tensor/tensor_impl.h"

namespace kernbench::torch {

using tensor::HostRead;
using tensor::impl_of;
using tensor::TensorImpl;

IntArrayRef Tensor::sizes() const {
  return impl_of(*this).sizes;
}
IntArrayRef Tensor::strides() const {
  return impl_of(*this).strides;
}

std::int64_t Tensor::size(std::int64_t dimension) const {
  const TensorImpl& impl = impl_of(*this);
  return impl.sizes[tensor::wrap_dimension(dimension, impl.sizes.size(), true)];
}

std::int64_t Tensor::stride(std::int64_t dimension) const {
  const TensorImpl& impl = impl_of(*this);
  return impl.strides[tensor::wrap_dimension(dimension, impl.sizes.size(), true)];
}

std::int64_t Tensor::dim() const {
  return static_cast<std::int64_t>(impl_of(*this).sizes.size());
}
std::int64_t Tensor::numel() const {
  return impl_of(*this).numel();
}
std::int64_t Tensor::storage_offset() const {
  return impl_of(*this).offset;
}
ScalarType Tensor::scalar_type() const {
  return impl_of(*this).dtype;
}
Device Tensor::device() const {
  return impl_of(*this).device;
}
std::size_t Tensor::itemsize() const {
  return static_cast<std::size_t>(item_size(scalar_type()));
}
std::size_t Tensor::nbytes() const {
  return static_cast<std::size_t>(numel()) * itemsize();
}
bool Tensor::is_contiguous() const {
  return impl_of(*this).is_contiguous();
}
bool Tensor::is_alias_of(const Tensor& other) const {
  return impl_of(*this).storage == impl_of(other).storage;
}

TensorOptions Tensor::options() const {
  const TensorOptions result = TensorOptions(scalar_type()).device(device());
  return is_cpu() ? result : result.placement(impl_of(*this).policy);
}

void* Tensor::data_ptr() const {
  const TensorImpl& impl = impl_of(*this);
  if (impl.storage->device)
    throw ValueError("data_ptr() of a device tensor: its elements are not in host memory; copy it with .cpu() first");
  return impl.data();
}

void* Tensor::checked_data(ScalarType type) const {
  if (type != scalar_type()) {
    std::ostringstream text;
    text << "expected scalar type " << type << " but found " << scalar_type();
    throw ValueError(text.str());
  }
  return data_ptr();
}

namespace {

Scalar scalar_of(DType dtype, const std::byte* element) {
  const numerics::Scalar value = numerics::load_element(dtype, element);
  switch (value.kind()) {
    case numerics::Scalar::Kind::boolean:
      return value.as_boolean();
    case numerics::Scalar::Kind::integer:
      return value.as_integer();
    case numerics::Scalar::Kind::floating:
      return value.as_double();
  }
  return {};
}

}  // namespace

const Tensor& Tensor::requires_grad_(bool value, Where where) const {
  const tensor::HostCall here("requires_grad_", where);
  impl_of(*this);                              // defined
  (void)TensorOptions().requires_grad(value);  // which refuses true
  return *this;
}

Tensor& Tensor::mutable_grad() const {
  return impl_of(*this).gradient.tensor;
}

void Tensor::set_data(const Tensor& data, Where where) const {
  const tensor::HostCall here("set_data", where);
  TensorImpl& own = impl_of(*this);
  const TensorImpl& other = impl_of(data);
  if (&own != &other) own = other;
}

std::optional<Scalar> Tensor::item_if_known(Where where) const {
  const tensor::HostCall here("item_or", where);
  if (numel() != 1) {
    std::ostringstream text;
    text << "a Tensor with " << numel() << " elements cannot be converted to Scalar";
    throw ValueError(text.str());
  }
  const auto host = tensor::try_host_copy(*this, HostRead::item);
  if (!host) return std::nullopt;
  return scalar_of(scalar_type(), impl_of(*host).data());
}

Tensor Tensor::cpu_or(const Tensor& assumed, Where where) const {
  const tensor::HostCall here("cpu_or", where);
  if (!assumed.is_cpu() || assumed.sizes() != sizes() || assumed.scalar_type() != scalar_type()) {
    tensor::fail("cpu_or",
                 fmt::format("the assumed values must be a host tensor of the same shape and element type, but "
                             "they are {} and the tensor is {}",
                             tensor::describe(assumed), tensor::describe(*this)));
  }
  return tensor::try_host_copy(*this, HostRead::item).value_or(assumed);
}

Scalar Tensor::item(Where where) const {
  const tensor::HostCall here("item", where);
  if (numel() != 1) return *item_if_known(where);  // which says so
  return scalar_of(scalar_type(), impl_of(tensor::host_copy(*this, HostRead::item)).data());
}

}  // namespace kernbench::torch
