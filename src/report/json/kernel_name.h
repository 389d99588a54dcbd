// The names of launches in files.
#pragma once

#include <string>

namespace kernbench::report {

/// The kernel of a launch, of which a file has the name only: "gemm" of "gemm#2" and "gemm#1.0". A name without a
/// number is that of the kernel.
std::string kernel_name(const std::string& launch);

}  // namespace kernbench::report
