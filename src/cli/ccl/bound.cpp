#include "cli/ccl/bound.h"

#include <algorithm>

#include "base/nanoseconds.h"
#include "cli/ccl/tests.h"

namespace kernbench::cli::ccl {
namespace {

using topology::Endpoint;
using topology::Link;
using topology::LinkEnd;
using topology::LinkKind;

constexpr double kNanosecondsOfMicrosecond = 1e3;

double rate_of(const Link& link) {
  return link.failed ? 0 : bytes_per_ns(link.spec.payload_rate());
}

}  // namespace

Bound::Bound(const topology::Network& network, int ranks)
    : network_(network), ranks_(ranks), rank_per_pe_(ranks > network.topology().system.sips) {
  const auto& machine = network.topology();
  const int sips = machine.system.sips, of_sip = static_cast<int>(rank_per_pe_ ? machine.pes_per_sip() : 1);
  const auto members = [&](int first, int count) {
    std::vector<int> all;
    for (int rank = first; rank < std::min(first + count, ranks_); ++rank) all.push_back(rank);
    return all;
  };
  const auto is_in_mesh = [](const LinkEnd& end) {
    return end.kind != LinkEnd::Kind::host && end.kind != LinkEnd::Kind::sip_switch && end.kind != LinkEnd::Kind::io;
  };
  const auto is_on_sip = [&](const LinkEnd& end) { return is_in_mesh(end) || end.kind == LinkEnd::Kind::io; };
  for (int sip = 0; sip < sips; ++sip) {
    const auto own = members(sip * of_sip, of_sip);
    add_side(own, [&](const LinkEnd& end) { return is_on_sip(end) && end.at.sip.value == sip; });
    add_side(own, [&](const LinkEnd& end) { return is_in_mesh(end) && end.at.sip.value == sip; });
    const int pes = machine.cube.pes.count();
    for (int cube = 0; rank_per_pe_ && cube < machine.sip.cubes.count(); ++cube) {
      add_side(members(sip * of_sip + cube * pes, pes), [&](const LinkEnd& end) {
        return is_in_mesh(end) && end.at.sip.value == sip && end.at.cube.value == cube;
      });
    }
  }
  add_side(members(0, sips / 2 * of_sip),
           [&](const LinkEnd& end) { return is_on_sip(end) && end.at.sip.value < sips / 2; });
  double from_sips = 0, from_switch = 0;
  for (const Link& link : network.links()) {
    if (link.kind != LinkKind::sip) continue;
    (link.from.kind == LinkEnd::Kind::sip_switch ? from_switch : from_sips) += rate_of(link);
  }
  // What goes through a switch goes over a link of each kind.
  between_sips_ = from_switch > 0 ? std::min(from_sips, from_switch) : from_sips;
}

template <class Within>
void Bound::add_side(const std::vector<int>& members, const Within& within) {
  if (members.empty() || std::ssize(members) == ranks_) return;
  Side side{members};
  for (const Link& link : network_.links()) {
    if (link.kind == LinkKind::host || within(link.from) == within(link.to)) continue;
    (within(link.from) ? side.out_rate : side.in_rate) += rate_of(link);
  }
  sides_.push_back(std::move(side));
}

/// From and to the root; every rank needs something of others, so that it stands for all in what has none.
double Bound::longest_path_us(int root) const {
  const auto place = [&](int rank) {
    const auto& machine = network_.topology();
    if (!rank_per_pe_) return Endpoint::io_cpu(SipId{rank});  // which whatever goes to another SIP passes
    const int pes = machine.cube.pes.count(), in_sip = static_cast<int>(machine.pes_per_sip());
    return Endpoint::pe_port({SipId{rank / in_sip}, CubeId{rank % in_sip / pes}, PeId{rank % in_sip % pes}});
  };
  Time longest;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == root) continue;
    const Time there = network_.latency(network_.route(place(root), place(rank)));
    const Time back = network_.latency(network_.route(place(rank), place(root)));
    longest = std::max(longest, std::min(there, back));
  }
  return static_cast<double>(longest.count()) * 1e-6;
}

double Bound::microseconds(const Test& test, std::int64_t count, std::int64_t item, int root) const {
  if (ranks_ == 1 || (count == 0 && test.has_elements)) return 0;
  const auto microseconds_of = [&](std::int64_t elements, double rate) {
    return rate == 0 ? 0 : static_cast<double>(elements * item) / rate / kNanosecondsOfMicrosecond;
  };
  double most = test.is_local ? 0 : longest_path_us(root);
  for (const Side& side : sides_) {
    const bool root_inside = std::ranges::find(side.members, root) != side.members.end();
    const Crossing crossing = test.crossing(Cut{static_cast<int>(side.members.size()), ranks_, root_inside}, count);
    most = std::max({most, microseconds_of(crossing.out, side.out_rate), microseconds_of(crossing.in, side.in_rate)});
  }
  if (!rank_per_pe_) most = std::max(most, microseconds_of(test.sent(ranks_) * count, between_sips_));
  return most;
}

}  // namespace kernbench::cli::ccl
