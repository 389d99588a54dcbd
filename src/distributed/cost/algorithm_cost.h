// What an algorithm of collectives costs on a group.
//
// All messages of a step go at one time:
//   latency = latencies * alpha, alpha that of a message; of the steps together, of the longest chain of messages in
//             which each rank sends when it has received those of the step before that go the same way; where each rank
//             passes on what comes, the chain begins at one that nothing comes to, and ends at one that sends nothing,
//             if there are such
//   service = share * bytes * max over links of (weight of messages on it / (use * payload rate))
//   alpha   = the route's latencies + 3 pe.control.issue + pe.ipcq.meta_latency
//   use     = 1 where all that meets on the link goes the same way from there on, or different ways in turn, else what
//             passes where messages to several links wait in one line: 0.75 of two, 0.68 of three, … 2 - sqrt(2) of
//             many (Karol, Hluchyj, Morgan, "Input versus output queueing on a space-division packet switch", 1987,
//             table I). That is for n lines that are never empty and bring to each way as much as the others. Of what
//             then does not pass, as much is lost as there is competition:
//   use         = 1 - (1 - table I(n)) * competition,    n the ways that messages go from the link
//   competition = sum over the ways of (share of the link's messages that go there) * min(1, others / ((n - 1) / n))
//   others      = what other links bring to that way, each times its own weight, by the largest weight of a link;
//                 messages that begin there wait in lines that are full, and where messages end there are full ones
// Of a chain in several ways, in which each rank passes on what comes, only the root's line is full: half of it.
// On links that lead straight from rank to rank, of a SIP with more lanes to its IO chiplet than links or ways, the
// lanes are such lines:
//   use + (1 - 1/lanes) use^2 / (2 (1 - use)) = lanes / links        all of them with messages to all of the links
//   use = 1 - (1 - table I(2)) * (ways - gcd(ways, lanes)) / lanes   of ways of PEs of their own
// Where ranks are SIPs of several PEs, messages of a step meet those of the next one, of PEs that are ahead:
//   use = table I(2)      the last time that a step is done and the first time of the next one, where messages of each
//                         go one way from the busiest link, but not the same one; not of an all-reduce whose step is
//                         one message of a PE, a slot at most
// Round a ring of links that are equally full, of which k on the way of a message have messages that begin there, and
// with more bytes of a rank than the buffer behind a link holds:
//   use <= max(1/2, 2/k)     a place that a message frees is taken, link by link back along the way, by one that passes
//                            or one that begins there, in turn: by the latter after two moves on the average, where k
//                            are needed; and a link gives half of its turns to what passes
// Where ranks are SIPs the links between SIPs count, which the PEs of a SIP share, and the way from there to the IO
// chiplet, likewise:
//   weight of all that a rank sends, or receives * max over links of the SIP of (share of the PEs behind it / payload
//   rate)
// Else all links count.
//
// The PEs of a SIP use the links one after the other, and each goes on to its next step when its own message is
// through: while one waits for what is under way, others send. The IO chiplet takes messages from its lanes in turn, so
// that those of as many PEs are under way together. In a step a PE waits for its message
//   own = min(message, slot) * max(lanes * service / (share * bytes), passage)
//   passage = 1 / rate of a PE's port + 1 / rate of its TCM's port: out of one PE, and out of a slot of another one
// (of a chain in several ways: with the weight on the busiest link of one way, as those of the other way pass at
// another time) of `message` bytes of each PE that takes part, and the lanes behind which these are: all of both, but
// of all-gathers and reduce-scatters, whose blocks lie on 1/n of the PEs each, those of as many consecutive blocks as a
// step moves. Of a chain, in which each rank passes on what comes in, a message is a piece (algorithms/pieces.h), not a
// slot. The first PE is at a link in step i at first(i), the last one at last(i):
//   first(1) = loading(1); last(1) = first(1) + service(1) - own(1)
//   loading    = bytes of a PE in a step, but no more than fit into the slots of a channel / rate of its slice of the
//                HBM, where ranks are SIPs: these are loaded at one time, so that the first of them is there when all
//                are, nearly
//   through(i) = latencies * alpha + max(latencies, 1) * (own(i) + folded) + memory(i + 1)
//                + loading(i + 1) where that loads what it sends
//   folded     = 3 * message / pe.tcm.bandwidth of a chain that reduces and of reduce-scatters, else 0: before a rank
//                passes a piece on, the vector engine has read two tiles and written one
//   memory     = pe.dma.setup + cube.hbm.latency where what is sent is loaded then, twice that where it has been stored
//                just before, else 0; of an all-to-all, whose blocks lie anywhere in a SIP, each time also the way
//                between the corners of its mesh, there and back
//   first(i + 1) = first(i) + through(i)
//   last(i + 1)  = max(last(i) + through(i),                                                   the last one comes late
//                      max(first(i + 1), idle(i + 1)) + fresh * service(i + 1) - own(i + 1),   or the link is busy,
//                      busy(i + 1) - own(i + 1))                                               or a PE is
//   idle(i + 1)  = max over the steps j up to i with a link in common with step i + 1 of last(j) + own(j),
//                  + (1 - fresh) * service(i + 1)
//   fresh        = of the step's messages those that pass on what the step before has brought: the others go behind the
//                  messages of the step before, and the first one of them by itself is none that is waited for. 1 but
//                  of PAT's all-gather, where in step i one of 2^(i-1) blocks has come that way.
// Where ranks are SIPs a PE is busy, whatever the links do, until
//   busy(i) = max(first(i), busy(i - 1)) + max(pe, held)(i) + lead(i)
//   last(i) >= busy(i) - own(i), and >= max(first(i), busy(i - 1)) + pe(i) - own(i)
//   pe      = of the step's bytes a PE's part, at the rate of its port times its use, or what it loads and stores of
//             them at that of its slice of the HBM
//   windows = how often its bytes fill the slots of a channel, of which no more are under way until credits are back
//   credit  = 2 * latency of the longest way + pe.ipcq.wake + min(message, slot) * passage
//   added   = pe.dma.setup + cube.hbm.latency of a reduction: what is added is loaded when a message comes; of an
//             all-reduce half of that
//   held    = max(0, windows - 1) * (credit + added) + pe / max(1, windows)
// all of pe, where what is sent is loaded when there is a slot for it: where it has been stored before, and on trees.
// An algorithm of several steps that does all of them for one window before the next (CollectiveAlgorithm::in_parts) is
// held up in each, and a window ends when all of it is there:
//   held    = whole windows * max(latency + own, credit + added)
//             + max(latency + own, rest * (credit + added))                                       where a rest is left
//   busy(1) += bytes of a PE in a step * passage                                                  of more than a window
// and last(i) is at least busy(i) less latency + own. Where in one step a rank passes on what comes (direct broadcast
// and reduce), a window comes to it whole before it does so with the next one:
// The last rank does so when the others are through, and no line is before its own; one that folds has all of them
// then:
//   lead    = (latencies - 1) * bytes of a window * least of what such a rank sends and receives
//             * (1 / rate of port + 3 / pe.tcm.bandwidth of a reduction)
// A direct all-reduce folds half a window, and sends the results, before it sends the next half, so that its port
// stands in between:
//   busy(2) >= max(first(2), busy(1)) + port + (2 windows - 1) * latency       port: of pe, that of the port alone
// The port of a PE is a line, too, with messages to the ports of w other ranks' PEs:
//   use     = 1 - (1 - table I(w)) * full * min(1, (lines - 1) / (n - 1) / ((w - 1) / w))
// of n ranks, `lines` of which have messages: all, but of an all-gather those k whose blocks the PE has; of a
// reduce-scatter w is at most k, and `full` is what a line has of what comes to a port, k / (n - 1). Of these blocks a
// PE has messages in k of the times that the step is done, the first ones, and moves the k and its own one once more;
// k = max(1, n / PEs of a SIP), of parts of blocks where there are more PEs. Of blocks in several steps that fill the
// slots W > 1 times:
//   cost    = cost of one window + (W - 1) * max(sum of latency + own + folded of all steps + window * passage,
//             k * (credit + added)) + window * passage
// but at least what the links and ports take for all of them.
// Of ranks that are PEs the slices count for all-to-alls.
// The steps of an all-to-all all have something in common: what they load and store lies anywhere in a SIP.
//   cost = last + through, of the last step
// An algorithm in r > 1 rounds, each with some of its channels, begins again r - 1 times and has channels written r
// times; with `there` and `back` the latencies of the launch path between the host and the PE of a SIP, and `rows` a
// row for each end of a channel on a PE of the SIP:
//   rounds = (r - 1) (there + start_latency + back + 2 turns) + r (there + back) + bytes of the rows / payload rate of
//            the host's link
//   turns  = (ranks on a SIP - 1) sip.io.cpu_latency where ranks are PEs: they begin, and are over, one after the other
// A chain (CollectiveAlgorithm::in_pieces) of PEs of one SIP goes on meanwhile: it costs so much less, but its last
// hop. So little data take all latencies and the longest service, much data all services and one latency. Nothing is
// fitted; the launch is the same for all algorithms and left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "distributed/algorithms/algorithm.h"
#include "topology/network.h"

