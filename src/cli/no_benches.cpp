// What the program is built with where the build has no benches.
#include "cli/bench_registry.h"
#include "kernbench/error.h"

namespace kernbench::cli {

const std::vector<Bench>& built_in_benches() {
  static const std::vector<Bench> none;
  return none;
}

report::RunResult execute(const Bench&, const RunOptions&) {
  throw ConfigurationError("this build of kernbench has no benches");
}

}  // namespace kernbench::cli
