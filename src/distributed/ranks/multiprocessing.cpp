// torch::multiprocessing: the face of Spawn.
#include "kernbench/multiprocessing.h"

#include <algorithm>
#include <cmath>

#include "distributed/ranks/rank_exit.h"
#include "distributed/ranks/spawn.h"
#include "kernbench/error.h"
#include "tensor/host_call.h"

namespace kernbench::torch::multiprocessing {

namespace {

Time to_time(double seconds) {
  if (std::isnan(seconds)) throw ValueError("ProcessContext::join: the timeout is not a number");
  const double picoseconds = std::max(seconds, 0.0) * 1e12;
  if (picoseconds >= static_cast<double>(Time::max().count())) return Time::max();
  return Time::picoseconds(static_cast<std::int64_t>(picoseconds));
}

}  // namespace

ProcessContext::ProcessContext(std::shared_ptr<kernbench::distributed::Spawn> spawn) : spawn_(std::move(spawn)) {}

bool ProcessContext::join(std::optional<double> timeout, Where where) const {
  const tensor::HostCall here("ProcessContext::join", where);
  runtime::current_context("ProcessContext::join");
  return spawn_->join(timeout ? std::optional(to_time(*timeout)) : std::nullopt);
}

std::vector<std::int64_t> ProcessContext::pids() const {
  return spawn_->pids();
}

ProcessContext detail::start(std::function<void(int rank)> worker, const SpawnOptions& options, const Where& where) {
  const tensor::HostCall here("torch::multiprocessing::spawn", where);
  ProcessContext context(kernbench::distributed::Spawn::start(std::move(worker), options));
  while (options.join && !context.join()) {
  }
  return context;
}

void exit(int code) {
  if (!runtime::current_context("torch::multiprocessing::exit").worker.group) {
    throw ProgramError("ContextError",
                       "torch::multiprocessing::exit was called by the main program; it ends a rank. Return from the "
                       "program instead");
  }
  throw kernbench::distributed::RankExit{code};
}

}  // namespace kernbench::torch::multiprocessing
