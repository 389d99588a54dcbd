#include "runtime/observe/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace kernbench::runtime {
namespace {

constexpr double kLeastShare = 0.1;      // of the launches' time
constexpr double kMostPasses = 1.25;     // over its tensors, of a launch that moves each byte about once
constexpr std::size_t kMostKernels = 3;  // that are warned about
constexpr double kConsiderable = 0.2;    // of a launch's time

/// The launches of a kernel on one device.
struct OfDevice {
  Time total;
  std::int64_t count = 0;
  Time mean() const { return Time::picoseconds(total.count() / count); }
};

struct Kernel {
  std::string name;
  Time total;
  const LaunchResult* longest = nullptr;
  std::map<std::string, std::map<std::int32_t, OfDevice>> devices;  // by line of the program
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
  const auto add = [&](const std::string& name, Time total, std::int64_t count, const LaunchResult& longest) {
    if (!longest.in_region) return;
    Kernel& kernel = by_name[name];
    kernel.name = name;
    kernel.total += total;
    OfDevice& device = kernel.devices[longest.where][longest.device];
    device.total += total;
    device.count += count;
    all += total;
    if (kernel.longest == nullptr || comes_before(longest, *kernel.longest)) kernel.longest = &longest;
  };
  for (const LaunchResult& launch : result.launches) add(launch.kernel, duration(launch), 1, launch);
  for (const LaunchTotal& total : result.launch_totals) {
    if (total.count > 0) add(total.name, total.total, total.count, total.longest_launch);
  }
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

/// What parts of the critical path have of the launch's time.
template <class Which>
double share_of_path(const LaunchResult& launch, Which which) {
  Time time;
  for (const PathPart& part : launch.critical_path) {
    if (which(part)) time += part.time;
  }
  return duration(launch) > Time::zero() ? time.in_seconds() / duration(launch).in_seconds() : 0;
}

bool is_atomic(const PathPart& part) {
  return part.operation.starts_with("atomic_");
}

/// Bytes on their way, but those of atomics.
bool is_access(const PathPart& part) {
  return !is_atomic(part) && (part.activity.starts_with("dma ") || part.activity == "contention" ||
                              part.activity == "link buffer" || part.activity == "TLB miss");
}

/// A considerable part of its time goes to accesses. Of a launch that is not explained this is taken for granted.
bool accesses_matter(const LaunchResult& launch) {
  return launch.critical_path.empty() || share_of_path(launch, is_access) > kConsiderable;
}

/// The HBM bounds it, or has a considerable part of its critical path.
bool hbm_matters(const LaunchResult& launch) {
  if (launch.bound_by == "hbm" && 2 * launch.bound.count() >= duration(launch).count()) return true;
  const auto in_hbm = [](const PathPart& part) { return part.on.find(".hbm.") != std::string::npos; };
  return share_of_path(launch, in_hbm) > kConsiderable;
}

/// A launch that moves each byte about once could find nearly all of them in the slices of its own PEs.
bool could_be_local(const LaunchResult& launch, const SliceHints& hints) {
  return launch.pes > 1 && launch.tensor_bytes > Bytes() && 2 * hints.own_bytes.count() < hints.bytes.count() &&
         moved_bytes(launch) <= kMostPasses * static_cast<double>(launch.tensor_bytes.count()) &&
         accesses_matter(launch);
}

/// Most of them take their turns in one place.
bool atomics_meet(const LaunchResult& launch, const SliceHints& hints) {
  return hints.atomics_meet(launch.pes) && share_of_path(launch, is_atomic) > kConsiderable;
}

/// What helps where one slice has what all ask for. Of what is written there must not be several copies.
std::string remedy(const SliceHints& hints) {
  constexpr double kMostlyRead = 0.9;
  const std::string what = hints.tensor.empty() ? "what lies there" : hints.tensor;
  const auto read = static_cast<double>(hints.slice_read.count());
  if (read >= kMostlyRead * static_cast<double>(hints.slice_bytes.count())) {
    return fmt::format("replicate {}, spread it over more slices or interleave it", what);
  }
  return fmt::format("spread {} over more slices or interleave it, or reduce within each PE before it is written",
                     what);
}

void add_slices(std::vector<std::string>& warnings, const Kernel& kernel, const SliceHints& hints) {
  const LaunchResult& launch = *kernel.longest;
  if (could_be_local(launch, hints)) {
    const double own = static_cast<double>(hints.own_bytes.count()) / static_cast<double>(hints.bytes.count());
    warnings.push_back(
        fmt::format("{}: {:.0f} % of its bytes are in HBM slices of other PEs, though each byte is moved about once: "
                    "place its tensors alike, and not interleaved, and let each program take its local_shard",
                    kernel.name, 100 * (1 - own)));
  }
  if (hints.is_hot() && hbm_matters(launch)) {
    warnings.push_back(fmt::format(
        "{}: the HBM slice of {} has {:.0f} % of its bytes, {:.0f} times the mean of its {} PEs' slices: {}",
        kernel.name, hints.slice,
        100 * static_cast<double>(hints.slice_bytes.count()) / static_cast<double>(hints.bytes.count()),
        hints.times_mean, launch.pes, remedy(hints)));
  }
  if (atomics_meet(launch, hints)) {
    warnings.push_back(fmt::format(
        "{}: {} atomics or more meet on one access of the HBM slice of {}{}: reduce within each PE first", kernel.name,
        hints.atomics, hints.atomics_slice, hints.atomics_place.empty() ? "" : " (" + hints.atomics_place + ")"));
  }
}

/// Or something else without tensors, whose operations nobody chooses.
bool is_collective(const LaunchResult& launch) {
  return launch.tensor_bytes == Bytes();
}

/// Most of what the channels did was not asked for, and they are what takes a good part of the launch.
bool has_short_accesses(const LaunchResult& launch) {
  constexpr double kBusy = 0.2;
  if (is_collective(launch) || launch.hbm_occupied < launch.hbm_bytes * 2) return false;
  const auto hbm = std::ranges::find(launch.engines, "hbm", &EngineResult::engine);
  return hbm != launch.engines.end() && hbm->busiest.in_seconds() >= kBusy * duration(launch).in_seconds();
}

/// "gather: 71 % of the DMA on its critical path is setup and latency, not data, with 256 B for each ..."; empty: not
/// so, or DMA is no great part of the launch.
std::string small_transfers(const Kernel& kernel) {
  constexpr double kLeastDma = 0.25;  // of the launch
  constexpr std::int64_t kFew = 8;    // for each PE: there is nothing to put together
  const LaunchResult& launch = *kernel.longest;
  if (is_collective(launch)) return {};
  Time dma, fixed;
  for (const PathPart& part : launch.critical_path) {
    if (!is_access(part)) continue;
    dma += part.time;
    const bool is_fixed =
        part.activity == "dma setup" || part.activity == "dma request" || part.activity == "dma latency";
    if (is_fixed) fixed += part.time;
  }
  if (2 * fixed.count() <= dma.count() || dma.in_seconds() < kLeastDma * duration(launch).in_seconds()) return {};
  Bytes bytes;
  std::int64_t count = 0;
  for (const OperationResult& operation : launch.operations) {
    if (operation.engine != "dma" || operation.operation.starts_with("atomic_")) continue;
    bytes += operation.bytes;
    count += operation.count;
  }
  if (count < kFew * launch.pes) return {};
  return fmt::format(
      "{}: {:.0f} % of the DMA on its critical path is setup and latency, with {} B for each of its DMA "
      "operations on average: use larger tiles, or have more loads under way at a time",
      kernel.name, 100 * fixed.in_seconds() / dma.in_seconds(), bytes.count() / count);
}

/// The key of the topology for the buffers behind servers of this kind, and what stands for them.
std::string buffer_keys(const std::string& server) {
  const auto is_of = [&](const char* part) { return server.find(part) != std::string::npos; };
  if (is_of("host")) return "host.link.buffer";
  if (is_of(".to_sip") || is_of("to_switch")) return "system.sips.link.buffer";
  if (is_of(".hbm.channel")) return "cube.hbm.buffer";
  if (is_of(".tcm.")) return "pe.tcm.buffer";
  return "cube.noc.link.buffer, sip.cubes.link.buffer";
}

/// "matmul: 23 % of its critical path waits for room behind sip*.cube*.pe*.router.east: ..."; empty: little of it.
std::string full_buffers(const Kernel& kernel) {
  constexpr double kLeastWaiting = 0.1;
  const LaunchResult& launch = *kernel.longest;
  const auto waits = [](const PathPart& part) { return part.activity == "link buffer"; };
  const double part = share_of_path(launch, waits);
  if (part <= kLeastWaiting) return {};
  // The longest comes first.
  const std::string& server = std::ranges::find_if(launch.critical_path, waits)->on;
  return fmt::format("{}: {:.0f} % of its critical path waits for room behind {}: larger buffers may help ({})",
                     kernel.name, 100 * part, server, buffer_keys(server));
}

/// It waits for a program of another launch to begin.
bool waits_for_sender(const LaunchResult& launch, const PathPart& part) {
  return (part.activity == "sender busy" || part.activity == "sender not started") && part.operation != launch.name;
}

/// "all_reduce: 38 % of its longest launch, all_reduce#0.1 on sip0, waits for sip2.cube0.pe0 to begin: it still runs
/// work#2.1"; empty: hardly any, or it is a receive, as between the stages of a pipeline, which is there to wait.
std::string late_member(const Kernel& kernel) {
  constexpr double kLeastWaiting = 0.1;
  if (kernel.name == "recv") return {};
  const LaunchResult& launch = *kernel.longest;
  const auto waits = [&](const PathPart& part) { return waits_for_sender(launch, part); };
  const double part = share_of_path(launch, waits);
  if (part <= kLeastWaiting) return {};
  // The longest comes first.
  const auto sender = std::ranges::find_if(launch.critical_path, waits);
  const bool busy = sender->activity == "sender busy";
  return fmt::format("{}: {:.0f} % of its longest launch, {} on sip{}, waits for {} to begin: {}", kernel.name,
                     100 * part, launch.name, launch.device, sender->on,
                     busy ? "it still runs " + sender->operation : sender->operation + " came there later");
}

/// Launches of one kernel that take longer on one device than on another, other than by waiting for each other.
std::string uneven_devices(const Kernel& kernel) {
  constexpr double kMostUneven = 0.2;  // of the longest
  constexpr double kMostMessages = 0.2;
  const LaunchResult& launch = *kernel.longest;
  if (is_collective(launch) || launch.breakdown.empty()) return {};
  const auto& devices = kernel.devices.at(launch.where);
  const auto alike = [&](const auto& each) { return each.second.count == devices.begin()->second.count; };
  if (devices.size() < 2 || !std::ranges::all_of(devices, alike)) return {};
  for (const auto& [category, time] : launch.breakdown) {
    if (category == "messages" && time.in_seconds() > kMostMessages * duration(launch).in_seconds()) return {};
  }
  const auto by_mean = [](const auto& a, const auto& b) { return a.second.mean() < b.second.mean(); };
  const auto [least, most] = std::ranges::minmax_element(devices, by_mean);
  const Time shortest = least->second.mean(), longest = most->second.mean();
  if ((longest - shortest).in_seconds() <= kMostUneven * longest.in_seconds()) return {};
  Time sum;
  for (const auto& [device, of] : devices) sum += of.mean();
  const auto count = static_cast<std::int64_t>(devices.size());
  return fmt::format(
      "{}: a launch takes {} on sip{}, {} on sip{}, and {} in the mean of {} devices: share its work more evenly among "
      "them",
      kernel.name, to_text(shortest), least->first, to_text(longest), most->first,
      to_text(Time::picoseconds(sum.count() / count)), count);
}

/// A kernel without tensors, as a barrier's, has nothing to spread.
std::string few_pes(const Kernel& kernel) {
  const LaunchResult& launch = *kernel.longest;
  if (launch.tensor_bytes == Bytes() || 2 * launch.pes >= launch.available_pes) return {};
  return fmt::format("{} runs on {} of {} PEs: spread its tensors over more PEs, or name more of them", kernel.name,
                     launch.pes, launch.available_pes);
}

std::string uneven_programs(const Kernel& kernel) {
  const LaunchResult& launch = *kernel.longest;
  if (!is_uneven(launch)) return {};
  return fmt::format(
      "{}: its {} PEs run programs for {:.0f} % of its time on average, {} for all of it: share its work more evenly",
      kernel.name, launch.pes, 100 * share_of_programs(launch), launch.last_pe);
}

std::string short_accesses(const Kernel& kernel) {
  const LaunchResult& launch = *kernel.longest;
  if (!has_short_accesses(launch)) return {};
  return fmt::format(
      "{}: its accesses of HBM are so short that the channels are busy for {:.1f} times its bytes (cube.hbm.access): "
      "let each load or store take whole rows, or more neighbours of a row",
      kernel.name, static_cast<double>(launch.hbm_occupied.count()) / static_cast<double>(launch.hbm_bytes.count()));
}

}  // namespace

std::vector<std::string> advice(const RunResult& result, const SliceHintsLog& hints, bool marked) {
  std::vector<std::string> warnings;
  if (result.region && result.region->time == Time::zero()) {
    warnings.emplace_back(
        "the region of interest is empty: no simulated time passed in any range, and no launch was given in one");
  }
  for (const Kernel& kernel : main_kernels(result)) {
    const SliceHints* of_slices = hints.find(kernel.name, marked);
    const bool of_library = of_slices != nullptr && of_slices->of_library;
    for (std::string text :
         {few_pes(kernel), uneven_programs(kernel), short_accesses(kernel), uneven_devices(kernel), late_member(kernel),
          full_buffers(kernel), of_library ? std::string() : small_transfers(kernel)}) {
      if (!text.empty()) warnings.push_back(std::move(text));
    }
    if (of_slices != nullptr) add_slices(warnings, kernel, *of_slices);
  }
  return warnings;
}

}  // namespace kernbench::runtime
