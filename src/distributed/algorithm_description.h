// What an algorithm of collectives does on a group: the neighbours of each rank, and who sends how much in which step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithm_spec.h"
#include "distributed/algorithms/algorithm.h"
#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench::distributed {

/// A channel from each PE of a rank to its counterpart on another: an entry to send of the one, to receive of the
/// other.
struct ChannelDescription {
  int from = 0, to = 0;
  std::vector<std::string> links;  // on the way; of ranks that are SIPs those between SIPs
  Time latency;                    // of the way, of the PE that is furthest from the IO chiplet
};

struct MessageDescription {
  int from = 0, to = 0;
  Bytes bytes;  // of all PEs of the rank together, rounded
};

struct StepDescription {
  std::int64_t times = 1;      // that it is done
  std::int64_t latencies = 1;  // one after the other; 0: they overlap with those of other steps
  bool loaded = false;         // what is sent is loaded when the step before is through
  std::vector<MessageDescription> messages;
};

struct AlgorithmDescription {
  const CollectiveAlgorithm* algorithm = nullptr;
  std::string reason;  // of an automatic choice; else empty
  AlgorithmSpec spec;  // of its channels
  int ranks = 1;
  bool rank_per_pe = false;             // else a rank is a SIP
  std::int64_t pes = 1;                 // of a rank
  std::vector<PeCoordinate> first_pes;  // by rank
  Bytes bytes;                          // of a rank's tensor; of blocks, of all blocks of one rank
  std::vector<ChannelDescription> channels;
  std::vector<StepDescription> steps;  // none: it says none of its own
  std::optional<double> cost_ns;       // by which `auto` chooses; without steps none
};

struct DescriptionRequest {
  std::string name;       // of an algorithm, or of an entry of the collectives file
  std::string operation;  // of an entry: for which it stands; empty: all_reduce
  int ranks = 0;          // 0: one on each SIP; more than SIPs: one on each PE
  Bytes bytes{1 << 20};
};

/// Rank r is SIP r, or PE r of the machine. ConfigurationError for a name that neither the file nor the table has, with
/// those that there are; for an operation that it is not for; for fewer than two ranks and more than there are PEs; and
/// for a group on which it cannot run.
AlgorithmDescription describe_algorithm(const DescriptionRequest& request, const Collectives& collectives,
                                        const topology::Topology& machine);

}  // namespace kernbench::distributed
