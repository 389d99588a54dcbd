// The JSON Schema of topology files, for editors.
#pragma once

#include <string>

namespace kernbench::topology {

/// The text of the schema (draft 2020-12) of a topology file: its keys, which are required, patterns of quantities,
/// ranges of numbers, documentation and defaults. Ranges of quantities are only in the documentation.
std::string json_schema();

}  // namespace kernbench::topology
