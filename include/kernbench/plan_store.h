// Where plans of the library's matrix products are kept from run to run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kernbench {

/// Keeps texts under keys. A key says everything that a plan depends on, but for the version of KernBench: a store
/// keeps those of other versions apart. So a run with a store yields what it yields without, and sooner.
class PlanStore {
 public:
  virtual ~PlanStore() = default;
  /// What was kept under `key`; nothing where nothing was, or where it cannot be read.
  virtual std::optional<std::string> find(std::string_view key) = 0;
  /// Keeps `plan`, if it can.
  virtual void keep(std::string_view key, std::string_view plan) = 0;
};

}  // namespace kernbench
