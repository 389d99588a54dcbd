// Files of the source tree, and the golden files among them.
#pragma once

#include <string>

namespace kernbench::source_tree {

/// The absolute path of a file of the source tree, given by its path from the root.
std::string path(const std::string& path);

/// The absolute path of a file of this build, given by its path from the build's folder.
std::string build_path(const std::string& path);

/// The content of a file of the source tree, given by its path from the root.
std::string read(const std::string& path);

/// Whether golden files are written: KERNBENCH_UPDATE_GOLDEN=1 is in the environment.
bool updates_golden();

/// Asserts that the file has this content. With KERNBENCH_UPDATE_GOLDEN=1 in the environment, writes it instead.
void expect_golden(const std::string& path, const std::string& content);

/// Asserts that the file holds `content` between the marks `begin` and `end`, as expect_golden does of a whole file.
void expect_golden_part(const std::string& path, const std::string& begin, const std::string& end,
                        const std::string& content);

}  // namespace kernbench::source_tree
