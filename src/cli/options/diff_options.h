// The options of "kernbench diff".
#pragma once

#include "cli/command_line.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct DiffOptions {
  static constexpr const char* kCommand = "diff";
  static constexpr const char* kSummary = "Compare two results: what changed, and where the time went";

  Texts a, b, format, colour;
  bool exit_code = false;

  void declare(OptionSet& options);
  Command command() const;
};

}  // namespace kernbench::cli
