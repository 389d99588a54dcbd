// What `kernbench ccl --tune` has measured: the best algorithm by operation, group and size, by which `auto` chooses.
//
//   all_reduce:
//     4_sips:                    # a group of four ranks, each a SIP; 128_pes: each a PE
//       0B: direct_allreduce     # from that size on, of a rank's tensor; of blocks, of all blocks of a rank
//       362KiB: bidirectional_ring_allreduce
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "distributed/algorithms/algorithm.h"

namespace kernbench::distributed {

class Tuning {
 public:
  /// Algorithms by the size from which on they are best.
  using Sizes = std::map<std::int64_t, std::string>;

  Tuning() = default;
  /// Reads a file's text. ConfigurationError with all problems, each with its place: unknown operations, groups,
  /// sizes, and algorithms that the table does not have.
  Tuning(std::string_view yaml, const std::string& file_name, const AlgorithmTable& table);

  /// What the file has for a group; null: nothing.
  const Sizes* sizes_of(CollectiveOperation operation, int ranks, bool rank_per_pe) const;
  void set(CollectiveOperation operation, int ranks, bool rank_per_pe, Sizes sizes);
  const std::string& file() const { return file_; }
  /// The text of a file that says the same.
  std::string yaml() const;
  bool operator==(const Tuning&) const = default;

 private:
  struct Group {
    int ranks = 1;
    bool rank_per_pe = false;
    auto operator<=>(const Group&) const = default;
  };
  std::string file_;
  std::map<CollectiveOperation, std::map<Group, Sizes>> best_;
};

}  // namespace kernbench::distributed
