// Differences between the programs of two results.
#pragma once

#include <string>
#include <vector>

#include "report/difference/difference.h"

namespace kernbench::report {

/// The program itself first, then the files that it includes by name, the compiler, its flags, and the build of
/// kernbench. Empty when one of the results does not say where it comes from.
std::vector<InputChange> origin_changes(const Origin& a, const Origin& b);

/// Whether a key of these changes stands for text of the program: itself, or a file that it includes.
bool is_program_text(const std::string& key);

}  // namespace kernbench::report
