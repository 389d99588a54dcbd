#include "logged_run.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kernbench::testing {

namespace {

Time field(const std::string& word, const std::string& name) {
  const std::string prefix = name + "=";
  if (!word.starts_with(prefix)) throw std::runtime_error("operation log: expected " + prefix + ", got " + word);
  return Time::picoseconds(std::stoll(word.substr(prefix.size())));
}

LoggedOperation parsed(const std::string& line) {
  std::istringstream words(line);
  LoggedOperation operation;
  std::string finished, number, issued, ready, started;
  words >> finished >> operation.program >> number >> operation.kind >> issued >> ready >> started;
  operation.finished = Time::picoseconds(std::stoll(finished));
  operation.issued = field(issued, "issued");
  operation.ready = field(ready, "ready");
  operation.started = field(started, "started");
  return operation;
}

}  // namespace

std::vector<LoggedOperation> operations_of(const std::vector<std::string>& overrides,
                                           const std::function<void()>& program) {
  char path[] = "/tmp/kernbench_validation_XXXXXX";
  const int file = ::mkstemp(path);
  if (file < 0) throw std::runtime_error("cannot make a temporary file");
  ::close(file);
  SimulateOptions options;
  options.topology = "tiny";
  options.overrides = {"pe.mmu.miss=0ps"};  // the formulas know of no pages
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  options.threads = 1;
  options.operation_log = path;
  simulate(options, program);
  std::vector<LoggedOperation> operations;
  {
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);) {
      if (line.find(" - launch ") == std::string::npos) operations.push_back(parsed(line));
    }
  }
  std::remove(path);
  return operations;
}

torch::TensorOptions on_one_pe(DType dtype) {
  return torch::dtype(dtype).device("ahbm").placement({.num_cubes = 1, .num_pes = 1});
}

}  // namespace kernbench::testing
