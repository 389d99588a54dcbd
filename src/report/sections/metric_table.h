// Metrics of several quantities for the same items, side by side.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "report/result.h"

namespace kernbench::report {

using Metrics = std::map<std::string, Metric>;

/// Metrics in the order in which they are shown, numbers in their names by value.
using ShownMetrics = std::map<std::string_view, const Metric*, NaturalLess>;
ShownMetrics shown(const Metrics& metrics);

/// The names of the `most` that say most: times and rates, then others, and figures of one item or term ("time, near",
/// "token: kernels") last. In the order in which they are shown.
std::vector<std::string> main_metrics(const Metrics& metrics, std::size_t most);

/// A grid of metrics: one row for each item, one column for each quantity.
struct MetricTable {
  std::vector<std::string> quantities, items;
  const Metric& at(const Metrics& metrics, std::size_t quantity, std::size_t item) const;
};

/// Metrics named "QUANTITY, ITEM" of at least two quantities, each of which is there for the same items, at least two.
/// Times (in ns) come first, then bytes (B), then other quantities; items by the first quantity, the smallest first,
/// and equals by their names. Empty when there are none such, or more quantities than fit side by side.
MetricTable metric_table(const Metrics& metrics);

/// The name without its item: "time" of "time, row_wise". Empty when it has none.
std::string quantity_of(const std::string& name);

}  // namespace kernbench::report
