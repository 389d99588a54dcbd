// The options of "kernbench list".
#pragma once

#include "cli/command_line.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct ListOptions {
  static constexpr const char* kCommand = "list";
  static constexpr const char* kSummary = "List the built-in benches and topologies";

  Texts colour;

  void declare(OptionSet& options);
  Command command() const;
};

}  // namespace kernbench::cli
