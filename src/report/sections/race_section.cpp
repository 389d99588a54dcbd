#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "report/outcome.h"
#include "report/sections/sections.h"
#include "report/text/format.h"

namespace kernbench::report {
namespace {

constexpr std::size_t kRaceWidth = 80;
constexpr std::size_t kMostRaces = 20;

}  // namespace

bool races_were_looked_for(const RunResult& result) {
  return result.switches.contains("detect_races");
}

std::string races_section(const RunResult& result, const Palette& palette) {
  if (result.races.empty()) return {};
  std::string out = palette.paint(Style::heading, "Races: accesses to the same bytes that nothing orders") + "\n";
  for (std::size_t i = 0; i < std::min(result.races.size(), kMostRaces); ++i) {
    std::string indent = "  ";
    for (const std::string& line : wrapped(split_at_blanks(one_line(race_text(result.races[i]))), kRaceWidth - 4)) {
      out += indent + line + "\n";
      indent = "    ";
    }
  }
  if (result.races.size() > kMostRaces) {
    const std::string more = fmt::format("and {} more", count_text(result.races.size() - kMostRaces));
    out += "  " + palette.paint(Style::faint, more) + "\n";
  }
  return out + "  " +
         palette.paint(Style::faint,
                       "what orders: a barrier, a signal, a message, an atomic (release) and one (acquire)") +
         "\n";
}

std::string race_lines(const RunResult& result, std::size_t most, const Palette& palette) {
  std::string out;
  for (std::size_t i = 0; i < std::min(result.races.size(), most); ++i) {
    const RaceResult& race = result.races[i];
    const std::string text = fmt::format("race: {} {}, {} {}: {}", race.earlier.operation, race.earlier.where,
                                         race.later.operation, race.later.where, race.place);
    out += "  " + palette.paint(Style::bad, palette.fit(one_line(text), kRaceWidth - 2)) + "\n";
  }
  return out;
}

}  // namespace kernbench::report
