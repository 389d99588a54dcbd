// The places of this program's headers, and the compiler that built it.
#pragma once

#include <string>
#include <vector>

namespace kernbench::cli {

/// The folder of the public headers, which a program for KernBench is compiled with (-I): beside this program where it
/// is installed, else the source tree that it was built from. ConfigurationError that names the places when there are
/// no headers.
std::string include_folder();

/// The compiler that built this program.
const char* building_compiler();

/// What else a library needs that this program loads: the sanitizers that it was built with, if any.
std::vector<std::string> building_flags();

}  // namespace kernbench::cli
