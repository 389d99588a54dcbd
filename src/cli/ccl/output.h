// The rows of a sweep as nccl-tests print them, as CSV and as JSON.
#pragma once

#include <string>

#include "cli/ccl/sweep.h"

namespace kernbench::cli::ccl {

/// The lines before the rows, the rows and the lines behind them, column by column as nccl-tests have them: a form that
/// torch::distributed does not have is N/A, as is what is not checked.
std::string to_table(const Test& test, const Request& request, const Sweep& sweep);
/// Bus bandwidth by size, an algorithm in each column, the best of each row marked.
std::string to_comparison(const Sweep& sweep);
/// A line of names, and one for each row.
std::string to_csv(const Test& test, const Sweep& sweep);
/// With the keys of nccl-tests.
std::string to_json(const Test& test, const Request& request, const Sweep& sweep);

/// A figure in `width` columns: as many digits behind the point as fit, at most two.
std::string fitted(double value, int width);

}  // namespace kernbench::cli::ccl
