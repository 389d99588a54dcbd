#include "distributed/algorithms/pieces.h"

#include "topology/spec.h"

namespace kernbench::distributed {
namespace {

Chain chain_of(const RankView& ranks) {
  const SipId first = ranks.part(0).sip();
  const bool of_one_sip = std::ranges::all_of(ranks.parts, [&](const auto& part) { return part->sip() == first; });
  return {.rank_per_pe = ranks.part(0).pe().has_value(), .of_one_sip = of_one_sip, .window = ranks.window};
}

}  // namespace

std::int64_t least_piece(const Chain& chain, const topology::Topology& machine) {
  if (chain.of_one_sip) return kLeastPiece;
  const auto& link = machine.system.link;
  // Of two links, one in each direction, that the PEs of a SIP share.
  const double part = chain.rank_per_pe ? 1 : std::min(1.0, 2.0 / machine.pes_per_sip());
  const double rate = std::min(static_cast<double>(machine.cube.noc.link.bandwidth.count()),
                               static_cast<double>(link.bandwidth.count()) * part);
  const int links = machine.system.topology == topology::SystemTopology::switched ? 2 : 1;
  const double there_and_back = 2e-12 * links * static_cast<double>(link.latency.count());
  const auto under_way = static_cast<std::int64_t>(rate * there_and_back);
  return std::max(kLeastPiece, tl::cdiv(under_way, chain.window * kUnitOfPiece) * kUnitOfPiece);
}

std::int64_t elements_of_piece(Range shard, const RankView& ranks, DType dtype) {
  const std::int64_t size = item_size(dtype), bytes = (shard.end - shard.begin) * size;
  const std::int64_t piece = piece_of(bytes, least_piece(chain_of(ranks), *ranks.machine), ranks.tile_elements * size);
  return std::max<std::int64_t>(1, piece / size);
}

}  // namespace kernbench::distributed
