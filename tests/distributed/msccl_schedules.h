// Texts of MSCCL files for tests.
#pragma once

#include <string>

#include "kernbench/collectives.h"

namespace kernbench::testing {

/// The text of a file of collectives/msccl/, and its path.
std::string msccl_text(const std::string& name);
std::string msccl_path(const std::string& name);

/// Two ranks that exchange halves of an all-reduce: gpu r reduces chunk r and sends its sum.
std::string exchange_of_halves();

/// What the checks say of a text; empty: nothing.
std::string msccl_error_of(const std::string& text);

/// `text` with the first `from` behind the first `behind` replaced; fails the test when it has none.
std::string with(const std::string& text, const std::string& from, const std::string& to,
                 const std::string& behind = {});

}  // namespace kernbench::testing
