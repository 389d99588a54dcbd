// kernbench with benches that do on demand what real ones should never do.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "cli/process.h"
#include "kernbench/error.h"

namespace kernbench::cli {
namespace {

report::RunResult finished(const std::string& name) {
  report::RunResult out;
  out.simulated_time = Time::microseconds(30);
  out.events = 1000;
  report::LaunchResult launch;
  launch.name = name;
  launch.start = Time::microseconds(1);
  launch.end = Time::microseconds(21);
  launch.programs = 2;
  launch.breakdown = {{"gemm", Time::microseconds(20)}};
  out.launches = {launch};
  out.checks = {{"result", report::CheckStatus::passed, 0, 0}};
  out.metrics = {{"M", {1, "rows"}}};
  return out;
}

report::RunResult failing_check(const SimulateOptions&) {
  report::RunResult out = finished("wrong");
  out.checks.push_back({"norm", report::CheckStatus::failed, 0.5, 0.25, "norm.cpp:12", 4096, 3, "[1, 7]", 2.5, 2});
  return out;
}

report::RunResult partial(const SimulateOptions&) {
  report::RunResult out = finished("before");
  out.error = report::ErrorResult{"DeadlockError", "rank 0 waits\nrank 1 waits", "ring.cpp:7"};
  return out;
}

// Waits until asked to stop; a deaf run never notices, a slow one has much to collect.
report::RunResult endless(const SimulateOptions& options, const std::string& name) {
  std::cerr << "running" << std::endl;
  while (name == "deaf" || !*options.stop_requested) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (name == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  report::RunResult out = finished("cut short");
  out.error = report::ErrorResult{"Interrupted", "after 30 us of simulated time", ""};
  return out;
}

report::RunResult printing(const SimulateOptions&) {
  std::cout << "from a C++ stream\n";
  std::printf("from a C stream\n");
  return finished("printing");
}

report::RunResult many(const SimulateOptions&) {
  report::RunResult out;
  for (int i = 0; i < 100'000; ++i) out.resources.push_back({"sip0.pe" + std::to_string(i), Time::zero(), Bytes(1), 0});
  return out;
}

report::RunResult execute_fake(const Bench& bench, const SimulateOptions& options) {
  if (bench.name == "good") options.parameters.integer("M", 1);
  if (bench.name == "good") return finished("good");
  if (bench.name == "wrong") return failing_check(options);
  if (bench.name == "partial") return partial(options);
  if (bench.name == "throws") throw OutOfMemoryError("TCM of 4 MiB is full", "sip0.cube0.pe1");
  if (bench.name == "misconfigured") throw ConfigurationError("unknown key", "x.yaml:3:5");
  if (bench.name == "broken") throw std::logic_error("index 7 of 7");
  if (bench.name == "terminates") std::terminate();
  if (bench.name == "exits") std::exit(7);
  if (bench.name == "aborts") std::abort();
  if (bench.name == "unwritten") {
    report::RunResult out = finished("unwritten");
    out.error = report::ErrorResult{"OutputError", "cannot write the operation log: No space left on device", "log"};
    return out;
  }
  if (bench.name == "endless" || bench.name == "deaf" || bench.name == "slow") return endless(options, bench.name);
  if (bench.name == "printing") return printing(options);
  return many(options);
}

std::vector<Bench> fake_benches() {
  std::vector<Bench> out;
  for (const char* name : {"good", "wrong", "partial", "throws", "misconfigured", "broken", "terminates", "endless",
                           "deaf", "slow", "printing", "many", "exits", "aborts", "unwritten"}) {
    out.push_back({name, "a fake", {}, {}});
  }
  out[0].parameters = {{"M", "8", "rows"}, {"dtype", "f16", "type of the operands"}};
  return out;
}

}  // namespace
}  // namespace kernbench::cli

int main(int argc, char** argv) {
  return kernbench::cli::run_process(argc, argv, kernbench::cli::fake_benches(), kernbench::cli::execute_fake);
}
