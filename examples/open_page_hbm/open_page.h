// An HBM channel that keeps the rows of its banks open: an access to the open row of its bank moves its bytes at once,
// one to another row first closes the open row (precharge) and opens its own (activate).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernbench/models.h"

class OpenPage final : public kernbench::HbmChannelModel {
 public:
  OpenPage(const kernbench::HbmChannelFigures& figures, const kernbench::ModelParameters& parameters)
      : figures_(figures),
        row_(parameters.bytes("row", kernbench::Bytes(1024))),                        // source: JESD238: 1 KiB a page
        activate_(parameters.time("activate", kernbench::Time::nanoseconds(14))),     // assumption: tRCD of DDR and HBM
        precharge_(parameters.time("precharge", kernbench::Time::nanoseconds(14))) {  // assumption: tRP, likewise
    const std::int64_t banks = parameters.integer("banks", 16);  // source: JESD238: 16 banks of a pseudo channel
    if (banks < 1 || banks > 1024) parameters.reject("banks", "must be 1 to 1024");
    if (row_ < kernbench::Bytes(1)) parameters.reject("row", "must be at least 1B");
    open_rows_.assign(static_cast<std::size_t>(banks), kNone);
  }

  // Consecutive rows lie in consecutive banks. An access never crosses an interleave granule; one that crosses rows
  // counts for the row in which it begins.
  kernbench::Time service(const kernbench::HbmAccess& access) override {
    const std::uint64_t row = access.address / static_cast<std::uint64_t>(row_.count());
    std::uint64_t& open = open_rows_[row % open_rows_.size()];
    kernbench::Time time = kernbench::transfer_time(std::max(access.bytes, figures_.access), figures_.bandwidth);
    if (open != row) time += open == kNone ? activate_ : precharge_ + activate_;
    open = row;
    return time;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  kernbench::HbmChannelFigures figures_;
  kernbench::Bytes row_;
  kernbench::Time activate_, precharge_;
  std::vector<std::uint64_t> open_rows_;  // by bank
};
