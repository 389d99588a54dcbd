// A device tensor as collectives see it: the elements of its shards in a row.
#pragma once

#include <memory>
#include <string>

#include "addressing/tensor_descriptor.h"

namespace kernbench::distributed {

/// The tensor's shards one after the other, each row-major: what element stands where does not matter to a collective,
/// as long as it is the same on all ranks (element_places.h). Replicas stand at one place. Of an interleaved tensor its
/// arrays one after the other; each PE works on as many whole granules as the next.
std::shared_ptr<const addressing::TensorDescriptor> flat_tensor(const addressing::TensorDescriptor& tensor);

/// "16 shards on 8 PEs from cube0.pe0 to cube0.pe7, the first of 1024 elements", of a flat tensor.
std::string shards_text(const addressing::TensorDescriptor& flat);

}  // namespace kernbench::distributed
