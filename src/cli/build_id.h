// Identifies this build of the program.
#pragma once

#include <string>

namespace kernbench::cli {

/// The linker's build id of the running program, as hexadecimal digits: equal for equal builds, and for no others.
/// Empty when the linker gave none.
std::string build_id();

}  // namespace kernbench::cli
