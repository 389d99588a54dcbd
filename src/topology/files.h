// Description files of the project: where they stand, their text, and all problems of one as a single error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topology/document.h"

namespace kernbench::topology {

/// The folders in which the files of one kind ("topologies") are shipped, the first one that has a file first: in the
/// package that the program was linked against, beside the program, in the source tree that it was built from, and
/// where it was to be installed.
std::vector<std::string> shipped_folders(const std::string& name);

/// The text of a file. ConfigurationError when it cannot be read, or has more than `most` bytes; `kind` says what was
/// expected, with its article: "a topology".
std::string read_file(const std::string& path, std::string_view kind, std::size_t most = kMaximumFileBytes);

/// What the error of a missing file says besides: "; relative paths begin at the working directory, /home/me". Empty of
/// an absolute path.
std::string working_directory_hint(const std::string& path);

/// "FILE:LINE:COLUMN", or the override that says it: "--set cube.hbm.channels=8".
std::string place_text(const SourcePlace& place, const std::string& file_name,
                       const std::vector<std::string>& overrides);

/// Throws ConfigurationError with a line for each problem, in the order of the file: "FILE:LINE:COLUMN: message".
[[noreturn]] void throw_problems(const std::vector<Problem>& problems, const std::string& file_name,
                                 const std::vector<std::string>& overrides = {});

}  // namespace kernbench::topology
