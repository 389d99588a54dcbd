// What launches attained of the peaks of their engines and memories: one row for each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "report/launch_group.h"
#include "report/sections/sections.h"
#include "report/text/format.h"
#include "topology/engine_operations.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostPeaks = 6;  // launches that are shown one by one
constexpr std::size_t kMostGroups = 8;
constexpr std::size_t kMostTypes = 2;  // in the name of a row

std::string types_text(const std::string& types) {
  std::size_t end = 0, count = 0;
  while (count < kMostTypes && end != std::string::npos) {
    end = types.find(',', count == 0 ? 0 : end + 1);
    ++count;
  }
  return end == std::string::npos ? types : types.substr(0, end) + ", ..";
}

std::string engine_text(const EngineTotal& engine) {
  if (engine.engine == "hbm") return "HBM";
  if (engine.engine == "tcm") return "TCM ports";
  if (engine.engine == "link") return engine.types.empty() ? "busiest links" : "link " + engine.types;
  return engine.types.empty() ? engine.engine : engine.engine + " " + types_text(engine.types);
}

/// Whether the first of the types, which takes most, is one of integers.
bool multiplies_integers(const EngineTotal& gemm) {
  const std::string_view first = std::string_view(gemm.types).substr(0, gemm.types.find(','));
  const auto found = std::ranges::find(topology::kGemmOperands, first, &topology::GemmOperandInfo::key);
  return found != topology::kGemmOperands.end() && found->integer;
}

/// Products of integers are no floating-point operations.
std::string unit_of(const EngineTotal& engine) {
  if (engine.engine == "gemm") return multiplies_integers(engine) ? "OP" : "FLOP";
  return engine.engine == "vector" ? "op" : "B";
}

/// "81.9 FLOP/B": operations of the engine with most for each byte of HBM; empty without either.
std::string intensity_text(const LaunchGroup& group) {
  const auto find = [&](const char* name) { return std::ranges::find(group.engines, name, &EngineTotal::engine); };
  const auto hbm = find("hbm");
  const auto gemm = find("gemm");
  const auto compute = gemm != group.engines.end() ? gemm : find("vector");
  if (hbm == group.engines.end() || compute == group.engines.end()) return {};
  return decimal_text(compute->work / hbm->work, 1) + " " + unit_of(*compute) + "/B";
}

std::vector<Cell> engine_row(const EngineTotal& engine, Time total) {
  const double seconds = total.in_seconds();
  const bool known = std::isfinite(engine.at_device_peak) && engine.at_device_peak > 0;
  return {{"  " + engine_text(engine)},
          {engine.busiest > Time::zero() ? percent_text(share(engine.busiest, total)) : "-"},
          {rate_text(engine.work / seconds, unit_of(engine) + "/s")},
          {known ? rate_text(engine.work / engine.at_device_peak, unit_of(engine) + "/s") : "-"},
          {known ? percent_text(engine.at_device_peak / seconds) : "-"},
          {known ? percent_text(engine.at_used_peak / seconds) : "-"}};
}

}  // namespace

std::string peaks_section(const RunResult& result, const Palette& palette) {
  std::vector<LaunchGroup> groups =
      has_at_most(result, kMostPeaks) ? each_launch(result.launches) : launches_by_name(result);
  std::erase_if(groups, [](const LaunchGroup& group) { return group.total <= Time::zero() || group.engines.empty(); });
  if (groups.empty()) return {};
  TextTable table({{"", Align::left, 30},
                   {"busiest", Align::right, 10},
                   {"attained", Align::right, 13},
                   {"peak", Align::right, 13},
                   {"of peak", Align::right, 9},
                   {"in use", Align::right, 9}});
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i) {
    const LaunchGroup& group = groups[i];
    table.add({{group.label, Style::faint}, {}, {intensity_text(group), Style::faint}});
    for (const EngineTotal& engine : group.engines) table.add(engine_row(engine, group.total));
  }
  std::string out =
      palette.paint(Style::heading, "Peaks of the device, and of what the launch used") + "\n" + table.text(palette);
  if (groups.size() > kMostGroups) {
    const std::string rest = fmt::format("and {} more names", groups.size() - kMostGroups);
    out += "  " + palette.paint(Style::faint, rest) + "\n";
  }
  return out;
}

}  // namespace kernbench::report
