// What the messages of one step of an algorithm do on the links that they meet on. The law stands in algorithm_cost.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "kernbench/coordinates.h"
#include "topology/network.h"
#include "topology/spec.h"

namespace kernbench::distributed {

/// What passes of full lines that each have messages to so many links, as a part of what one link takes.
double use_of_line(std::size_t outputs);

/// Between the mesh of a SIP and its IO chiplet.
double lanes_of(const topology::Topology& machine);
/// Those of so many PEs that follow each other.
double lanes_of_first(double pes, const topology::Topology& machine);

/// Of the PEs with one number on all ranks: for how many ranks one has messages at most, and how many have some.
struct PortUse {
  std::size_t targets, lines;
};

class StepCost {
 public:
  StepCost(const CostStep& step, std::span<const PeCoordinate> endpoints, bool rank_per_pe, double way,
           const topology::Network& network);
  /// By when each rank has its messages after so many of these steps, if it sends in each when it has those of the one
  /// before that go its way; from when it has those, and besides the latency so much for each message.
  void pass_latency(std::vector<double>& ready, std::int64_t times, double each) const;
  /// Messages of both go one way from a link on which most of either meet, and not the same one.
  bool goes_other_ways_than(const StepCost& other) const;
  bool shares_a_link_with(const StepCost& other) const;
  /// For each byte of a message of weight 1, on the busiest link.
  double ns_per_byte() const;
  /// The same of more bytes than the buffers behind links hold, where messages begin on more than two links of a way.
  double crowded_ns_per_byte() const;
  /// Of a link between SIPs; 0 where none is used.
  double room() const;
  /// The same while a message passes, `all` but of a chain, whose messages of another way are elsewhere then.
  double own_ns_per_byte(double all) const;
  /// Of a rank with one PE: what that one sends or receives passes its port.
  double ns_per_byte_of_a_port(const PortUse& ports) const;
  /// What it sends on of what it receives, when no other line meets its own; `folded`: and the vector engine folds it.
  double ns_per_byte_passed_on(bool folded) const;
  /// Its slice of the HBM moves so many bytes for each byte of a message of weight 1.
  double ns_per_byte_of_a_slice(double memory) const;
  /// The latency of the message of the longest way.
  double longest_ns() const;

 private:
  /// In place of a link: messages end there.
  static constexpr std::int64_t kEnd = -1;

  /// What messages do on one link.
  struct Load {
    double weight = 0;                    // of the messages
    std::map<int, double> ways = {};      // of those of each way
    std::map<std::int64_t, double> next;  // by the links that they take from there, or kEnd
    std::map<std::int64_t, double> from;  // by the links that they have taken before; not: those that begin
  };

  /// Of a rank that is a SIP.
  struct Traffic {
    double sent = 0, received = 0;                     // weight
    std::map<int, std::set<std::int64_t>> links = {};  // that messages of a way take first
    std::map<int, std::set<std::size_t>> others = {};  // ranks to which messages of a way go
  };

  struct Latency {
    std::size_t from, to;
    double ns;
  };

  double rate_of(std::int64_t link) const;
  /// The port of a PE is a line with messages to the ports of other ranks.
  double use_of_port(const Traffic& rank, const PortUse& ports) const;
  /// Each rank passes on what comes, and the ways meet on their links.
  bool goes_ways_of_a_chain() const { return chain_ && latencies_.size() > 1; }

  /// Whether each rank is one at which messages of the way begin, or end, and others do not; all, where there is none.
  std::vector<bool> outermost(const std::vector<Latency>& messages, bool begin) const;
  /// A message to the links of its route; yields its latency.
  double add(PeCoordinate from, PeCoordinate to, double weight, int way);
  std::size_t begins_on(const std::vector<std::int64_t>& route) const;
  double competition(std::int64_t link, const Load& load) const;
  double brought_by_others(std::int64_t next, std::int64_t link) const;
  double ns_per_byte_from_lanes(const Traffic& rank) const;
  double use_of_lanes_to(const Traffic& rank, const std::set<std::int64_t>& links) const;

  const topology::Network& network_;
  double way_, lanes_;
  bool between_sips_, in_turn_, chain_;
  std::optional<std::int64_t> first_link_;         // of the message that was added last
  std::map<int, std::vector<Latency>> latencies_;  // by way
  std::vector<Traffic> ranks_;
  std::map<std::int64_t, Load> loads_;             // by link
  double most_ = 0;                                // weight on a link
  std::vector<std::vector<std::int64_t>> routes_;  // between SIPs, of the messages
  std::size_t begins_ = 0;                         // the most links of one on which messages begin, of full ways
};

}  // namespace kernbench::distributed