namespace kernbench::distributed {

/// Over the bytes of a rank's tensor; of blocks, over those of all blocks of one rank.
struct AlgorithmCost {
  struct Step {
    double latency_ns = 0;  // of all of them, of one time
    double memory_ns = 0;   // before it, unless it is the first one
    std::int64_t latencies = 1, times = 1;
    double share = 0;              // of the bytes, of a message of weight 1
    double ns_per_byte = 0;        // of such a message, where most meet
    double before = 1, after = 1;  // as many times that, where messages of the step before, or after, go other ways
    std::vector<std::size_t> apart = {};       // the steps before it whose messages take none of its links
    double part = 1;                           // of the PEs that have messages at one time: of blocks not all
    double lanes = 0;                          // behind which these are; 0: all
    double fresh = 1;                          // of the messages those that wait for the step before
    double own_ns_per_byte = 0;                // while a message passes; 0: the same
    double crowded_ns_per_byte = 0, room = 0;  // of a step of more bytes than `room`, at least
    double pe_ns_per_byte = 0;                 // of the share, on a PE's own port and in its slice of the HBM
    double turns = 1;                          // of the times that it is done, those in which a PE has messages
    bool loads_in_turn = false;                // what is sent, when there is a slot for it
    double port_ns_per_byte = 0;               // of the share, on a PE's own port alone
    double added_ns = 0;                       // until what is added to a message is loaded
    double credit_ns = 0;                      // until a credit of the longest way is back, but for a slot's passage
    double lead_ns_per_byte = 0;               // of a part that a PE passes on, until another one has all of it
    bool loads_before = false;                 // a window of it, when the step before is through
    double slowed(std::int64_t time) const { return std::max(time == 0 ? before : 1, time == times - 1 ? after : 1); }
  };
  const CollectiveAlgorithm* algorithm = nullptr;
  std::vector<Step> steps = {};
  std::vector<Step> steps_of_few = {};  // where a PE has no more than the algorithm's `few`; none: the same
  double lanes = 1, pes_of_lane = 1;    // between the PEs of a rank and its links
  double slot = 0, least_piece = 0;     // bytes
  double slot_ns_per_byte = 0;          // through the port of the PE and that of its TCM
  double load_ns_per_byte = 0;          // from the slice of a PE
  double folded_ns_per_byte = 0;        // of a chain, in the vector engine before a rank passes it on
  double queue = std::numeric_limits<double>::infinity();  // bytes of all slots of a channel
  bool of_blocks_in_parts = false;
  double rounds_ns = 0;      // what it takes to begin again, of an algorithm in several launches
  double one_by_one_ns = 0;  // in which ranks of a chain are over while it goes on

