// What an algorithm of collectives costs on a group, and the choice of the one that costs least.
//
// All messages of a step go at one time:
//   step = latencies * alpha + share * bytes * max over links of (weight of messages on it / (use * payload rate))
//   alpha = longest route's latencies + 3 pe.control.issue + pe.ipcq.meta_latency
//           + 2 (pe.dma.setup + cube.hbm.latency) where what is sent has been stored before
//   use   = 1 where all that meets on the link goes the same way from there on, else 2 - sqrt(2): so much passes where
//           messages to different links wait in one line (Karol, Hluchyj, Morgan, "Input versus output queueing on a
//           space-division packet switch", 1987)
// Where ranks are SIPs the links between SIPs count, which the PEs of a SIP share, and the way from there to the IO
// chiplet, likewise:
//   weight of all that a rank sends, or receives * max over links of the SIP of (share of the PEs behind it / payload
//   rate)
// Else all links count. Nothing is fitted; the launch is the same for all algorithms and left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "topology/network.h"

namespace kernbench::distributed {

/// A straight line over the bytes of a rank's tensor; of blocks, over those of all blocks of one rank.
struct AlgorithmCost {
  const CollectiveAlgorithm* algorithm = nullptr;
  double latency_ns = 0, ns_per_byte = 0;
  double of(std::int64_t bytes) const { return latency_ns + ns_per_byte * static_cast<double>(bytes); }
};

/// The way between the PEs of a SIP and its IO chiplet: on its busiest link, of each byte that the SIP sends, or
/// receives, spread evenly over its PEs.
double way_ns_per_byte(const topology::Network& network);

/// `endpoints`: of the group's ranks, a PE of each. `way`: the above; 0 where ranks are single PEs.
AlgorithmCost cost_of(const CollectiveAlgorithm& algorithm, const GroupShape& shape,
                      std::span<const PeCoordinate> endpoints, bool rank_per_pe, double way,
                      const topology::Network& network);

/// For a group whose ranks are the SIPs, or PEs, of their global numbers, as they are unless a program moves them; so
/// the choice is a function of the group, the machine and the bytes alone, the same on all ranks.
class AutomaticChoice {
 public:
  /// Of the candidates for the operation those that can run on the group, over channels that fit beside those that it
  /// has anyway.
  AutomaticChoice(CollectiveOperation operation, const GroupDescription& of, std::span<const int> ranks,
                  const topology::Network& network);
  /// By the file of measurements, if the group's entry names one (AlgorithmSpec::tuning) with this operation and group
  /// and its algorithms are candidates; else the first one of the table unless another one takes 2 % less.
  const CollectiveAlgorithm& of(std::int64_t bytes) const;
  /// Of those that accept the call; null: none does.
  using Accepts = std::function<bool(const CollectiveAlgorithm&)>;
  const CollectiveAlgorithm* of(std::int64_t bytes, const Accepts& accepts) const;
  /// Why: "least cost", or "best by measurement in FILE".
  std::string reason() const;
  const std::vector<AlgorithmCost>& costs() const { return costs_; }

 private:
  /// Takes the measured algorithms of the group, if there are some. ConfigurationError for one that cannot run on it.
  void take_measured(CollectiveOperation operation, const GroupDescription& group);

  std::vector<AlgorithmCost> costs_;
  std::map<std::int64_t, const CollectiveAlgorithm*> measured_;  // by the size from which on; empty: by cost
  std::string file_;                                             // of the measurements
};

}  // namespace kernbench::distributed
