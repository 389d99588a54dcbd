// The options of "kernbench describe".
#pragma once

#include "cli/command_line.h"
#include "cli/options/option_set.h"

namespace kernbench::cli {

struct DescribeOptions {
  static constexpr const char* kCommand = "describe";
  static constexpr const char* kSummary = "Show a topology, or what a collective algorithm does on it";

  Texts topology, overrides, format, colour, algorithm, operation, ranks, bytes, load, msccl;

  void declare(OptionSet& options);
  Command command() const;

 private:
  void algorithm_into(DescribeCommand& out) const;
  void check_no_algorithm(DescribeFormat shown) const;
};

}  // namespace kernbench::cli
