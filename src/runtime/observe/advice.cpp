#include "runtime/observe/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace kernbench::runtime {
namespace {

constexpr double kLeastShare = 0.1;      // of the launches' time
constexpr double kMostPasses = 1.25;     // over its tensors, of a launch that moves each byte about once
constexpr std::size_t kMostKernels = 3;  // that are warned about

struct Kernel {
  std::string name;
  Time total;
  const LaunchResult* longest = nullptr;
};

Time duration(const LaunchResult& launch) {
  return launch.end - launch.start;
}

/// Longer, or as long and started earlier.
bool comes_before(const LaunchResult& a, const LaunchResult& b) {
  const auto key = [](const LaunchResult& of) { return std::tuple(of.start - of.end, of.start, of.device); };
  return key(a) < key(b);
}

std::vector<Kernel> main_kernels(const RunResult& result) {
  std::map<std::string, Kernel> by_name;
  Time all;
  const auto add = [&](const std::string& name, Time total, const LaunchResult& longest) {
    if (!longest.in_region) return;
    Kernel& kernel = by_name[name];
    kernel.name = name;
    kernel.total += total;
    all += total;
    if (kernel.longest == nullptr || comes_before(longest, *kernel.longest)) kernel.longest = &longest;
  };
  for (const LaunchResult& launch : result.launches) add(launch.kernel, duration(launch), launch);
  for (const LaunchTotal& total : result.launch_totals) add(total.name, total.total, total.longest_launch);
  std::vector<Kernel> kernels;
  for (auto& [name, kernel] : by_name) {
    if (kernel.total.in_seconds() >= kLeastShare * all.in_seconds()) kernels.push_back(std::move(kernel));
  }
  std::ranges::stable_sort(kernels, std::greater{}, &Kernel::total);
  if (kernels.size() > kMostKernels) kernels.resize(kMostKernels);
  return kernels;
}

/// Bytes that came to the programs of a launch, or from them: what a multicast reads once comes to several.
double moved_bytes(const LaunchResult& launch) {
  const auto port = std::ranges::find(launch.engines, "tcm", &EngineResult::engine);
  return port == launch.engines.end() ? static_cast<double>(launch.hbm_bytes.count()) : port->work;
}

/// Of the time from the first program's start to the last one's end, in the mean of the PEs.
double share_of_programs(const LaunchResult& launch) {
  return launch.program_mean.in_seconds() / launch.program_span.in_seconds();
}

/// A few PEs have much more to do than the others, for a good part of the launch.
bool is_uneven(const LaunchResult& launch) {
  constexpr double kUneven = 0.5;
  if (launch.pes < 2 || launch.program_span == Time::zero() || share_of_programs(launch) >= kUneven) return false;
  return 4 * (launch.program_span - launch.program_mean).count() >= duration(launch).count();
}

/// A launch that moves each byte about once could find nearly all of them in the slices of its own PEs.
bool could_be_local(const LaunchResult& launch) {
  const auto bytes = static_cast<double>(launch.hbm_bytes.count());
  const auto own = static_cast<double>(launch.distance.own_slice.count());
  return launch.pes > 1 && launch.tensor_bytes > Bytes() && own < bytes / 2 &&
         moved_bytes(launch) <= kMostPasses * static_cast<double>(launch.tensor_bytes.count());
}

/// Most of what the channels did was not asked for, and they are what takes a good part of the launch.
bool has_short_accesses(const LaunchResult& launch) {
  constexpr double kBusy = 0.2;
  if (launch.hbm_occupied < launch.hbm_bytes * 2) return false;
  const auto hbm = std::ranges::find(launch.engines, "hbm", &EngineResult::engine);
  return hbm != launch.engines.end() && hbm->busiest.in_seconds() >= kBusy * duration(launch).in_seconds();
}

}  // namespace

std::vector<std::string> advice(const RunResult& result) {
  std::vector<std::string> warnings;
  if (result.region && result.region->time == Time::zero()) {
    warnings.emplace_back(
        "the region of interest is empty: no simulated time passed in any range, and no launch was given in one");
  }
  for (const Kernel& kernel : main_kernels(result)) {
    const LaunchResult& launch = *kernel.longest;
    // A kernel without tensors, as a barrier's, has nothing to spread.
    if (launch.tensor_bytes > Bytes() && 2 * launch.pes < launch.available_pes) {
      warnings.push_back(fmt::format("{} runs on {} of {} PEs: spread its tensors over more PEs, or name more of them",
                                     kernel.name, launch.pes, launch.available_pes));
    }
    if (is_uneven(launch)) {
      warnings.push_back(
          fmt::format("{}: its {} PEs run programs for {:.0f} % of its time on average, {} for all of it: "
                      "share its work more evenly",
                      kernel.name, launch.pes, 100 * share_of_programs(launch), launch.last_pe));
    }
    if (has_short_accesses(launch)) {
      const double ratio =
          static_cast<double>(launch.hbm_occupied.count()) / static_cast<double>(launch.hbm_bytes.count());
      warnings.push_back(
          fmt::format("{}: its accesses of HBM are so short that the channels are busy for {:.1f} times its bytes "
                      "(cube.hbm.access): let each load or store take whole rows, or more neighbours of a row",
                      kernel.name, ratio));
    }
    if (could_be_local(launch)) {
      const double own =
          static_cast<double>(launch.distance.own_slice.count()) / static_cast<double>(launch.hbm_bytes.count());
      warnings.push_back(
          fmt::format("{}: {:.0f} % of its bytes are in HBM slices of other PEs, though each byte is moved about once: "
                      "place its tensors alike, and not interleaved, and let each program take its local_shard",
                      kernel.name, 100 * (1 - own)));
    }
  }
  return warnings;
}

}  // namespace kernbench::runtime
