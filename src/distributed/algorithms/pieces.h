// The messages of a chain of ranks, each of which passes on what comes in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "distributed/algorithms/algorithm.h"
#include "distributed/algorithms/range.h"
#include "kernbench/tl.h"

namespace kernbench::distributed {

/// A rank passes a message on when it has all of it, so that each rank of a chain adds the time of one to the whole: of
/// 32 messages a thirty-second of what a PE's bytes take. Measured on ahbm-2sip, four SIPs behind a switch, 4 MiB:
/// in messages of 16 KiB 32.9 us, of 4 or 2 KiB 31.0, of 1 KiB 31.6.
inline constexpr std::int64_t kPieces = 32, kUnitOfPiece = 1024, kLeastPiece = 2048;

/// The ranks of a chain.
struct Chain {
  bool rank_per_pe = false;  // else a rank is a SIP
  bool of_one_sip = false;   // no message leaves it
  std::int64_t window = 1;   // slots of a channel
};

/// Of a message, in bytes, at least. A PE has no more under way than its slots until credits come back: where few PEs
/// share the links between SIPs, messages are so long that these keep a PE's part of a link busy there and back.
std::int64_t least_piece(const Chain& chain, const topology::Topology& machine);

/// Of the bytes that a PE passes on, those of a message; a slot at most.
inline std::int64_t piece_of(std::int64_t bytes, std::int64_t least, std::int64_t slot) {
  return std::min(slot, std::max(least, tl::cdiv(bytes, kPieces * kUnitOfPiece) * kUnitOfPiece));
}
/// The same in elements, of a shard.
std::int64_t elements_of_piece(Range shard, const RankView& ranks, DType dtype);

}  // namespace kernbench::distributed
