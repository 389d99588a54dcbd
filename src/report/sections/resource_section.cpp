#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "report/sections/sections.h"
#include "report/text/format.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostKinds = 10;

// NaN would leave the kinds without an order.
double share_of(const ResourceResult& resource) {
  return std::isfinite(resource.utilisation) ? resource.utilisation : 0;
}

// All resources of one kind.
struct Kind {
  std::string pattern;
  std::size_t count = 0;
  double utilisation = 0;  // sum
  const ResourceResult* busiest = nullptr;
  Bytes bytes;
};

std::vector<Kind> kinds_of(const std::vector<ResourceResult>& resources) {
  std::map<std::string, Kind> by_pattern;
  for (const ResourceResult& resource : resources) {
    Kind& kind = by_pattern[resource.kind];
    ++kind.count;
    kind.utilisation += share_of(resource);
    kind.bytes += resource.bytes;
    // The first of equals: resources come in structural order.
    if (kind.busiest == nullptr || share_of(resource) > share_of(*kind.busiest)) kind.busiest = &resource;
  }
  std::vector<Kind> kinds;
  for (auto& [pattern, kind] : by_pattern) {
    kind.pattern = pattern;
    if (kind.busiest->busy > Time::zero() || kind.bytes > Bytes(0)) kinds.push_back(std::move(kind));
  }
  const auto busier = [](const Kind& a, const Kind& b) { return share_of(*a.busiest) > share_of(*b.busiest); };
  std::stable_sort(kinds.begin(), kinds.end(), busier);
  return kinds;
}

}  // namespace

std::string resources_section(const RunResult& result, const Palette& palette) {
  const std::vector<Kind> kinds = kinds_of(result.resources);
  if (kinds.empty()) return {};
  TextTable table({{"resource", Align::left, 29},
                   {"count"},
                   {"mean", Align::right, 8},
                   {"busiest", Align::right, 8},
                   {"at", Align::left, 26},
                   {"bytes"}});
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostKinds); ++i) {
    const Kind& kind = kinds[i];
    const bool single = kind.count == 1;
    table.add({{single ? kind.busiest->name : kind.pattern},
               {count_text(kind.count)},
               {percent_text(kind.utilisation / static_cast<double>(kind.count))},
               {percent_text(share_of(*kind.busiest))},
               {single ? "" : kind.busiest->name},
               {kind.bytes > Bytes(0) ? bytes_text(kind.bytes) : "-"}});
  }
  std::string out =
      palette.paint(Style::heading, result.region ? "Busiest resources in the region" : "Busiest resources") + "\n" +
      table.text(palette);
  if (kinds.size() > kMostKinds) {
    const std::string rest = "and " + count_text(kinds.size() - kMostKinds) + " kinds that were less busy";
    out += "  " + palette.paint(Style::faint, rest) + "\n";
  }
  return out;
}

}  // namespace kernbench::report
