// The "systolic" GEMM engine: an output-stationary array of R rows and C columns of multiply-accumulate units.
#pragma once

#include <cstdint>

#include "hardware/command.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Cycles of the skewed fill and the drain of a fold of `m` x `n` in an array: 2 r + c - 2 with r = min(R, m) and
/// c = min(C, n). What units beyond its rows and columns would do delays nothing: operands come in at the first row and
/// column, and results leave there.
std::int64_t edge_cycles(const topology::GemmSpec& spec, std::int64_t m, std::int64_t n);
/// Cycles in which the `k` steps of one fold pass through the array, without its edges: T = ceil(k / rate).
std::int64_t fold_cycles(const topology::GemmSpec& spec, topology::GemmOperand operand, std::int64_t k);

/// Cycles of one command. An R x C block of C is a fold: its k steps pass through the array in T = ceil(k / rate)
/// cycles, with the rate of its operand type. Folds (of all batches) follow each other without a gap, so that the
/// skewed fill (r + c - 2) and the drain of the last results (r) are paid once, of as many rows and columns as a fold
/// has:
///   ceil(batch * ceil(m / R) * ceil(n / C) * T / efficiency) + 2 r + c - 2, r = min(R, m), c = min(C, n)
/// A command may ask for smaller folds (`GemmWork::fold_rows`, `fold_columns`), which stand for R and C.
/// source: one fold that fills the array is the output-stationary run time of SCALE-Sim, 2 S_R + S_C + T - 2 with T = k
/// (Samajdar et al.,
/// "A Systematic Methodology for Characterizing Scalability of DNN Accelerators using SCALE-Sim", ISPASS 2020, eq. 1).
/// Requires positive extents.
std::int64_t systolic_cycles(const topology::GemmSpec& spec, const GemmWork& work);

/// Cycles from the start of a command until one of `next` may start: its operands enter behind the last ones of the
/// command, in ceil(folds * T / efficiency) cycles. One that adds to the sums of the command finds those of a single
/// fold in the array. Of several folds they have left it: each has to be back when the same fold of `next` begins,
/// which is right for all when it is for the first and the last:
///   max(ceil(folds * T / efficiency), ceil(T / efficiency) + 2 r + c - 2,
///       ceil(folds * T / efficiency) + 2 r + c - 2 - ceil((folds - 1) * T' / efficiency)),  T' of `next`
/// and sums that left the array by folds of another shape are all back before.
/// source of the commands that follow without a gap: the chained products of Gemmini (Genc et al., "Gemmini: Enabling
/// Systematic Deep-Learning Architecture Evaluation via Full-Stack Integration", DAC 2021).
std::int64_t follow_cycles(const topology::GemmSpec& spec, const GemmWork& work, const GemmWork& next, bool adds_to);

/// The same array as SCALE-Sim models it: each fold is filled and drained before the next one begins, and the whole
/// array for a small one, too, or for one that asks for smaller folds; at full efficiency
///   batch * ceil(m / R) * ceil(n / C) * (2 R + C + T - 2)
std::int64_t scale_sim_cycles(const topology::GemmSpec& spec, const GemmWork& work);

/// From the first clock edge at or after `start`, systolic_cycles() later.
Time systolic_end(const topology::PeSpec& pe, const Command& command, Time start);
/// When `next` may start behind a command that has started: follow_cycles() later.
Time systolic_follow(const topology::PeSpec& pe, const Command& before, const Command& next);
/// The same with scale_sim_cycles(): the model "scale_sim_os".
Time scale_sim_end(const topology::PeSpec& pe, const Command& command, Time start);

}  // namespace kernbench::hardware
