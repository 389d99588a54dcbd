#include "cli/ccl/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "distributed/algorithms/reduction.h"
#include "distributed/group.h"
#include "kernbench/kernbench.h"
#include "report/outcome.h"
#include "runtime/context.h"
#include "runtime/simulation.h"

namespace kernbench::cli::ccl {
namespace {

namespace dist = torch::distributed;
using dist::ReduceOp;

/// What one row asks for.
struct Point {
  Bytes size;
  DType dtype = DType::f32;
  ReductionName reduction{"none", ReduceOp::SUM};
  int root = 0;
};

std::vector<int> roots_of(const Test& test, const Request& request, int ranks) {
  if (!test.has_root) return {0};
  if (!request.all_roots) return {request.root};
  std::vector<int> roots(static_cast<std::size_t>(ranks));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

/// Of a type, or of one of several.
bool can_be_reduced(const Request& request, const ReductionName& reduction, const TypeName& type, Sweep& sweep) {
  if (distributed::can_reduce(reduction.op, type.dtype)) return true;
  const std::string what = fmt::format("{} of {}", reduction.name, type.name);
  if (request.types.size() == 1 && request.reductions.size() == 1) {
    throw ConfigurationError(
        fmt::format("-o {} -d {}: there is no {}; take another type or reduction", reduction.name, type.name, what));
  }
  sweep.left_out.push_back(what);
  return false;
}

std::vector<Point> points_of(const Test& test, const Request& request, int ranks, Sweep& sweep) {
  if (!test.has_elements) return {Point{}};
  const std::vector<ReductionName> none{{"none", ReduceOp::SUM}};
  const std::vector<int> roots = roots_of(test, request, ranks);
  std::vector<Point> points;
  for (const TypeName& type : request.types) {
    for (const ReductionName& reduction : test.reduces ? request.reductions : none) {
      if (test.reduces && !can_be_reduced(request, reduction, type, sweep)) continue;
      for (const int root : roots) {
        for (const Bytes size : request.sizes.all()) points.push_back({size, type.dtype, reduction, root});
      }
    }
  }
  return points;
}

/// What the ranks find out, by point and rank.
struct Findings {
  Findings(std::size_t points, int ranks)
      : microseconds(points, std::vector<double>(static_cast<std::size_t>(ranks))),
        wrong(points, std::vector<std::int64_t>(static_cast<std::size_t>(ranks))),
        sent(wrong),
        measured(points),
        checked(points),
        taken(points),
        reasons(points),
        fold_orders(points) {}
  std::vector<std::vector<double>> microseconds;
  std::vector<std::vector<std::int64_t>> wrong;
  std::vector<std::vector<std::int64_t>> sent;           // payload of a call
  std::vector<int> measured, checked;                    // ranks that have come so far, by point
  std::vector<std::string> taken, reasons, fold_orders;  // by point
  Time setup;
};

/// One simulation: the same on every rank.
struct Job {
  const Test& test;
  std::vector<Point> points;
  int ranks = 1;
  std::int64_t iterations = 0, warm_ups = 0, calls = 1;
  Average average = Average::mean;
  std::string algorithm;
  Findings findings;
  std::optional<ConfigurationError> refused = {};  // by all ranks alike
};

torch::Tensor host_values(DType dtype, std::int64_t elements, const std::function<double(std::int64_t)>& value) {
  const auto values = torch::empty({elements}, torch::kDouble);
  auto* const data = values.data_ptr<double>();
  for (std::int64_t i = 0; i < elements; ++i) data[i] = value(i);
  return values.to(dtype);
}

Call call_of(const Job& job, const Point& point, int rank) {
  const Counts counts = job.test.counts(point.size.count(), item_size(point.dtype), job.ranks);
  Call call{rank, job.ranks, point.root, counts.count, point.reduction.op, {}, {}};
  const auto options = torch::dtype(point.dtype).device("ahbm");
  call.output = torch::empty({counts.output}, options);
  call.input = job.test.form == Forms::in_place ? call.output : torch::empty({counts.input}, options);
  return call;
}

/// Which algorithm a row's calls are done by.
void note_algorithm(Job& job, std::size_t index) {
  const Point& point = job.points[index];
  for (const auto operation : distributed::kCollectiveOperations) {
    if (distributed::name(operation) != job.test.name) continue;
    auto& context = runtime::current_context("ccl");
    auto& group = *distributed::handle_of({}, "ccl").group;
    const std::int64_t item = item_size(point.dtype);
    const Counts counts = job.test.counts(point.size.count(), item, job.ranks);
    const std::int64_t bytes = counts.largest() * item;
    const auto& algorithm = group.algorithm_of(operation, bytes, context.pe.has_value());
    job.findings.taken[index] = algorithm.name;
    job.findings.fold_orders[index] = algorithm.fold_order;
    job.findings.reasons[index] = group.reason_of(bytes, algorithm);
  }
}

/// Payload that the calling rank has handed to the fabric so far.
std::int64_t sent_by_rank() {
  const auto& context = runtime::current_context("ccl");
  const hardware::Machine& machine = context.simulation.machine();
  return (context.pe ? machine.sent(*context.pe) : machine.sent(SipId{torch::ahbm::current_device()})).bytes.count();
}

bool devices_are_alike() {
  return runtime::current_context("ccl").simulation.options().alike_devices;
}

void measure(Job& job, std::size_t index, int rank) {
  const Call call = call_of(job, job.points[index], rank);
  const auto repeat = [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times * job.calls; ++i) job.test.run(call);
  };
  repeat(job.warm_ups);
  // So that the group's channels are there. A barrier's token would tell devices apart that are alike otherwise.
  if (job.warm_ups == 0 && devices_are_alike()) job.test.run(call);
  if (job.warm_ups == 0 && !devices_are_alike()) dist::barrier();
  torch::ahbm::synchronize();
  dist::monitored_barrier();  // on the host, as in nccl-tests: from a device's barrier ranks go on one after the other
  torch::ahbm::Event begin, end;
  const std::int64_t sent_before = sent_by_rank(), calls = job.iterations * job.calls;
  begin.record();
  repeat(job.iterations);
  end.record();
  end.synchronize();
  const auto own = static_cast<std::size_t>(rank);
  job.findings.microseconds[index][own] = begin.elapsed_time(end) * 1e3 / static_cast<double>(calls);
  job.findings.sent[index][own] = (sent_by_rank() - sent_before) / calls;
  ++job.findings.measured[index];
  if (devices_are_alike()) return torch::ahbm::synchronize();
  dist::barrier();  // the next row's tensors come when all have left this one's
}

void check(Job& job, std::size_t index, int rank) {
  const Point& point = job.points[index];
  Call call = call_of(job, point, rank);
  const Values values(point.reduction.op, job.ranks);
  const Counts counts = job.test.counts(point.size.count(), item_size(point.dtype), job.ranks);
  call.input.copy_(host_values(point.dtype, counts.input, [&](std::int64_t i) { return values.of(rank, i); }));
  job.test.run(call);
  if (counts.output == 0 || !job.test.expected(call, 0, values)) return;
  const auto expected =
      host_values(point.dtype, counts.output, [&](std::int64_t i) { return *job.test.expected(call, i, values); });
  job.findings.wrong[index][static_cast<std::size_t>(rank)] =
      (call.output.cpu() != expected).sum().item<std::int64_t>();
}

/// Whether there is a group. What is wrong with the algorithm, or with what names it (collectives file, tuning,
/// KB_ALGO), is so for all ranks, and no matter of the program's ranks.
bool join_group(int rank, Job& job) {
  try {
    dist::init_process_group("ahbm", rank, job.ranks, {.algorithm = job.algorithm});
  } catch (const ConfigurationError& error) {
    job.refused.emplace(error.what());
    return false;
  }
  return true;
}

void worker(int rank, const std::shared_ptr<Job>& job) {
  if (rank < torch::ahbm::device_count()) torch::ahbm::set_device(rank);
  if (!join_group(rank, *job)) return;
  for (std::size_t index = 0; index < job->points.size(); ++index) {
    if (data_enabled()) {
      check(*job, index, rank);
      ++job->findings.checked[index];
    } else {
      measure(*job, index, rank);
      if (rank == 0) note_algorithm(*job, index);
    }
  }
  if (rank == 0 && !data_enabled()) {
    job->findings.setup = runtime::current_context("ccl").simulation.setup.time;
  }
  dist::destroy_process_group();
}

double time_of(const std::vector<double>& times, Average average) {
  switch (average) {
    case Average::first_rank:
      return times.front();
    case Average::least:
      return *std::ranges::min_element(times);
    case Average::most:
      return *std::ranges::max_element(times);
    case Average::mean:
      break;
  }
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

/// Of a row that was measured.
Row row_of(const Job& job, std::size_t index) {
  const Point& point = job.points[index];
  const std::int64_t item = item_size(point.dtype);
  const Counts counts = job.test.counts(point.size.count(), item, job.ranks);
  const auto& times = job.findings.microseconds[index];
  Row row;
  row.algorithm = job.algorithm;
  row.taken = job.findings.taken[index];
  row.reason = job.findings.reasons[index];
  row.fold_order = job.findings.fold_orders[index];
  row.size = Bytes(counts.largest() * item);
  row.count = counts.count;
  row.type = job.test.has_elements ? nccl_name(point.dtype) : "none";
  row.reduction = point.reduction.name;
  row.root = job.test.has_root ? std::to_string(point.root) : "-1";
  row.time_us = time_of(times, job.average);
  row.slowest_us = time_of(times, Average::most);
  row.sent = *std::ranges::max_element(job.findings.sent[index]);
  row.setup_us = job.findings.setup.in_seconds() * 1e6;
  if (row.time_us > 0) row.algorithm_bandwidth = static_cast<double>(counts.counted * item) / row.time_us * 1e-3;
  row.bus_bandwidth = row.algorithm_bandwidth * job.test.bus_factor(job.ranks);
  return row;
}

void run(const std::shared_ptr<Job>& job, SimulateOptions options, bool data, const Simulate& simulate) {
  options.data = data;
  options.alike_devices = options.alike_devices && !data;  // the values are those of all devices
  options.explain = false;                                 // nothing of it is shown
  simulate(options, [&] { torch::multiprocessing::spawn(worker, std::tuple{job}, {.nprocs = job->ranks}); });
  if (job->refused) throw *job->refused;
}

/// The least time of each point.
std::vector<double> bounds_of(const Test& test, const std::vector<Point>& points, int ranks,
                              const SimulateOptions& options, const Simulate& simulate) {
  std::vector<double> bounds;
  SimulateOptions plain = options;
  plain.data = false;
  simulate(plain, [&] {
    const Bound bound(runtime::current_context("ccl").simulation.machine().network(), ranks);
    for (const Point& point : points) {
      const std::int64_t item = item_size(point.dtype);
      const Counts counts = test.counts(point.size.count(), item, ranks);
      bounds.push_back(bound.microseconds(test, counts.count, item, point.root));
    }
  });
  return bounds;
}

ErrorResult error_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const SimulationFailed& failed) {
    return failed.error();
  } catch (...) {
    return report::error_result(failure);
  }
}

/// As many as there are SIPs.
int all_devices(const SimulateOptions& options, const Simulate& simulate) {
  int count = 0;
  SimulateOptions plain = options;
  plain.data = false;
  simulate(plain, [&] { count = torch::ahbm::device_count(); });
  return count;
}

}  // namespace

