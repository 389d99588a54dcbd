// One PE: control processor, DMA queues, GEMM and vector engines, TCM.
#pragma once

#include <string>

#include "hardware/composite_command.h"
#include "hardware/operation.h"
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
  /// operation has entered the queue (operation->issued). While the fiber unwinds, the operation is dropped.
  /// Throws ValueError when a DMA operation touches more slices than one descriptor can (4096).
  virtual void submit(const OperationRef& operation) = 0;
  /// Likewise for a composite command: suspends while the scheduler's queue is full, then costs the issue time. The
  /// operations enter their queues one after the other, by the scheduler.
  virtual void submit(const CompositeRef& command) = 0;
};

}  // namespace kernbench::hardware
