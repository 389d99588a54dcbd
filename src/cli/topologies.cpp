#include "cli/topologies.h"

#include <fmt/format.h>

#include "cli/topology_table.h"
#include "kernbench/error.h"
#include "topology/load.h"
#include "topology/print.h"
#include "topology/schema.h"

namespace kernbench::cli {
namespace {

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// A broken file must not keep `list` from showing the others.
std::string summary_of(const std::string& name) {
  try {
    const topology::Topology topology = topology::load_topology(name);
    return fmt::format("{} of {} of {}", plural(topology.system.sips, "SIP"),
                       plural(topology.sip.cubes.count(), "cube"), plural(topology.cube.pes.count(), "PE"));
  } catch (const ConfigurationError&) {
    return fmt::format("cannot be read: see \"kernbench describe {}\"", name);
  }
}

}  // namespace

std::vector<TopologyEntry> shipped_topologies() {
  std::vector<TopologyEntry> out;
  for (const std::string& name : topology::topology_names()) out.push_back({name, summary_of(name)});
  return out;
}

std::string describe_topology(const DescribeCommand& command, bool colour) {
  if (command.format == DescribeFormat::json_schema) return topology::json_schema();
  // Without files a machine may name models of a program that is not here.
  const topology::Topology topology = topology::load_topology(
      command.topology, command.overrides, {}, command.models.value_or(topology::ModelNames{.any = true}));
  switch (command.format) {
    case DescribeFormat::yaml:
      return topology::to_yaml(topology);
    case DescribeFormat::keys:
      return topology::to_table(topology);
    default:
      return topology_table(topology, colour);
  }
}

}  // namespace kernbench::cli
