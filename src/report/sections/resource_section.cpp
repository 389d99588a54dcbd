#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/part.h"
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

/// A queue has a command under way also while that only waits: for a message, for credits, for a link.
bool is_queue(const Kind& kind) {
  const std::optional<PartKind> part = part_kind(kind.pattern);
  return part == PartKind::dma_queue || part == PartKind::send_queue || part == PartKind::receive_queue ||
         part == PartKind::window_queue;
}

std::string table_of(const std::vector<Kind>& kinds, const std::string& title, const std::string& busy,
                     const Palette& palette) {
  if (kinds.empty()) return {};
  TextTable table({{"resource", Align::left, 29},
                   {"count"},
                   {"mean", Align::right, 8},
                   {busy, Align::right, 8},
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
  std::string out = palette.paint(Style::heading, title) + "\n" + table.text(palette);
  if (kinds.size() > kMostKinds) {
    const std::string rest = "and " + count_text(kinds.size() - kMostKinds) + " kinds that were less busy";
    out += "  " + palette.paint(Style::faint, rest) + "\n";
  }
  return out;
}

}  // namespace

std::string resources_section(const RunResult& result, const Palette& palette) {
  std::vector<Kind> kinds = kinds_of(result.resources);
  const auto queues = std::ranges::stable_partition(kinds, [](const Kind& kind) { return !is_queue(kind); });
  const std::string region = result.region ? " in the region" : "";
  std::string out = table_of({kinds.begin(), queues.begin()}, "Busiest resources" + region, "busiest", palette);
  const std::string occupied = table_of({queues.begin(), queues.end()}, "Occupied queues" + region, "most", palette);
  if (!out.empty() && !occupied.empty()) out += "\n";
  return out + occupied;
}

}  // namespace kernbench::report
