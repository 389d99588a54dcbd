#include "tile/explain/breakdown.h"

namespace kernbench::tile {

using hardware::EngineKind;

Time* BusyTime::current(Breakdown& sums) const {
  const auto is_active = [&](EngineKind engine) { return active_[static_cast<std::size_t>(engine)] > 0; };
  if (is_active(EngineKind::gemm)) return &sums.gemm;
  if (is_active(EngineKind::vector)) return &sums.vector;
  if (is_active(EngineKind::dma)) return &sums.dma;
  if (is_active(EngineKind::ipcq)) return &sums.messages;
  return nullptr;
}

void BusyTime::account(Time now) {
  if (Time* const sum = current(sums_)) *sum += now - at_;
  at_ = now;
}

void BusyTime::begin(EngineKind engine, Time now) {
  account(now);
  ++active_[static_cast<std::size_t>(engine)];
}

void BusyTime::end(EngineKind engine, Time now) {
  account(now);
  --active_[static_cast<std::size_t>(engine)];
}

Breakdown BusyTime::until(Time end) const {
  Breakdown all = sums_;
  if (Time* const sum = current(all)) *sum += end - at_;
  all.control = end - start_ - all.gemm - all.vector - all.dma - all.messages;
  return all;
}

}  // namespace kernbench::tile
