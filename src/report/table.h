// The result of a run as a table for people: what an architect looks at first.
#pragma once

#include <string>

#include "report/result.h"

namespace kernbench::report {

struct TableOptions {
  bool colour = false;
};

/// The run, its launches, where their time went, achieved against peak, checks, metrics, busiest resources and totals.
/// At most 100 columns wide, ASCII unless names are not. Many launches are summed up by name; resources by kind.
/// An error is not part of it: the program prints it last, where it is seen.
std::string to_table(const RunResult& result, TableOptions options = {});

}  // namespace kernbench::report
