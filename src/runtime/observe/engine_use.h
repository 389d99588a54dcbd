// The share of the peaks that a launch attained of the engines and memories that it used.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hardware/machine.h"
#include "kernbench/coordinates.h"
#include "kernbench/result.h"
#include "tile/program/program.h"

namespace kernbench::runtime {

/// What PEs do together at their full rate.
struct PePeaks {
  double gemm = 0;    // units of the arrays and cycles, per second
  double vector = 0;  // 32-bit lanes and cycles, per second
  double tcm = 0;     // bytes per second
};

PePeaks peaks_of(std::span<const PeCoordinate> pes, const hardware::Machine& machine);
/// Of all PEs of a SIP.
PePeaks peaks_of(SipId sip, const hardware::Machine& machine);

/// Sets the peaks of one device: those of SIP 0.
void set_peaks(RunResult& result, const hardware::Machine& machine);

/// The engines, memories and links that had work: gemm, vector, hbm, tcm, link, in this order. `pes` ran the launch,
/// which took `duration`. What a component model of the user's own decides has no peak.
std::vector<EngineResult> engines_of(const tile::LaunchRecord& record, SipId sip, std::span<const PeCoordinate> pes,
                                     Time duration, const hardware::Machine& machine);

/// The roofline of the compute engine that came nearer to its peak.
Roofline roofline_of(const std::vector<EngineResult>& engines);

}  // namespace kernbench::runtime
