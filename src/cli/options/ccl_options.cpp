#include "cli/options/ccl_options.h"

#include <algorithm>
#include <string>

#include "cli/options/option_values.h"

namespace kernbench::cli {

namespace {

constexpr const char* kCclExamples =
    R"(Operations: all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, gather, scatter,
sendrecv, hypercube, barrier; also as all_to_all, allreduce or all_reduce_perf. Options, sizes (8,
32K, 1G) and table are nccl-tests', times are simulated. Exit code 1: an element is wrong. Example:
  kernbench ccl all_reduce -b 1K -e 64M -f 4 --algo ring_allreduce --algo direct_allreduce --compare)";

}  // namespace

void CclOptions::declare(OptionSet& options) {
  options.text("OPERATION", operation, "", "all_reduce, broadcast, …: see below");
  options.text("--topology", topology, "TOPOLOGY", "Shipped topology or YAML file (default: ahbm-2sip)");
  options.text("--set", overrides, "PATH=VALUE", "Override one value of the topology; repeatable");
  options.text("-b,--minbytes", least, "SIZE", "Least size (default: 32M)");
  options.text("-e,--maxbytes", most, "SIZE", "Largest size (default: 32M, or that of -b if it is larger)");
  options.text("-i,--stepbytes", step, "SIZE", "From one size to the next (default: 1M)");
  options.text("-f,--stepfactor", factor, "N", "Factor from one size to the next, in place of -i");
  options.text("-g,--ngpus", devices, "N", "Ranks (default: one on each SIP; more than SIPs: one on each PE)");
  options.text("-n,--iters", iterations, "N", "Timed iterations (default: 20)");
  options.text("-w,--warmup_iters", warm_ups, "N", "Iterations before them (default: 1)");
  options.text("-a,--average", average, "N", "Of the ranks' times: 0 rank 0's, 1 the mean (default), 2 least, 3 most");
  options.text("-m,--agg_iters", calls, "N", "Calls in each iteration (default: 1)");
  options.text("-c,--check", check, "N", "0: no values are computed, nothing is checked (default: 1)");
  options.text("-o,--op", reduction, "OP", "sum (default), prod, max, min, avg or all");
  options.text("-d,--datatype", type, "TYPE", "float (default), half, bfloat16, int8, …, or all");
  options.text("-r,--root", root, "RANK", "Root, or all (default: 0)");
  options.text("-t,--nthreads", threads, "N", "Of nccl-tests: ranks are -t times -g");
  for (auto& [names, why, values] : ignored) options.hidden_text(names, values);
  options.text("--algo", algorithms, "NAME", "Algorithm, entry of the collectives file, or all; repeatable");
  options.text("--load", load, "FILE", "C++ file with algorithms and component models of your own; repeatable");
  options.text("--msccl", msccl, "FILE", "MSCCL file (XML) whose schedule is run, beside --algo; repeatable");
  options.text("--tune", tune, "FILE", "Write the best algorithm of each size, of --algo or of all, for auto");
  limits.declare_max_time(options);
  limits.declare_watchdog(options);
  options.flag("--alike-devices", alike_devices, "All devices do the same: measure one of them");
  options.flag("--compare", compare, "Bus bandwidth side by side, the best marked: of --algo, or of all");
  options.flag("--bound", bound, "The least time that any algorithm could take, beside each row");
  options.text("--csv", csv, "FILE", "Write the rows as CSV; '-' is standard output, without the table");
  options.text("--json,-J", json, "FILE", "Write the rows as JSON; '-' is standard output, without the table");
  options.footer(kCclExamples);
}

Command CclOptions::command() const {
  CclCommand out;
  ccl::Request& request = out.request;
  request.operation = single("OPERATION", operation, "");
  if (request.operation.empty()) throw ConfigurationError("ccl needs an OPERATION, such as all_reduce");
  out.options.topology = single("--topology", topology, "ahbm-2sip");
  out.options.overrides = overrides_of(overrides);
  limits.into(out.options);
  sizes_into(request.sizes);
  request.iterations = ccl_number_of("-n", single("-n", iterations, "20"), 1);
  request.warm_ups = ccl_number_of("-w", single("-w", warm_ups, "1"), 0);
  request.calls = ccl_number_of("-m", single("-m", calls, "1"), 1);
  request.average = ccl_average_of(single("-a", average, "1"));
  request.check = ccl_number_of("-c", single("-c", check, "1"), 0) > 0;
  request.reductions = ccl_reductions_of(single("-o", reduction, "sum"));
  request.types = ccl_types_of(single("-d", type, "float"));
  const auto ranks = ccl_number_of("-g", single("-g", devices, "0"), 0);
  request.ranks = static_cast<int>(ranks * nccl_threads_of(single("-t", threads, "1")));
  request.all_roots = single("-r", root, "0") == "all";
  if (!request.all_roots) request.root = static_cast<int>(ccl_number_of("-r", single("-r", root, "0"), 0));
  request.algorithms = algorithms;
  out.options.alike_devices = alike_devices;
  if (alike_devices)
    out.notes.emplace_back("--alike-devices: the first device was measured, the others are taken to be like it");
  out.load = load;
  out.msccl = msccl;
  out.tune = single("--tune", tune, "");
  out.compare = compare;
  request.bound = bound;
  out.json = single("--json", json, "");
  out.csv = single("--csv", csv, "");
  if (out.json == "-" && out.csv == "-") throw ConfigurationError("--json - and --csv - both want standard output");
  if (!threads.empty() && ranks == 0) out.notes.emplace_back("-t without -g: as many ranks as there are SIPs");
  for (const auto& [names, why, values] : ignored)
    if (!values.empty()) out.notes.push_back(std::string(names, 2) + " changes nothing: " + why);
  return out;
}

void CclOptions::sizes_into(ccl::Sizes& sizes) const {
  sizes.least = ccl_size_of("-b", single("-b", least, "32M"));
  const std::string largest = single("-e", most, "");
  sizes.most = largest.empty() ? std::max(sizes.least, sizes.most) : ccl_size_of("-e", largest);
  sizes.step = ccl_size_of("-i", single("-i", step, "1M"));
  sizes.factor = ccl_number_of("-f", single("-f", factor, "1"), 1);
  if (sizes.most < sizes.least) {
    throw ConfigurationError(least.empty() ? "-e " + largest + " is below the least size; give -b, too"
                                           : "-e " + largest + " is below -b " + single("-b", least, ""));
  }
  if (sizes.factor == 1 && sizes.step == Bytes()) throw ConfigurationError("-i 0: expected a size above 0");
}

}  // namespace kernbench::cli
