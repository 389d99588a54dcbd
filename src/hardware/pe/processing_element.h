// One PE: control processor, DMA queues, GEMM and vector engines, TCM.
#pragma once

#include <string>

#include "hardware/command.h"
#include "hardware/composite_command.h"
#include "hardware/tcm/tcm.h"
#include "kernbench/coordinates.h"

namespace kernbench::hardware {

class ProcessingElement {
 public:
  virtual ~ProcessingElement() = default;
  virtual PeCoordinate coordinate() const = 0;
  virtual const std::string& name() const = 0;  // "sip0.cube2.pe5"
  virtual TcmAllocator& tcm() = 0;
  /// Called on a program's fiber: suspends while the engine's queue is full, then costs the issue time, after which the
  /// command has entered the queue (command->times.issued). While the fiber unwinds, the command is dropped.
  /// Throws ValueError when a DMA command touches more slices than one descriptor can (4096).
  virtual void submit(const CommandRef& command) = 0;
  /// Likewise for a composite command: suspends while the scheduler's queue is full, then costs the issue time. The
  /// commands enter their queues one after the other, by the scheduler.
  virtual void submit(const CompositeRef& command) = 0;
};

}  // namespace kernbench::hardware
