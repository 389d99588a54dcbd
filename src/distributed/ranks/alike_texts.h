// Texts that differ in whole numbers only, as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernbench::distributed {

/// The text with a mark for each whole number: equal for texts that one text can stand for. A number with a decimal
/// point stays as it is; "tensor#11.0" has two whole numbers.
std::string pattern_of_text(std::string_view text);

/// One text for all, with the set of the values where they differ: "rank {16-31} is not part of the group". Where
/// that set would be long, it is "{1024 values from 3 to 99999}". Requires at least one text, and one pattern.
std::string alike_text(const std::vector<std::string>& texts);

}  // namespace kernbench::distributed
