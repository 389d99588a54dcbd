// Cutting one array out of a JSON text, without making values of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernbench::report {

struct ArrayParts {
  std::string rest;                        // the text with an empty array in its place
  std::vector<std::string_view> elements;  // of `text`
};

/// The array of objects that the text's object has under `key`. None when there is none that looks like it: exactly one
/// such key, and one comma between two elements. Whether the elements and the rest are JSON is for their readers to
/// say.
std::optional<ArrayParts> split_array(std::string_view text, std::string_view key);

}  // namespace kernbench::report
