// Launches that the host gives in one message, with an order among them: the replay of a graph.
#pragma once

#include <cstddef>
#include <vector>

#include "hardware/launch/launch.h"

namespace kernbench::hardware {

/// Launches of one SIP and one queue, at least one. They take one turn in the queue: the next command of the queue has
/// its turn when all of them are over.
struct GraphRequest {
  std::vector<LaunchRequest> launches;
  /// Of each launch, the earlier ones, by index, that must be over before it starts; none: it starts with the graph.
  std::vector<std::vector<std::size_t>> after;
};

/// The order of a graph's launches, as the IO_CPU keeps it. A launch has its turn when all launches that it comes after
/// are over; in the instant in which several have theirs, they go out by their index.
class LaunchGraph {
 public:
  explicit LaunchGraph(std::vector<std::vector<std::size_t>> after);

  /// The launches by index; they outlive their being over. Called once.
  void hold(std::vector<Launch*> launches) { launches_ = std::move(launches); }
  std::size_t size() const { return after_.size(); }
  /// The message with the list has come and was handled, at these times.
  void handled(const MessageTimes& times);
  /// The turn of the graph has come. True: all of it is over, for it was taken back.
  bool turn_came();
  /// A launch is over for the IO_CPU: others may have their turn now. True: all of the graph is over.
  bool over(const Launch& launch);
  /// What a launch that has no turn waits for.
  void append_before(const Launch& launch, std::vector<sim::WaitEdge>& edges) const;
  /// Its launches that are not over.
  void append_open(std::vector<sim::WaitEdge>& edges, const char* reason) const;

 private:
  std::size_t index_of(const Launch& launch) const;
  bool give_turns(std::vector<std::size_t> over);

  std::vector<std::vector<std::size_t>> after_, before_;  // by index: what it comes after, and what comes after it
  std::vector<std::size_t> waits_for_;                    // launches that are not over; by index
  std::vector<bool> over_;
  std::vector<Launch*> launches_;
  std::size_t open_;
};

}  // namespace kernbench::hardware
