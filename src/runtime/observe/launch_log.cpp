#include "runtime/observe/launch_log.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/observe/engine_use.h"
#include "runtime/observe/launch_result.h"
#include "runtime/streams/launches.h"
#include "sim/program_call.h"
#include "tile/explain/explainer.h"

namespace kernbench::runtime {
namespace {

using hardware::EngineKind;

constexpr double kNoPeak = std::numeric_limits<double>::infinity();

/// The names of activities depend on the engine for some of them.
using ActivityTimes = std::map<std::pair<tile::Activity, EngineKind>, Time>;

void add_path(ActivityTimes& times, const CompletedLaunch& launch, const tile::Explainer* explainer) {
  const auto add = [&](tile::Activity activity, EngineKind engine, Time time) {
    if (time > Time::zero()) times[{activity, engine}] += time;
  };
  add(tile::Activity::dispatch, EngineKind::dma, launch.record.last_start - launch.times.requested);
  const tile::FoundPath found = explainer->critical_path(*launch.record.explanation);
  if (const tile::LateSender& sender = found.sender; sender.origin) {
    add(tile::Activity::sender_busy, EngineKind::dma, sender.free() - sender.start);
    add(tile::Activity::sender, EngineKind::dma, sender.begun - sender.free());
  }
  for (const tile::PathSum& sum : found.sums) {
    const tile::PathKey& key = explainer->paths().key(sum.key);
    add(key.activity, key.engine, sum.time);
  }
  add(tile::Activity::completion, EngineKind::dma, launch.times.completed - launch.record.last_end);
}

std::vector<std::pair<std::string, Time>> by_name(const ActivityTimes& times) {
  std::map<std::string, Time> names;
  for (const auto& [key, time] : times) names[std::string(tile::name(key.first, key.second))] += time;
  std::vector<std::pair<std::string, Time>> parts(names.begin(), names.end());
  std::ranges::stable_sort(parts, std::greater{}, &std::pair<std::string, Time>::second);
  return parts;
}

void add_engines(std::vector<EngineTotal>& totals, std::vector<EngineResult> engines) {
  for (EngineResult& engine : engines) {
    auto total = std::ranges::find(totals, engine.engine, &EngineTotal::engine);
    if (total == totals.end()) {
      totals.emplace_back().engine = engine.engine;
      total = totals.end() - 1;
    }
    if (engine.work > total->most_work) {
      total->most_work = engine.work;
      total->types = std::move(engine.types);
    }
    total->work += engine.work;
    total->busiest += engine.busiest;
    const auto at = [&](double peak) { return peak > 0 ? engine.work / peak : kNoPeak; };
    total->at_device_peak += at(engine.device_peak);
    total->at_used_peak += at(engine.used_peak);
  }
}

void add(DistanceBytes& sum, const DistanceBytes& more) {
  sum.own_slice += more.own_slice;
  sum.same_cube += more.same_cube;
  sum.same_sip += more.same_sip;
  sum.other_sips += more.other_sips;
}

WaitResult wait_of(const HeldUp& held) {
  if (held.reason.empty()) return {};
  return {std::string(held.reason),
          held.call == nullptr ? "" : held.call,
          sim::place_text(held.where),
          held.cause,
          sim::place_text(held.cause_where),
          held.time,
          1};
}

LaunchResult result_of(const CompletedLaunch& launch, const hardware::Machine& machine,
                       const tile::Explainer* explainer, tile::TextStore& texts) {
  LaunchResult result = launch_result(launch.plan, machine, launch.times, launch.record, explainer, texts);
  result.in_region = launch.in_region;
  result.plan = launch.plan.plan;
  result.where = sim::place_text(launch.where);
  result.waited_for = wait_of(launch.held_up);
  return result;
}

/// Stable; places are exchanged for the sort, since a result is large.
std::vector<LaunchResult> by_start(std::vector<LaunchResult> launches) {
  const auto start = [](const LaunchResult* launch) { return std::pair(launch->start, launch->device); };
  std::vector<LaunchResult*> order;
  order.reserve(launches.size());
  for (LaunchResult& launch : launches) order.push_back(&launch);
  if (std::ranges::is_sorted(order, {}, start)) return launches;
  std::ranges::stable_sort(order, {}, start);
  std::vector<LaunchResult> sorted;
  sorted.reserve(order.size());
  for (LaunchResult* launch : order) sorted.push_back(std::move(*launch));
  return sorted;
}

/// Tells plans apart; empty: none.
std::string plan_text(const std::optional<PlanResult>& plan) {
  if (!plan) return {};
  std::string text = plan->of + '\n' + std::to_string(plan->estimated.count());
  for (const auto& [name, value] : plan->choices) text.append(1, '\n').append(name).append(1, '=').append(value);
  return text;
}

}  // namespace

struct LaunchLog::Key {
  std::string name;
  std::string_view file;  // the compiler's
  std::uint_least32_t line = 0;
  std::int32_t device = 0;
  std::string range;
  bool in_region = true;
  std::string plan;
  auto operator<=>(const Key&) const = default;
};

/// What makes up a LaunchTotal, without texts as far as possible.
struct LaunchLog::Sum {
  LaunchTotal total;
  bool explained = false;
  std::array<Time, kBreakdownCategories.size()> breakdown;
  ActivityTimes path;
  tile::LaunchAccount account;

