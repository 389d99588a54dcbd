// Metrics of several quantities for the same items, side by side.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/result.h"

namespace kernbench::report {

using Metrics = std::map<std::string, Metric>;

/// A grid of metrics: one row for each item, one column for each quantity.
struct MetricTable {
  std::vector<std::string> quantities, items;
  const Metric& at(const Metrics& metrics, std::size_t quantity, std::size_t item) const;
};

/// Metrics named "QUANTITY, ITEM" of at least two quantities, each of which is there for the same items, at least two.
/// Times (in ns) come first, then bytes (B), then other quantities; items by the first quantity, the smallest first.
/// Empty when there are none such, or more quantities than fit side by side.
MetricTable metric_table(const Metrics& metrics);

/// The name without its item: "time" of "time, row_wise". Empty when it has none.
std::string quantity_of(const std::string& name);

}  // namespace kernbench::report
