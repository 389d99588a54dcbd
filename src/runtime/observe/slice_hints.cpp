#include "runtime/observe/slice_hints.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/streams/launches.h"
#include "tile/program/launch_record.h"

namespace kernbench::runtime {
namespace {

using tile::FrequentAddresses;

/// The tensor that has most of the bytes.
std::string main_tensor(PeCoordinate slice, const FrequentAddresses& blocks, const tensor::DeviceMemory& memory) {
  std::map<std::string, std::int64_t> bytes;
  for (const FrequentAddresses::Entry& entry : blocks.entries()) {
    if (entry.amount > 0) bytes[memory.tensor_at(slice, entry.address)] += entry.amount;
  }
  const auto most = std::ranges::max_element(bytes, {}, &std::pair<const std::string, std::int64_t>::second);
  return most == bytes.end() ? "" : most->first;
}

void add_busiest_slice(SliceHints& hints, const CompletedLaunch& launch, const tensor::DeviceMemory& memory) {
  const auto& slices = launch.record.slices;
  const auto most = std::ranges::max_element(slices, {}, [](const auto& each) { return each.second.places.bytes; });
  for (const auto& [at, slice] : slices) hints.bytes += slice.places.bytes;
  if (hints.bytes == Bytes()) return;
  hints.slice_bytes = most->second.places.bytes;
  hints.slice_read = most->second.places.read;
  hints.times_mean = static_cast<double>(hints.slice_bytes.count()) * static_cast<double>(launch.plan.pes.size()) /
                     static_cast<double>(hints.bytes.count());
  if (!hints.is_hot()) return;
  hints.slice = to_text(most->first);
  hints.tensor = main_tensor(most->first, most->second.places.blocks, memory);
}

void add_atomics(SliceHints& hints, const CompletedLaunch& launch, const tensor::DeviceMemory& memory) {
  PeCoordinate place;
  std::uint64_t address = 0;
  for (const auto& [at, slice] : launch.record.slices) {
    hints.all_atomics += slice.places.all_atomics;
    const auto& entries = slice.places.atomics.entries();
    const auto most = std::ranges::max_element(entries, {}, &FrequentAddresses::Entry::amount);
    if (most->amount <= hints.atomics) continue;
    hints.atomics = most->amount;
    place = at;
    address = most->address;
  }
  if (!hints.atomics_meet(static_cast<std::int64_t>(launch.plan.pes.size()))) return;
  hints.atomics_slice = to_text(place);
  hints.atomics_place = memory.place_text(place, address);
}

}  // namespace

void SliceHintsLog::add(const CompletedLaunch& launch, const tensor::DeviceMemory& memory) {
  const hardware::LaunchTimes& times = launch.times;
  const std::tuple order{times.requested - times.completed, times.requested, launch.plan.device};
  std::optional<Longest>& longest = by_kernel_[launch.plan.name][launch.in_region ? 1 : 0];
  if (longest && longest->order <= order) return;
  SliceHints hints;
  hints.of_library = !launch.plan.users;
  add_busiest_slice(hints, launch, memory);
  hints.own_bytes = launch.record.distance.own_slice - launch.record.own_atomic_bytes;
  add_atomics(hints, launch, memory);
  longest = Longest{order, std::move(hints)};
}

const SliceHints* SliceHintsLog::find(const std::string& kernel, bool marked) const {
  const auto found = by_kernel_.find(kernel);
  if (found == by_kernel_.end()) return nullptr;
  const auto& [outside, inside] = found->second;
  const bool takes_outside = !marked && outside && (!inside || outside->order < inside->order);
  const std::optional<Longest>& longest = takes_outside ? outside : inside;
  return longest ? &longest->hints : nullptr;
}

}  // namespace kernbench::runtime