  void add(const CompletedLaunch& launch, const hardware::Machine& machine, const tile::Explainer* explainer,
           tile::TextStore& texts);
  LaunchTotal finished(tile::TextStore& texts);
};

void LaunchLog::Sum::add(const CompletedLaunch& launch, const hardware::Machine& machine,
                         const tile::Explainer* explainer, tile::TextStore& texts) {
  const auto& [plan, times, record, where, in_region, held_up] = launch;
  const Time time = times.completed - times.requested;
  const bool first = total.count++ == 0;
  total.total += time;
  total.shortest = first ? time : std::min(total.shortest, time);
  total.longest = std::max(total.longest, time);
  total.first_start = first ? times.requested : std::min(total.first_start, times.requested);
  total.last_end = std::max(total.last_end, times.completed);
  for (const auto& type : record.work.gemm) total.flops += type.operations;
  total.hbm_bytes += record.hbm_bytes;
  total.fused_bytes += record.fused_bytes;
  runtime::add(total.distance, record.distance);
  add_engines(total.engines, engines_of(record, SipId{plan.device}, plan.pes, time, machine));
  explained = explainer != nullptr;
  if (explained) {
    const auto parts = breakdown_of(launch.times, launch.record);
    for (std::size_t i = 0; i < parts.size(); ++i) breakdown[i] += parts[i];
    add_path(path, launch, explainer);
    account.add(record.explanation->account);
  }
  const LaunchResult& longest = total.longest_launch;
  const auto key = std::tuple(Time::zero() - time, times.requested);
  if (first || key < std::tuple(longest.start - longest.end, longest.start)) {
    total.longest_launch = result_of(launch, machine, explainer, texts);
  }
}

LaunchTotal LaunchLog::Sum::finished(tile::TextStore& texts) {
  for (std::size_t i = 0; explained && i < breakdown.size(); ++i)
    total.breakdown.emplace_back(kBreakdownCategories[i], breakdown[i]);
  total.critical_path = by_name(path);
  total.waits = waits_of(account, texts);
  total.operations = operations_of(account);
  return std::move(total);
}

LaunchLog::LaunchLog(std::size_t detailed) : detailed_(detailed) {}
LaunchLog::~LaunchLog() = default;

LaunchLog::Sum& LaunchLog::sum_of(const CompletedLaunch& launch) {
  const LaunchPlan& plan = launch.plan;
  Key key{plan.name,  launch.where.file_name(), launch.where.line(), plan.device,
          plan.range, launch.in_region,         plan_text(plan.plan)};
  auto& sum = sums_[std::move(key)];
  if (sum) return *sum;
  sum = std::make_unique<Sum>();
  LaunchTotal& total = sum->total;
  total.name = plan.name;
  total.device = plan.device;
  total.where = sim::place_text(launch.where);
  total.range = plan.range;
  total.in_region = launch.in_region;
  total.plan = plan.plan;
  return *sum;
}

void LaunchLog::add(const CompletedLaunch& launch, const hardware::Machine& machine, const tile::Explainer* explainer) {
  if (++count_ > detailed_) return sum_of(launch).add(launch, machine, explainer, texts_);
  launches_.push_back(result_of(launch, machine, explainer, texts_));
}

void LaunchLog::hand_over(RunResult& result) {
  result.launches = by_start(std::exchange(launches_, {}));
  for (const auto& [key, sum] : sums_) result.launch_totals.push_back(sum->finished(texts_));
  sums_.clear();
}

}  // namespace kernbench::runtime
