// Who works on what of an interleaved tensor.
#pragma once

#include <vector>

#include "addressing/tensor_descriptor.h"

namespace kernbench::tensor {

/// The shards of an interleaved descriptor, from its arrays: each array is shared by the PEs over whose slices it is
/// spread as if it were balanced. By coordinate.
std::vector<addressing::Shard> work_boxes(const addressing::TensorDescriptor& tensor);

}  // namespace kernbench::tensor
