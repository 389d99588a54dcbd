#include "cli/options/sweep_options.h"

#include <algorithm>
#include <string>

#include "cli/options/option_values.h"

namespace kernbench::cli {

namespace {

constexpr const char* kSweepExamples =
    R"(All other options, and the bench, are those of "kernbench run". Each combination is a run of its
own, the last --over varies fastest; a run that fails has its error in its row. Exit code: the
largest of all runs.

Examples:
  kernbench sweep gemm --over M=512,1024,2048 --over dtype=f16,f8e4m3 --no-data
  kernbench sweep gemm --over cube.hbm.bandwidth=600GB/s,1.2TB/s --no-data --csv gemm.csv
  kernbench sweep my_bench.cpp --over topology=ahbm-1sip,my_machine.yaml --results results)";

}  // namespace

void SweepOptions::declare(OptionSet& options) {
  options.text("--over", over, "NAME=V,V", "Values of a parameter, a topology key, topology or seed; repeatable");
  options.text("--metric", metrics, "NAME", "A metric to show (default: 3, times and rates first); repeatable");
  options.text("--jobs", jobs, "N", "Runs at one time (default: one for each processor)");
  options.text("--csv", csv, "FILE", "Write the rows as CSV; '-' is standard output, without the table");
  options.text("--results", results, "FOLDER", "Keep the result of each run there: 1.json, 2.json, …");
  options.flag("--resume", resume, "Take results of the same runs from FOLDER, and run the others");
  options.text("--color", colour, "WHEN", "auto (default), always or never");
  options.footer(kSweepExamples);
  options.pass_on_others();
}

Command SweepOptions::command(const Texts& others) const {
  SweepCommand out;
  for (const std::string& text : over) out.axes.push_back(sweep::axis_of(text));
  if (out.axes.empty()) throw ConfigurationError("sweep needs something to vary: --over M=512,1024");
  sweep::check_names(out.axes);
  for (const char* option : {"--json", "-q", "--quiet", "--trace", "--op-log", "--wait-graph", "--report"}) {
    const auto is_option = [&](const std::string& text) {
      return text == option || text.starts_with(std::string(option) + "=");
    };
    if (std::ranges::any_of(others, is_option))
      throw ConfigurationError(std::string(option) + " is for a single run; --results FOLDER keeps all of a sweep");
  }
  out.run = others;
  out.metrics = metrics;
  out.jobs = jobs_of(single("--jobs", jobs, "0"));
  out.csv = single("--csv", csv, "");
  out.results = single("--results", results, "");
  out.resume = resume;
  if (resume && out.results.empty())
    throw ConfigurationError("--resume needs the folder of the results: --results FOLDER");
  out.colour = colour_of(single("--color", colour, "auto"));
  return out;
}

}  // namespace kernbench::cli