double Sweep::average_bus_bandwidth() const {
  double sum = 0;
  for (const Row& row : rows) sum += row.bus_bandwidth;
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

std::int64_t Sweep::wrong() const {
  std::int64_t sum = 0;
  for (const Row& row : rows) sum += row.wrong.value_or(0);
  return sum;
}

Sweep sweep(const Test& test, const Request& request, const SimulateOptions& options, const Simulate& simulate) {
  Sweep result;
  result.ranks = request.ranks > 0 ? request.ranks : all_devices(options, simulate);
  if (test.has_root && !request.all_roots && request.root >= result.ranks) {
    throw ConfigurationError(
        fmt::format("-r {}: there are {} ranks, from 0 to {}", request.root, result.ranks, result.ranks - 1));
  }
  if (test.is_hypercube && !std::has_single_bit(static_cast<unsigned>(result.ranks))) {
    throw ConfigurationError(fmt::format("{}: there are {} ranks, and it takes a power of two; say how many by -g",
                                         test.name, result.ranks));
  }
  const std::vector<Point> points = points_of(test, request, result.ranks, result);
  std::vector<double> bounds;
  if (request.bound) bounds = bounds_of(test, points, result.ranks, options, simulate);
  std::vector<std::string> algorithms = request.algorithms;
  if (algorithms.empty()) algorithms.emplace_back();
  for (const std::string& algorithm : algorithms) {
    const auto job =
        std::make_shared<Job>(Job{test, points, result.ranks, request.iterations, request.warm_ups, request.calls,
                                  request.average, algorithm, Findings(points.size(), result.ranks)});
    std::exception_ptr failure;
    try {
      run(job, options, false, simulate);
      if (request.check) run(job, options, true, simulate);
    } catch (...) {
      failure = std::current_exception();
    }
    for (std::size_t index = 0; index < points.size(); ++index) {
      if (job->findings.measured[index] < result.ranks) continue;
      Row& row = result.rows.emplace_back(row_of(*job, index));
      const auto& wrong = job->findings.wrong[index];
      if (request.bound) row.bound_us = bounds[index];
      if (request.check && job->findings.checked[index] == result.ranks)
        row.wrong = std::accumulate(wrong.begin(), wrong.end(), std::int64_t{0});
    }
    if (!failure) continue;
    if (result.rows.empty()) std::rethrow_exception(failure);
    result.failure = error_of(failure);
    break;
  }
  return result;
}

}  // namespace kernbench::cli::ccl
