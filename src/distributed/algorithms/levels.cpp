#include "distributed/algorithms/levels.h"

#include <algorithm>

namespace kernbench::distributed {
namespace {

/// How many follow each other that are alike, if that is the same number of each kind; else 0.
template <class Unit>
std::int64_t run_length(std::span<const PeCoordinate> pes, const Unit& unit) {
  const auto first = std::ranges::find_if(pes, [&](const PeCoordinate& pe) { return unit(pe) != unit(pes.front()); });
  const std::int64_t length = first - pes.begin();
  for (std::size_t i = 0; i < pes.size(); ++i) {
    const bool begins = i == 0 || unit(pes[i]) != unit(pes[i - 1]);
    if (begins != (static_cast<std::int64_t>(i) % length == 0)) return 0;
  }
  return std::ssize(pes) % length == 0 ? length : 0;
}

}  // namespace

std::vector<int> levels_of(std::span<const PeCoordinate> pes) {
  if (pes.empty() || std::ranges::adjacent_find(pes, std::ranges::greater_equal()) != pes.end()) return {};
  const std::int64_t of_cube = run_length(pes, [](const PeCoordinate& pe) { return std::pair(pe.sip, pe.cube); });
  const std::int64_t of_sip = run_length(pes, [](const PeCoordinate& pe) { return pe.sip; });
  if (of_cube == 0 || of_sip == 0 || of_sip % of_cube != 0) return {};
  std::vector<int> levels;
  for (const std::int64_t size : {of_cube, of_sip / of_cube, std::ssize(pes) / of_sip}) {
    if (size > 1) levels.push_back(static_cast<int>(size));
  }
  if (levels.empty()) levels.push_back(1);
  return levels;
}

std::vector<Line> lines_through(std::int64_t place, std::span<const int> levels) {
  std::vector<Line> lines;
  std::int64_t stride = 1;
  for (const int size : levels) {
    const std::int64_t digit = place / stride % size;
    lines.push_back({place - digit * stride, stride, size, digit});
    stride *= size;
  }
  return lines;
}

}  // namespace kernbench::distributed
