// kernbench with the scorecard's programs as its benches.
#include "cli/process.h"
#include "scorecard.h"

int main(int argc, char** argv) {
  std::vector<kernbench::cli::Bench> benches;
  for (const auto& bug : kernbench::deadlocks_test::seeded_bugs()) {
    benches.push_back({bug.bench, bug.what, {}, [&bug] { bug.program(); }});
  }
  return kernbench::cli::run_process(argc, argv, std::move(benches), kernbench::cli::execute);
}