  double of(std::int64_t bytes) const;
  /// Of nothing; and what a byte more costs where there are many.
  double latency_ns() const;
  double ns_per_byte() const;
  static bool has_several_steps(const std::vector<Step>& steps);

 private:
  struct Load;
  class Walk;

  const std::vector<Step>& steps_of(std::int64_t bytes) const;
  /// Of blocks that fill the slots more than once, all steps of one window before those of the next.
  double of_parts(std::int64_t bytes, double windows) const;
  /// Of so many bytes, those of a PE in a step, and in the largest one.
  double of_a_pe(const Step& step, std::int64_t bytes) const;
  double most_of_a_pe(std::int64_t bytes) const;
  /// Behind which the PEs are that have messages.
  double lanes_of(const Step& step) const { return step.lanes > 0 ? step.lanes : lanes; }
  /// Of so many bytes of a PE, those of a message.
  double message_of(double bytes) const;
};

/// The way between the PEs of a SIP and its IO chiplet: on its busiest link, of each byte that the SIP sends, or
/// receives, spread evenly over its PEs.
double way_ns_per_byte(const topology::Network& network);

/// `endpoints`: of the group's ranks, a PE of each. `way`: the above; 0 where ranks are single PEs. `spec`: of its
/// channels.
AlgorithmCost cost_of(const CollectiveAlgorithm& algorithm, const GroupShape& shape,
                      std::span<const PeCoordinate> endpoints, bool rank_per_pe, double way, const AlgorithmSpec& spec,
                      const topology::Network& network);

/// What algorithms cost on one group with members, which must outlive this, as must the network.
class GroupCosts {
 public:
  GroupCosts(const GroupDescription& group, const topology::Network& network);
  AlgorithmCost of(const CollectiveAlgorithm& algorithm) const;

 private:
  const GroupDescription& group_;
  const topology::Network& network_;
  GroupShape shape_;
  std::vector<PeCoordinate> endpoints_;
  double way_;
};

}  // namespace kernbench::distributed
