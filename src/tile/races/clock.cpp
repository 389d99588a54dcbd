#include "tile/races/clock.h"

#include <algorithm>

namespace kernbench::tile {

const Clock::Entry* Clock::find(std::uint32_t program) const {
  if (!entries_) return nullptr;
  const auto found = std::ranges::lower_bound(*entries_, program, {}, &Entry::program);
  return found != entries_->end() && found->program == program ? &*found : nullptr;
}

void Clock::join(const Clock& other) {
  if (!other.entries_ || other.entries_ == entries_) return;
  if (!entries_) {
    entries_ = other.entries_;
    return;
  }
  Entries all;
  all.reserve(entries_->size() + other.entries_->size());
  auto mine = entries_->begin(), theirs = other.entries_->begin();
  while (mine != entries_->end() || theirs != other.entries_->end()) {
    const bool no_more = theirs == other.entries_->end();
    if (no_more || (mine != entries_->end() && mine->program < theirs->program)) {
      all.push_back(*mine++);
    } else if (mine == entries_->end() || theirs->program < mine->program) {
      all.push_back(*theirs++);
    } else {
      all.push_back({mine->program, std::max(mine->release, theirs->release)});
      ++mine, ++theirs;
    }
  }
  if (all == *entries_) return;
  if (all == *other.entries_) {
    entries_ = other.entries_;
    return;
  }
  *this = Clock(std::move(all));
}

void Clock::add(Entry entry) {
  Entries all = entries_ ? *entries_ : Entries();
  const auto at = std::ranges::lower_bound(all, entry.program, {}, &Entry::program);
  if (at != all.end() && at->program == entry.program) {
    at->release = std::max(at->release, entry.release);
  } else {
    all.insert(at, entry);
  }
  *this = Clock(std::move(all));
}

}  // namespace kernbench::tile
