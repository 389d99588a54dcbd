#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "report/sections/sections.h"
#include "report/text/text_table.h"
#include "report/text/utf8.h"

namespace kernbench::cli {
namespace {

using report::Align;
using report::Cell;
using report::Palette;
using report::Style;
using report::TextTable;

constexpr std::size_t kColumns = 80;

/// On a terminal a help text is wrapped into its column; in a pipe it is one line.
std::vector<std::string> help_lines(const std::string& help, std::size_t width, bool wraps) {
  if (!wraps) return {help};
  std::istringstream text(help);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return report::wrapped(words, width);
}

void add_parameter(TextTable& table, const BenchParameter& parameter, std::size_t width, bool wraps) {
  Cell name{"  " + parameter.name}, value{parameter.default_value};
  for (const std::string& line : help_lines(parameter.help, width, wraps)) {
    table.add({std::exchange(name, {}), std::exchange(value, {}), {line, Style::faint}});
  }
}

std::string benches_section(const std::vector<Bench>& benches, const Palette& palette, bool wraps) {
  std::string out = palette.paint(Style::heading, "Benches") + "\n";
  if (benches.empty()) out += "  none\n";
  for (const Bench& bench : benches) {
    std::size_t name = 0, value = 0;
    for (const BenchParameter& parameter : bench.parameters) {
      name = std::max(name, report::display_width(parameter.name));
      value = std::max(value, report::display_width(parameter.default_value));
    }
    constexpr std::size_t kSpaces = 8, kLeast = 20;  // indents and gaps; of the help text
    const std::size_t width = name + value + kSpaces + kLeast < kColumns ? kColumns - name - value - kSpaces : kLeast;
    TextTable table({{"", Align::left}, {"", Align::left}, {"", Align::left}});
    for (const BenchParameter& parameter : bench.parameters) add_parameter(table, parameter, width, wraps);
    out += "  " + palette.paint(Style::good, bench.name) + "  " + bench.help + "\n" + table.text(palette);
  }
  return out;
}

std::string topologies_section(const std::vector<TopologyEntry>& topologies, const Palette& palette) {
  TextTable table({{"", Align::left}, {"", Align::left}});
  for (const TopologyEntry& topology : topologies) table.add({{topology.name, Style::good}, {topology.help}});
  return palette.paint(Style::heading, "Topologies") + "\n" + (table.empty() ? "  none\n" : table.text(palette));
}

}  // namespace

ExitCode list(const ListCommand& command, const Environment& environment) {
  const Palette palette(use_colour(command.colour, environment.out_is_terminal));
  environment.out(benches_section(environment.benches, palette, environment.out_is_terminal) + "\n" +
                  topologies_section(environment.topologies(), palette) +
                  "\nRun one with \"kernbench run BENCH [-t TOPOLOGY] [-p NAME=VALUE]\".\n");
  return ExitCode::ok;
}

}  // namespace kernbench::cli
