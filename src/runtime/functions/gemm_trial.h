// Plans of a matrix product, timed by simulating them.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "kernbench/torch/tensor.h"
#include "tensor/device_operations.h"
#include "tile/library/gemm_plan.h"
#include "topology/spec.h"

namespace kernbench::runtime {

/// A product as it was asked for, so that it can be set up on another machine.
struct TrialProduct {
  torch::Tensor a, b, out;
  tensor::MatmulOptions options = {};
};

/// Times plans of `product` on a private machine like `topology`, where nothing else runs: one SIP, no values, every
/// plan on a machine and tensors of its own, the tensors placed likewise. In nanoseconds, from the call to the
/// completion; infinite for what does not run there, and for what takes longer than the limit or a plan before it,
/// whose simulation may end early. The time of a long one is estimated from its first steps (trial_meter.h). Which of
/// two plans is shorter never depends on threads. Built-in models stand in for models of the caller's own. Empty
/// when the product cannot be set up likewise: tensors that a rank with a PE of its own has placed. Neither the calling
/// simulation nor its clock is touched. Once `stop_requested` is set, if there is one, no plan is timed any more: those
/// left are infinite. The result keeps all three by reference.
tile::library::PlanTimer trial_timer(const TrialProduct& product, const topology::Topology& topology,
                                     const std::atomic<bool>* stop_requested = nullptr);

/// What the times depend on besides the machine and the plans: how the tensors lie, and what follows the product.
std::vector<std::int64_t> identity_of(const TrialProduct& product);

}  // namespace kernbench::runtime
