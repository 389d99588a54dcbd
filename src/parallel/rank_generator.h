// Which ranks form a group: Megatron-LM's RankGenerator.
#pragma once

#include <string>
#include <vector>

namespace kernbench::tp {

/// How many parts a model, or its data, has in one respect: {"tp", 4}.
struct ParallelSize {
  std::string kind;
  int size = 1;
};

/// The axes of the world in the order of `order` ("tp-cp-ep-dp-pp"), the one whose neighbours have consecutive ranks
/// first; kinds that the order does not name are last. ValueError for an order that names a kind twice or one that
/// there is not, or leaves out one whose size is not 1.
std::vector<ParallelSize> ordered_axes(const std::vector<ParallelSize>& sizes, const std::string& order);

/// The groups of ranks that differ in the axes `kinds` only, e.g. {"tp", "pp"}: a partition of the world, in the order
/// in which all ranks make them.
std::vector<std::vector<int>> groups_along(const std::vector<ParallelSize>& axes,
                                           const std::vector<std::string>& kinds);

}  // namespace kernbench::tp
