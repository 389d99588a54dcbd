// Cases in which every two values of every two properties come together at least once.
#pragma once

#include <cstddef>
#include <vector>

namespace kernbench::testing {

/// A value of each property, by number.
using Combination = std::vector<std::size_t>;

/// `sizes`: how many values each property has. Combinations in which all pairs come, the same in every run: about as
/// many as the two properties with the most values have pairs.
std::vector<Combination> pairwise_cover(const std::vector<std::size_t>& sizes);

}  // namespace kernbench::testing
