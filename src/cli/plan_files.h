// Plans of matrix products in the program's cache folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/cache_folder.h"
#include "kernbench/plan_store.h"

namespace kernbench::cli {

/// One small file for each plan, in the folder "plans" of `cache`, named by a hash of key and `version`. It comes into
/// being whole, by a rename, and ends with a hash of what it holds: any number of processes may use one folder, and a
/// damaged file counts as none. What cannot be written is not kept, without a word.
class PlanFiles final : public PlanStore {
 public:
  /// `version` stands for the program: another build may plan otherwise.
  PlanFiles(const std::string& cache, std::string version, CacheLimits limits = {.bytes = std::uint64_t{64} << 20});

  std::optional<std::string> find(std::string_view key) override;
  void keep(std::string_view key, std::string_view plan) override;

 private:
  std::string path_of(std::string_view key) const;

  std::string folder_, version_;
  CacheLimits limits_;
  bool trimmed_ = false;
};

}  // namespace kernbench::cli
