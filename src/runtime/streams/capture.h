// Capture of a graph: what is given to the captured streams is kept instead of being done.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "runtime/devices/simulated_storage.h"
#include "runtime/streams/launches.h"
#include "runtime/streams/stream.h"

namespace kernbench::runtime {

struct HostContext;

/// A launch of a graph.
struct GraphLaunch {
  LaunchPlan plan;
  std::source_location where;      // of the program's call that was captured
  std::vector<std::size_t> after;  // the launches, by index, that are over before it starts
};

/// What a capture has kept: launches of one device, in the order of the calls.
struct CapturedGraph {
  Name name;
  int device = 0;
  std::weak_ptr<Stream> stream;  // of the capture; gone with its simulation
  std::vector<GraphLaunch> launches;
  std::vector<SimulatedStorageRef> memory;  // of the tensors that were made during the capture
};
using CapturedGraphRef = std::shared_ptr<const CapturedGraph>;

/// The capture that a worker has begun. It holds the stream on which it was begun, and those that have waited for an
/// event of a held one: fork and join. What comes next on a stream comes after its frontier.
class Capture {
 public:
  using Frontier = std::set<std::size_t>;  // launches, by index

  Capture(Name name, int device, const std::shared_ptr<Stream>& origin, const std::source_location& where);

  bool holds(const Stream& stream) const { return frontiers_.contains(&stream); }
  int device() const { return graph_->device; }
  const Stream& origin() const { return *origin_; }
  const Frontier& frontier(const Stream& stream) const { return frontiers_.at(&stream); }
  /// What comes next on the stream comes after these launches; it is held from now on.
  void join(const Stream& stream, const Frontier& launches);
  /// REQUIRES: it holds the stream.
  void add(const Stream& stream, LaunchPlan plan, const std::source_location& where);
  void keep(SimulatedStorageRef storage) { graph_->memory.push_back(std::move(storage)); }

  /// Something was refused: the capture cannot come to a graph any more.
  void invalidate() { valid_ = false; }
  bool valid() const { return valid_; }
  /// "sip0 stream 1, captured by the capture_begin at train.cpp:12".
  std::string text() const;
  /// The first launch that is not before what comes next on the stream of the capture, "gelu at train.cpp:14"; empty:
  /// none.
  std::string unjoined() const;
  CapturedGraphRef graph() const { return graph_; }

 private:
  std::shared_ptr<CapturedGraph> graph_;
  std::shared_ptr<Stream> origin_;
  std::source_location where_;
  std::map<const Stream*, Frontier> frontiers_;  // looked up, never walked
  bool valid_ = true;
};

/// The capture of the worker that holds its current stream of the device, or null.
Capture* capture_on_current_stream(HostContext& context, int device);

/// Among the result's warnings: the capture of the worker is lost. REQUIRES: it captures.
void warn_of_unended_capture(HostContext& context);

/// CaptureError if the worker captures: `call` would wait for what does not run, or could not be replayed. `instead`
/// says what to do.
void refuse_while_capturing(HostContext& context, const std::string& call, const char* instead);
/// Likewise, if the capture holds `stream`.
void refuse_on_captured(HostContext& context, const Stream& stream, const std::string& call, const char* instead);

/// Where a graph was replayed last, and what ends then. Of none: null.
struct Replay {
  const Stream* stream = nullptr;
  CompletionRef completion = {};
};

/// Costs the host the launch overhead once, and enqueues all launches of the graph as one command on the calling
/// fiber's current stream of the graph's device. It begins when `before` is over: both use the graph's memory.
Replay enqueue_replay(Simulation& simulation, const CapturedGraphRef& graph, const Replay& before);

}  // namespace kernbench::runtime
