#include <string>

#include "cli/commands.h"
#include "report/text_table.h"

namespace kernbench::cli {
namespace {

using report::Align;
using report::Palette;
using report::Style;
using report::TextTable;

std::string benches_section(const std::vector<Bench>& benches, const Palette& palette) {
  std::string out = palette.paint(Style::heading, "Benches") + "\n";
  if (benches.empty()) out += "  none\n";
  for (const Bench& bench : benches) {
    TextTable table({{"", Align::left, 28}, {"", Align::left, 16}, {"", Align::left, 46}});
    for (const BenchParameter& parameter : bench.parameters) {
      table.add({{"  " + parameter.name}, {parameter.default_value}, {parameter.help, Style::faint}});
    }
    out += "  " + palette.paint(Style::good, bench.name) + "  " + bench.help + "\n" + table.text(palette);
  }
  return out;
}

std::string topologies_section(const std::vector<TopologyEntry>& topologies, const Palette& palette) {
  TextTable table({{"", Align::left, 24}, {"", Align::left, 70}});
  for (const TopologyEntry& topology : topologies) table.add({{topology.name, Style::good}, {topology.help}});
  return palette.paint(Style::heading, "Topologies") + "\n" + (table.empty() ? "  none\n" : table.text(palette));
}

}  // namespace

ExitCode list(const ListCommand& command, const Environment& environment) {
  const Palette palette(use_colour(command.colour, environment.out_is_terminal));
  environment.out(benches_section(environment.benches, palette) + "\n" +
                  topologies_section(environment.topologies(), palette) +
                  "\nRun one with \"kernbench run BENCH [-t TOPOLOGY] [-p NAME=VALUE]\".\n");
  return ExitCode::ok;
}

}  // namespace kernbench::cli
