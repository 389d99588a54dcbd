// The graph of waits through all layers, from which a deadlock report is made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/name.h"
#include "base/part.h"
#include "sim/predicate.h"

namespace kernbench::sim {

class WaitNode;

/// A send waits for a free slot of a queue, which has so many.
struct SlotNeed {
  PartId queue;
  std::int32_t slots = 0;
};

/// One reason to wait: `target` is what must act (nullptr when nobody in the simulation can), `reason` says for what:
/// "a credit of sip0.cube0.pe1.ipcq.slot3", "3 of 8 programs of launch gemm#2".
struct WaitEdge {
  const WaitNode* target = nullptr;
  Name reason;
  /// One host program waits for a call of another: such an edge is the cause of what then waits on the devices.
  bool host = false;
  /// Any one of its node's alternatives would be enough.
  bool alternative = false;
  /// Without a target: who can no longer act, and why: "rank 1", "has ended without calling recv". May be empty.
  std::vector<Name> missing = {};
  Predicate fault = {};
  /// From a call of a program of the host to another program, which call that is, and what the other one has not done:
  /// "rank 0's send to rank 1 (tag 0) of the default group, called at ring.cpp:8, which rank 1 has not received".
  /// Empty: the names of both say it.
  Name unmet = {};
  /// Where that is the reason.
  std::optional<SlotNeed> slot = {};
};

/// What a node is in the first lines of a report.
enum class WaitRole : std::uint8_t {
  party,  // a program: a rank, an instance of a kernel
  call,   // what a program has called, or an operation of it
  step,   // a step between these: a queue, a launch
  join,   // likewise, which ends when other programs end
  // A command of a stream: a step; a text leaves it out where it belongs to a call.
  command,
};

/// Anything that can take part in a wait: a fiber, a waitable, a queue, an operation, a launch.
class WaitNode {
 public:
  virtual ~WaitNode() = default;
  /// Its name in a report, after the grammar of parts: "rank 0", "sip0.cube2.pe5.dma", "launch gemm#2".
  virtual Name wait_name() const = 0;
  /// Appends what this node waits for now; nothing appended means that it is not waiting.
  virtual void waits_for(std::vector<WaitEdge>& edges) const = 0;
  virtual WaitRole wait_role() const { return WaitRole::step; }
};

}  // namespace kernbench::sim
