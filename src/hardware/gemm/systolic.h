// The "systolic" GEMM engine: an output-stationary array of R rows and C columns of multiply-accumulate units.
#pragma once

#include <cstdint>

#include "hardware/command.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Cycles of the skewed fill and the drain of an array: 2 R + C - 2.
std::int64_t edge_cycles(const topology::GemmSpec& spec);
/// Cycles in which the `k` steps of one fold pass through the array, without its edges: T = ceil(k / rate).
std::int64_t fold_cycles(const topology::GemmSpec& spec, topology::GemmOperand operand, std::int64_t k);

/// Cycles of one command. An R x C block of C is a fold: its k steps pass through the array in T = ceil(k / rate)
/// cycles, with the rate of its operand type. Folds (of all batches) follow each other without a gap, so that the
/// skewed fill (R + C - 2) and the drain of the last results (R) are paid once:
///   ceil(batch * ceil(m / R) * ceil(n / C) * T / efficiency) + 2 R + C - 2
/// source: one fold is the output-stationary run time of SCALE-Sim, 2 S_R + S_C + T - 2 with T = k
/// (Samajdar et al.,
/// "A Systematic Methodology for Characterizing Scalability of DNN Accelerators using SCALE-Sim", ISPASS 2020, eq. 1).
/// Requires positive extents.
std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work);

/// The same array as SCALE-Sim models it: each fold is filled and drained before the next one begins; at full
/// efficiency
///   batch * ceil(m / R) * ceil(n / C) * (2 R + C + T - 2)
std::int64_t scale_sim_cycles(const topology::GemmSpec& spec, const GemmWork& work);

/// From the first clock edge at or after `start`, systolic_cycles() later.
Time systolic_end(const topology::PeSpec& pe, const Command& command, Time start);
/// The same with scale_sim_cycles(): the model "scale_sim_os".
Time scale_sim_end(const topology::PeSpec& pe, const Command& command, Time start);

}  // namespace kernbench::hardware
