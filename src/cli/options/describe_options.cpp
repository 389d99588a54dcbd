#include "cli/options/describe_options.h"

#include <string>

#include "cli/options/option_values.h"

namespace kernbench::cli {

namespace {

constexpr const char* kDescribeExamples =
    R"(Formats: table shows counts, peaks, links and latencies; keys every key with its value and
meaning, as --set takes them; yaml a file that loads again; json-schema the schema of topology
files, for editors. With --algorithm: table, or json.

Examples:
  kernbench describe ahbm-1sip
  kernbench describe my_machine.yaml --set sip.cubes.mesh="[2, 2]"
  kernbench describe ahbm-1sip --format yaml > my_machine.yaml
  kernbench describe --format json-schema > topology.schema.json
  kernbench describe ahbm-2sip --set system.sips.count=4 --algorithm ring_allreduce --bytes 1M)";

}  // namespace

void DescribeOptions::declare(OptionSet& options) {
  options.text("TOPOLOGY", topology, "", "Name of a shipped topology, or a YAML file");
  options.text("--set", overrides, "PATH=VALUE", "Override one value of the topology; repeatable");
  options.text("--format", format, "FORMAT", "table (default), keys, yaml or json-schema; of an algorithm, json");
  options.text("--algorithm", algorithm, "NAME", "Show neighbours and steps of this collective algorithm instead");
  options.text("--operation", operation, "OP", "Of an entry of the collectives file (default: all_reduce)");
  options.text("--ranks", ranks, "N", "Its ranks (default: one on each SIP; more than SIPs: one on each PE)");
  options.text("--bytes", bytes, "SIZE", "Of a rank's tensor, or of all its blocks (default: 1M)");
  options.text("--load", load, "FILE", "C++ file with algorithms and models of your own, to check; repeatable");
  options.text("--msccl", msccl, "FILE", "In place of --algorithm: the schedule of an MSCCL file (XML)");
  options.text("--color", colour, "WHEN", "auto (default), always or never");
  options.footer(kDescribeExamples);
}

Command DescribeOptions::command() const {
  DescribeCommand out;
  out.format = format_of(single("--format", format, "table"));
  out.topology = single("TOPOLOGY", topology, "");
  if (!algorithm.empty() || !msccl.empty()) {
    algorithm_into(out);
  } else {
    check_no_algorithm(out.format);
  }
  if (out.topology.empty() && out.format != DescribeFormat::json_schema) {
    throw ConfigurationError("describe needs a TOPOLOGY: a shipped topology's name (see \"kernbench list\") or a file");
  }
  out.load = load;
  out.overrides = overrides_of(overrides);
  out.colour = colour_of(single("--color", colour, "auto"));
  return out;
}

void DescribeOptions::algorithm_into(DescribeCommand& out) const {
  if (out.format != DescribeFormat::table && out.format != DescribeFormat::json)
    throw ConfigurationError("--format of --algorithm: expected table or json");
  if (!algorithm.empty() && !msccl.empty())
    throw ConfigurationError("--algorithm and --msccl each name an algorithm: give one of them");
  out.msccl = single("--msccl", msccl, "");
  distributed::DescriptionRequest& request = out.algorithm.emplace();
  request.name = single("--algorithm", algorithm, "");
  request.operation = single("--operation", operation, "");
  if (!ranks.empty()) request.ranks = static_cast<int>(ccl_number_of("--ranks", single("--ranks", ranks, ""), 1));
  request.bytes = ccl_size_of("--bytes", single("--bytes", bytes, "1M"));
}

void DescribeOptions::check_no_algorithm(DescribeFormat shown) const {
  const char* unused = !operation.empty() ? "--operation"
                       : !ranks.empty()   ? "--ranks"
                       : !bytes.empty()   ? "--bytes"
                                          : nullptr;
  if (unused != nullptr) throw ConfigurationError(std::string(unused) + " is for --algorithm NAME or --msccl FILE");
  if (shown == DescribeFormat::json)
    throw ConfigurationError("--format json is for --algorithm NAME; of topologies: table, keys, yaml, json-schema");
}

}  // namespace kernbench::cli
