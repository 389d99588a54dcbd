// Graphs: launches that are captured once and replayed as one command. What PyTorch spells torch.cuda.CUDAGraph and
// torch.cuda.graph is here torch::ahbm::Graph and torch::ahbm::graph.
#pragma once

#include <memory>
#include <optional>

#include "kernbench/streams.h"
#include "kernbench/where.h"

namespace kernbench::torch::ahbm {

/// Launches of library functions and of kernels, captured from a stream. While it captures, launches that are given to
/// the stream are kept instead of being done, in no simulated time. replay() then gives all of them to the device as
/// one command: the host pays its launch overhead once, and each launch starts at the device when those before it are
/// over.
///
///     torch::ahbm::Graph g;
///     {
///       const auto scope = torch::ahbm::graph(g);
///       y = torch::relu(torch::matmul(x, w));  // nothing runs
///     }
///     x.copy_(batch);  // in place: a replay reads the memory of the tensors that were captured
///     g.replay();
///
/// Another stream of the device takes part when it waits for an event that was recorded on a captured stream (fork); it
/// must be waited for in the same way before the end (join). Memory of tensors that are made during the capture belongs
/// to the graph until reset(), as that of tensors that its launches use: addresses are the same at each replay.
///
/// A CaptureError is, while it captures: whatever waits for a device or reads from it, copies from the host or between
/// devices, collectives, and launches with channels of their own. The error ends the capture without a graph.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Begins to capture the current stream of the current device, which is not the default one. CaptureError while the
  /// worker captures; ValueError if there is a graph already.
  void capture_begin(Where where = Where::current());
  /// Ends it. CaptureError if something was refused meanwhile, or a stream that took part was not joined.
  void capture_end(Where where = Where::current());
  /// All launches of the graph, as one command of the current stream of the graph's device; asynchronous as a launch.
  /// It begins when the replay before it is over, whatever stream that is on. ValueError without a captured graph.
  void replay(Where where = Where::current());
  /// Gives the memory back when the replays so far are over; the graph can be captured anew.
  void reset(Where where = Where::current());

 private:
  friend class GraphScope;
  struct State;
  void abandon();
  std::unique_ptr<State> state_;
};

/// Captures while it lives, with its stream current.
class GraphScope {
 public:
  GraphScope(Graph& graph, const std::optional<Stream>& stream, Where where);
  /// Ends the capture, and throws what Graph::capture_end throws; while an exception unwinds, the capture is given up.
  ~GraphScope() noexcept(false);
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;

 private:
  Graph& graph_;
  StreamGuard stream_;
  Where where_;
  int exceptions_;
};

/// Waits for all work of the device (as torch.cuda.graph does), then captures on `stream`, or on a stream that the
/// worker keeps for captures.
[[nodiscard]] GraphScope graph(Graph& graph, Where where = Where::current());
[[nodiscard]] GraphScope graph(Graph& graph, const Stream& stream, Where where = Where::current());

/// Whether the current stream of the current device is being captured.
bool is_current_stream_capturing();

}  // namespace kernbench::torch::ahbm
