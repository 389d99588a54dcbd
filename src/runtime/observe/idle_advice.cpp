#include "runtime/observe/idle_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace kernbench::runtime {
namespace {

constexpr double kLeastIdle = 0.25;     // of the region
constexpr std::int64_t kLeastGaps = 8;  // of a device: one launch with little before it is no pattern

}  // namespace

std::vector<std::string> idle_advice(const RunResult& result, const std::vector<WaitResult>& idle) {
  const Time span = result.region ? result.region->time : result.simulated_time;
  std::map<std::tuple<std::string, std::string, std::string>, Time> causes;
  Time all;
  std::int64_t gaps = 0;
  for (const WaitResult& each : idle) {
    causes[{each.reason, each.operation, each.where}] += each.time;
    all += each.time;
    gaps += each.count;
  }
  const auto devices = static_cast<std::int64_t>(result.devices.size());
  const double share = devices == 0 ? 0 : all.in_seconds() / (static_cast<double>(devices) * span.in_seconds());
  if (!(share >= kLeastIdle) || gaps < kLeastGaps * devices) return {};
  const auto longest = std::ranges::max_element(causes, {}, [](const auto& cause) { return cause.second; });
  const auto& [reason, call, where] = longest->first;
  const std::string what = call.empty() ? "a call" : call;
  const std::string at = where.empty() ? what : what + " at " + where;
  const std::string whose =
      devices == 1 ? "the device has nothing to do" : fmt::format("{} devices have nothing to do", devices);
  const std::string when = fmt::format("{} for {:.0f} % of {} because of the host", whose, 100 * share,
                                       result.region ? "the region" : "the run");
  return {
      reason == "host wait"
          ? fmt::format("{}, most of that after {} has waited for it: wait once at the end instead, replay a graph, "
                        "or let each launch do more",
                        when, at)
          : fmt::format("{}, most of that until {} has given the next launch: replay a graph, whose launches come in "
                        "one message, or let each launch do more",
                        when, at)};
}

}  // namespace kernbench::runtime
