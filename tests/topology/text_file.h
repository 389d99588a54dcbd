// Golden files of the topology tests.
#pragma once

#include <string>

namespace kernbench::topology::testing {

/// The content of a file of the source tree, given by its path from the root.
std::string read_source_file(const std::string& path);

/// Asserts that the file has this content. With KERNBENCH_UPDATE_GOLDEN=1 in the environment, writes it instead.
void expect_golden(const std::string& path, const std::string& content);

}  // namespace kernbench::topology::testing
