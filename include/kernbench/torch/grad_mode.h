// Guards that say that no gradients are wanted, for programs that have them.
#pragma once

namespace kernbench::torch {

/// Accepted and without effect: KernBench records no gradients (kernbench/tp/gradients.h has them as pairs).
class NoGradGuard {
 public:
  NoGradGuard() {}   // NOLINT(modernize-use-equals-default): a guard that is not used warns otherwise
  ~NoGradGuard() {}  // NOLINT(modernize-use-equals-default)
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;
};
using InferenceMode = NoGradGuard;

}  // namespace kernbench::torch
