#include "runtime/functions/trial_meter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <variant>

#include "base/nanoseconds.h"
#include "hardware/fabric/fabric.h"
#include "hardware/machine.h"
#include "hardware/work.h"
#include "runtime/simulation.h"
#include "tile/library/gemm_vector_share.h"
#include "tile/stream/operation_record.h"

namespace kernbench::runtime {
namespace {

using tile::library::GemmPlan;
using tile::library::GemmRange;

/// Bursts at servers that the simulation of one plan may cost: about two seconds, and twice what a product of 2048^3
/// takes on 128 PEs. assumption: of larger ones the first steps say enough.
constexpr std::uint64_t kBursts = 2'000'000;
/// Those of all plans of a product, as far as they are known before: of a plan as many as of the first one. assumption:
/// some ten of those that are simulated to their end.
constexpr double kBurstsOfAll = 32'000'000;
/// Rounds of which an estimate is made at least, after those whose loads were all asked for at the begin.
constexpr std::size_t kLeastRounds = 3;
/// From which part of its multiplications on a plan is given up whose estimate is so many times the limit. Where
/// measurements are cheap, those of one engine: early estimates of plans that memory bounds, or that share the work
/// with the vector engine, are up to a third too long. Measured: of 18,589 trials on `tiny` a tenth to a third of the
/// work goes, and 10 of those that are given up would have been within the limit, by less than 1 % of it.
struct Patience {
  double done, limits;
};
constexpr std::array kPatience{Patience{0.75, 1.04}, Patience{0.5, 1.1}, Patience{0.25, 1.3}};
/// The way back of a launch, which is about half of an empty one: measured on ahbm-1sip (2.0 us).
constexpr double kCompletionNs = 1000;

/// The part of k that the GEMM engine takes.
double array_k(const GemmPlan& plan, const GemmRange& range) {
  const std::int64_t k = range.k[1] - range.k[0];
  if (plan.vector_share == 0) return static_cast<double>(k);
  double sum = 0;
  std::int64_t step = plan.first_k;
  for (std::int64_t at = 0, length = 0; at < k; at += length) {
    length = std::min(step, k - at);
    sum += static_cast<double>(length - tile::library::vector_length(plan, length));
    step = std::min(2 * step, plan.tile_k);
  }
  return sum;
}

double multiplications(const GemmPlan& plan, const GemmRange& range) {
  if (range.empty()) return 0;
  return static_cast<double>(range.batch[1] - range.batch[0]) * static_cast<double>(range.m[1] - range.m[0]) *
         static_cast<double>(range.n[1] - range.n[0]) * array_k(plan, range);
}

std::int64_t programs_of(const GemmPlan& plan) {
  return std::ranges::count_if(plan.ranges, [](const GemmRange& range) { return !range.empty(); });
}

double multiplications(const GemmPlan& plan) {
  double sum = 0;
  for (const GemmRange& range : plan.ranges) sum += multiplications(plan, range);
  for (const std::array<GemmRange, 2>& edges : plan.edges) {
    for (const GemmRange& edge : edges) sum += multiplications(plan, edge);
  }
  return sum;
}

}  // namespace

double rest_ns(std::span<const TrialRound> rounds, std::size_t at_begin, double total) {
  const TrialRound& first = rounds[std::max(at_begin, rounds.size() / 2) - 1];
  const TrialRound& last = rounds.back();
  return (total - last.done) * nanoseconds(last.at - first.at) / (last.done - first.done);
}

TrialMeter::TrialMeter(Simulation& simulation, const GemmPlan& plan, double limit, std::atomic<bool>& over)
    : simulation_(simulation),
      plan_(plan),
      limit_(limit),
      over_(over),
      begin_(simulation.scheduler().now()),
      programs_(std::max<std::int64_t>(programs_of(plan), 1)),
      total_(multiplications(plan)) {}

void TrialMeter::on_operation(const tile::OperationRecord& operation) {
  const auto* const work = std::get_if<hardware::GemmWork>(&operation.work());
  if (work == nullptr || estimate_) return;
  done_ += static_cast<double>(work->batch * work->m) * static_cast<double>(work->n * work->k);
  // Programs are about in step: within a round their commands end together, and stand for no rate.
  if (++commands_ % programs_ != 0) return;
  rounds_.push_back({simulation_.scheduler().now(), done_});
  if (rounds_.size() < first_round() + kLeastRounds || done_ >= total_) return;
  if (is_hopeless()) {
    estimate_ = std::numeric_limits<double>::infinity();
  } else if (bursts() >= kBursts) {
    estimate_ = estimated_ns();
  }
  over_ = estimate_.has_value();
}

bool TrialMeter::is_hopeless() const {
  const bool is_cheap = cost() * total_ <= tile::library::kCheapMeasurement * done_;
  if (!is_cheap || plan_.vector_share > 0) return false;
  const auto now =
      std::ranges::find_if(kPatience, [&](const Patience& patience) { return done_ >= patience.done * total_; });
  return now != kPatience.end() && estimated_ns() > now->limits * limit_;
}

std::uint64_t TrialMeter::bursts() const {
  const hardware::Fabric& fabric = simulation_.machine().fabric();
  std::uint64_t sum = 0;
  for (std::uint32_t server = 0; server < fabric.server_count(); ++server)
    sum += fabric.counters(hardware::ServerId{server}).bursts;
  return sum;
}

double TrialMeter::cost() const {
  return static_cast<double>(bursts()) / kBurstsOfAll;
}

std::size_t TrialMeter::first_round() const {
  return static_cast<std::size_t>(plan_.depth);
}

double TrialMeter::estimated_ns() const {
  return nanoseconds(rounds_.back().at - begin_) + rest_ns(rounds_, first_round(), total_) + kCompletionNs +
         plan_.second_launch_ns;
}

}  // namespace kernbench::runtime
