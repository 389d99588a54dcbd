// What a program can write in place of a name of libtorch's that there is not.
#pragma once

#include <string>
#include <string_view>

namespace kernbench::cli {

/// For a compiler's message about such a name: what to write, or where what there is is listed. Empty for others.
std::string_view way_out_of(const std::string& message);

}  // namespace kernbench::cli
