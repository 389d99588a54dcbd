// Views of device tensors on their way to and from the host.
#pragma once

#include <optional>
#include <string>

#include "kernbench/torch/tensor.h"
#include "tensor/element.h"
#include "tensor/strided.h"
#include "tensor/tensor_impl.h"

namespace kernbench::tensor {

/// The elements of a device view, dense on the host. Nothing under --no-data, after the same time.
std::optional<torch::Tensor> try_read_view(const TensorImpl& view, HostRead why);

/// Writes the elements of a dense host tensor of the view's sizes and dtype; without values (--no-data) it takes the
/// same time.
void write_view(const TensorImpl& view, const std::optional<torch::Tensor>& values, const char* call);

void fill_view(const TensorImpl& view, const Element& element, const char* call);

/// The shape in its tensor of a view that is one box of it, in the box's own order and each element once.
std::optional<Extents> shape_of_one_box(const TensorImpl& view);

/// Device to device, of equal sizes and dtype. False when the two views do not consist of matching boxes.
bool copy_view(const TensorImpl& to, const TensorImpl& from, const char* call);

}  // namespace kernbench::tensor
