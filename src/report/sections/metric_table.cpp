#include "report/sections/metric_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace kernbench::report {
namespace {

constexpr std::string_view kSeparator = ", ";
constexpr std::size_t kMostQuantities = 5;  // what fits beside the items on a line

std::string name_of(const std::string& quantity, const std::string& item) {
  return quantity + std::string(kSeparator) + item;
}

/// Items by quantity, both in the order of names.
std::map<std::string, std::vector<std::string>> items_by_quantity(const Metrics& metrics) {
  std::map<std::string, std::vector<std::string>> items;
  for (const auto& [name, metric] : metrics) {
    const std::string quantity = quantity_of(name);
    if (!quantity.empty()) items[quantity].push_back(name.substr(quantity.size() + kSeparator.size()));
  }
  return items;
}

int rank_of(const std::string& unit) {
  return unit == "ns" ? 0 : unit == "B" ? 1 : 2;
}

/// How little one says for itself.
int detail_of(const std::string& name, const std::string& unit) {
  if (name.find_first_of(",:") != std::string::npos) return 2;
  constexpr std::array<std::string_view, 5> kTimes = {"ps", "ns", "us", "ms", "s"};
  return std::ranges::count(kTimes, unit) > 0 || unit.find('/') != std::string::npos ? 0 : 1;
}

}  // namespace

ShownMetrics shown(const Metrics& metrics) {
  ShownMetrics all;
  for (const auto& [name, metric] : metrics) all.emplace(name, &metric);
  return all;
}

std::vector<std::string> main_metrics(const Metrics& metrics, std::size_t most) {
  std::vector<std::pair<int, std::string>> names;
  for (const auto& [name, metric] : shown(metrics)) {
    names.emplace_back(detail_of(std::string(name), metric->unit), std::string(name));
  }
  std::ranges::stable_sort(names, {}, &std::pair<int, std::string>::first);
  names.resize(std::min(names.size(), most));
  std::vector<std::string> out;
  for (auto& [detail, name] : names) out.push_back(std::move(name));
  std::ranges::sort(out, NaturalLess());
  return out;
}

std::string quantity_of(const std::string& name) {
  const std::size_t end = name.find(kSeparator);
  return end == std::string::npos ? std::string() : name.substr(0, end);
}

const Metric& MetricTable::at(const Metrics& metrics, std::size_t quantity, std::size_t item) const {
  return metrics.at(name_of(quantities[quantity], items[item]));
}

MetricTable metric_table(const Metrics& metrics) {
  const auto by_quantity = items_by_quantity(metrics);
  // The items that most quantities have.
  std::map<std::vector<std::string>, std::vector<std::string>> quantities;
  for (const auto& [quantity, items] : by_quantity) quantities[items].push_back(quantity);
  const auto most = std::ranges::max_element(quantities, {}, [](const auto& each) { return each.second.size(); });
  if (most == quantities.end() || most->first.size() < 2 || most->second.size() < 2) return {};
  if (most->second.size() > kMostQuantities) return {};
  MetricTable table{most->second, most->first};
  std::ranges::sort(table.items, NaturalLess());  // of equals, below
  std::ranges::stable_sort(table.quantities, {}, [&](const std::string& quantity) {
    return rank_of(metrics.at(name_of(quantity, table.items.front())).unit);
  });
  std::ranges::stable_sort(table.items, [&](const std::string& a, const std::string& b) {
    const double left = metrics.at(name_of(table.quantities.front(), a)).value;
    const double right = metrics.at(name_of(table.quantities.front(), b)).value;
    if (std::isnan(left) || std::isnan(right)) return std::isnan(right) && !std::isnan(left);  // no number comes last
    return left < right;
  });
  return table;
}

}  // namespace kernbench::report
