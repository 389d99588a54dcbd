// A path as a value of a description file: relative ones are meant from the folder of that file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kernbench::topology {

struct FilePath {
  std::string text;
  bool operator==(const FilePath&) const = default;
};

inline constexpr std::string_view kFilePathType = "path";
inline constexpr std::size_t kLongestPath = 4095;  // source: PATH_MAX of Linux without the byte behind the text

}  // namespace kernbench::topology
