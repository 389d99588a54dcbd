#include "tile/races/shadow_memory.h"

#include <iterator>

namespace kernbench::tile {

ShadowMemory::Ranges::iterator ShadowMemory::cut(Ranges& ranges, std::uint64_t address) {
  const auto next = ranges.lower_bound(address);
  if (next != ranges.end() && next->first == address) return next;
  if (next == ranges.begin()) return next;
  const auto before = std::prev(next);
  if (before->second.end <= address) return next;
  ++size_;
  Range behind{before->second.end, before->second.accesses};
  before->second.end = address;
  return ranges.emplace_hint(next, address, std::move(behind));
}

void ShadowMemory::note(Accesses& accesses, const MemoryAccess& access) {
  if (access.kind == AccessKind::write) accesses.clear();
  for (MemoryAccess& each : accesses) {
    if (each.program != access.program || each.kind != access.kind) continue;
    if (each.number < access.number) each = access;
    return;
  }
  accesses.push_back(access);
}

void ShadowMemory::forget(const std::function<bool(std::uint32_t program)>& is_over) {
  for (auto& [cube, ranges] : cubes_) {
    for (auto at = ranges.begin(); at != ranges.end();) {
      std::erase_if(at->second.accesses, [&](const MemoryAccess& each) { return is_over(each.program); });
      if (at->second.accesses.empty()) {
        at = ranges.erase(at);
        --size_;
      } else {
        ++at;
      }
    }
  }
}

void ShadowMemory::clear() {
  cubes_.clear();
  size_ = 0;
}

}  // namespace kernbench::tile
