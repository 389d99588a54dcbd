// Outputs of a collective that may be taken back.
#pragma once

#include <functional>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "runtime/context.h"

namespace kernbench::distributed {

/// For the launches of one collective, to be called when they begin: the first that does keeps what the tensors hold
/// then, and the scope gives it back to them if it is taken back. Nothing is kept of a scope that has been settled.
std::function<void()> keep_outputs(runtime::HostContext& context, const runtime::CommandScopeRef& scope,
                                   std::vector<torch::Tensor> outputs);

}  // namespace kernbench::distributed
