#include "cli/options/diff_options.h"

#include "cli/options/option_values.h"

namespace kernbench::cli {

namespace {

constexpr const char* kDiffExamples =
    R"(A and B are results that "kernbench run --json FILE" wrote. Shown are the inputs that differ, what
explains most first, the simulated time, and where it went: by activity on the critical paths, by
launch, by kind of resource, and by what was waited for. Wall-clock figures are not compared.

Examples:
  kernbench run gemm --quiet --json before.json
  kernbench run gemm --quiet --json after.json --set cube.hbm.bandwidth=600GB/s
  kernbench diff before.json after.json
  kernbench diff before.json after.json --format json)";

}  // namespace

void DiffOptions::declare(OptionSet& options) {
  options.text("A", a, "", "Result of one run: a file that \"run --json\" wrote");
  options.text("B", b, "", "Result of another run");
  options.text("--format", format, "FORMAT", "table (default) or json");
  options.flag("--exit-code", exit_code, "Exit with 1 when the outcomes differ, with 0 when not");
  options.text("--color", colour, "WHEN", "auto (default), always or never");
  options.footer(kDiffExamples);
}

Command DiffOptions::command() const {
  DiffCommand out;
  out.a = single("A", a, "");
  out.b = single("B", b, "");
  if (out.a.empty() || out.b.empty()) {
    throw ConfigurationError("diff needs two results, A and B: files that \"kernbench run --json FILE\" wrote");
  }
  out.format = diff_format_of(single("--format", format, "table"));
  out.exit_code = exit_code;
  out.colour = colour_of(single("--color", colour, "auto"));
  return out;
}

}  // namespace kernbench::cli
