// The result of a run as a table for people: what an architect looks at first.
#pragma once

#include <cstdint>
#include <string>

#include "report/result.h"

namespace kernbench::report {

enum class TableKind : std::uint8_t {
  brief,  // one screen: at most 40 lines, and 80 columns where it cuts
  full,
};

struct TableOptions {
  bool colour = false;
  TableKind kind = TableKind::full;
  bool cuts = false;  // shortens long names in their middle: for a terminal
};

/// The result for people. Launches, utilisation and traffic are those of the region of interest, if the program marked
/// one. ASCII unless names are not. Many launches are summed up by name; resources by kind. An error is not part of it:
/// the program prints it last, where it is seen.
std::string to_table(const RunResult& result, TableOptions options = {});

}  // namespace kernbench::report
