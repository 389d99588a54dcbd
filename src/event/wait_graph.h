// Who waits for whom, through all layers: the raw material of the deadlock report.
#pragma once

#include <string>
#include <vector>

namespace kernbench::event {

class WaitNode;

/// One reason to wait: `target` is what must act (nullptr when nobody in the simulation can), `reason` says for what:
/// "a credit of sip0.cube0.pe1.ipcq.slot3", "3 of 8 programs of launch gemm#2".
struct WaitEdge {
  const WaitNode* target = nullptr;
  std::string reason;
};

/// Anything that can take part in a wait: a fiber, a waitable, a queue, an operation, a launch.
class WaitNode {
 public:
  virtual ~WaitNode() = default;
  /// Its name in a report, after the grammar of parts: "rank 0", "sip0.cube2.pe5.dma", "launch gemm#2".
  virtual std::string wait_name() const = 0;
  /// Appends what this node waits for now; nothing appended means that it is not waiting.
  virtual void waits_for(std::vector<WaitEdge>& edges) const = 0;
};

}  // namespace kernbench::event
