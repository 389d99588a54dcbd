#pragma once

namespace kernbench::cli {

/// "0.1.0".
const char* version();

}  // namespace kernbench::cli
