#include "tile/explain/breakdown.h"

#include <algorithm>

namespace kernbench::tile {

using hardware::EngineKind;

namespace {

constexpr auto kDma = static_cast<std::size_t>(EngineKind::dma);
constexpr auto kGemm = static_cast<std::size_t>(EngineKind::gemm);
constexpr auto kVector = static_cast<std::size_t>(EngineKind::vector);

}  // namespace

void BusyTime::account(Time now) {
  const Time passed = now - at_;
  at_ = now;
  if (active_[kGemm] > 0)
    sums_.gemm += passed;
  else if (active_[kVector] > 0)
    sums_.vector += passed;
  else if (active_[kDma] > 0)
    sums_.dma += passed;
}

void BusyTime::close_gap(Time now) {
  if (queue_commands_ > 0 && is_idle() && gap_start_ < now) {
    if (gaps_.size() == kMostGaps) gaps_.take_front();
    gaps_.push_back({gap_start_, now});
  }
  gap_start_ = now;
}

void BusyTime::begin(EngineKind engine, Time now) {
  account(now);
  close_gap(now);
  ++active_[static_cast<std::size_t>(engine)];
}

void BusyTime::end(EngineKind engine, Time now) {
  account(now);
  --active_[static_cast<std::size_t>(engine)];
  gap_start_ = now;
}

void BusyTime::begin_queue(Time now) {
  if (queue_commands_++ == 0) gap_start_ = now;
}

void BusyTime::end_queue(Time since, Time now) {
  close_gap(now);
  while (!gaps_.empty() && gaps_.back().end > since) {
    Gap& last = gaps_.back();
    const Time start = std::max(last.start, since);
    sums_.dma += last.end - start;
    last.end = start;
    if (last.start < last.end) break;
    gaps_.erase(gaps_.size() - 1);
  }
  if (--queue_commands_ == 0) gaps_.clear();
}

Breakdown BusyTime::until(Time end) const {
  Breakdown all = sums_;
  const Time passed = end - at_;
  if (active_[kGemm] > 0)
    all.gemm += passed;
  else if (active_[kVector] > 0)
    all.vector += passed;
  else if (active_[kDma] > 0)
    all.dma += passed;
  all.control = end - start_ - all.gemm - all.vector - all.dma;
  return all;
}

}  // namespace kernbench::tile
