// A load that several PEs have asked for together: each byte leaves its memory once, and goes to all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/part.h"
#include "hardware/command.h"
#include "hardware/transport.h"
#include "hardware/work.h"
#include "kernbench/coordinates.h"
#include "sim/wait_graph.h"
#include "topology/spec.h"

namespace kernbench::hardware {

class DmaQueue;

/// The number of the place whose farthest other is the fewest routers away, of equals the first. REQUIRES: at least
/// one, all in one SIP.
std::size_t middle_of(std::span<const PeCoordinate> places, const topology::Topology& topology);

/// One multicast. Each member has a command of its own, in a queue of its PE, which refers to it. README.md beside this
/// file has the law.
class Multicast {
 public:
  /// Says who could still give the command of a member that has given none.
  using Missing = std::function<void(std::size_t member, std::vector<sim::WaitEdge>& edges)>;

  /// `legs`: what all of them read. The first member stands for the read.
  Multicast(std::string group, std::vector<PeCoordinate> members, std::vector<DmaLeg> legs,
            const topology::Topology& topology, Missing missing);

  const std::string& group() const { return group_; }
  std::span<const PeCoordinate> members() const { return members_; }
  /// The slice that counts the members' reports and asks the others: that of the leg in the middle. Null where
  /// nobody has to be waited for: a member alone asks all of them itself.
  const DmaLeg* home() const { return home_; }
  /// The member has given its command, which is alive until it has finished; null: it was taken back.
  void give(std::size_t member, const Command* command) { commands_[member] = command; }

  /// The report of a member has arrived at the home slice, that it has room and is set up. With the last report the
  /// slices are asked. `flight` is what the member's queue knows its command by.
  void reported(std::size_t member, DmaQueue& queue, std::uint64_t flight);
  /// The request for a leg has arrived at the slice: its bytes set out.
  void begin(Transport& transport, std::size_t leg);
  /// A member's program was cancelled: nobody asks the slices any more.
  void abandon() { abandoned_ = true; }
  /// Whether all have reported: the bytes will set out.
  bool met() const { return missing_reports_ == 0; }

  /// The queue of the member that reported last; none before that.
  const PartId& slowest() const { return slowest_; }
  /// The worst buffer on the way to a member.
  ServerTime most_starved_to(std::size_t member, std::size_t leg) const;

  /// Appends whom those wait for that have asked already.
  void needs(std::vector<sim::WaitEdge>& edges) const;

 private:
  struct Report {
    DmaQueue* queue = nullptr;  // none: it has not arrived
    std::uint64_t flight = 0;
    Time at;
  };
  struct Leg {
    const Tree* tree = nullptr;
    std::vector<Receiver> receivers;
    TransferLog log;
  };
  void left_memory(std::uint64_t leg);

  std::string group_;
  std::vector<PeCoordinate> members_;
  std::vector<DmaLeg> reads_;
  const DmaLeg* home_ = nullptr;  // among them
  Missing missing_;
  std::vector<const Command*> commands_;  // by member
  std::vector<Report> reports_;           // likewise
  std::size_t missing_reports_;
  std::vector<Leg> legs_;
  bool abandoned_ = false;
  PartId slowest_;
};

}  // namespace kernbench::hardware
