#include "cli/built_in_benches.h"
#include "cli/process.h"

int main(int argc, char** argv) {
  return kernbench::cli::run_process(argc, argv, kernbench::cli::built_in_benches(), kernbench::cli::execute);
}
