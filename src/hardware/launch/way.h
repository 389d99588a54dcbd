// The way of a launch to a program and back, part by part.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/part.h"
#include "hardware/launch/message_processor.h"
#include "hardware/transport.h"
#include "kernbench/units.h"

namespace kernbench::hardware {

/// From `start` to `end` the command, or its completion, was with a link, a processor or a counter.
struct WayStep {
  PartId on;              // sip0.io.cpu, sip0.cube3.m_cpu.counter, host.to_sip0
  const char* what = "";  // "message of m_cpu", or its other sender; "waiting" for what came before; "": worked on
  Time start, end;
};

/// A message, from being sent to the end of its handling.
struct MessageTimes {
  Time sent, arrived, handled;
  TransferLog log;
};

/// Collects steps, each from the end of the one before.
class Way {
 public:
  Way(const Fabric& fabric, Time start) : fabric_(fabric), at_(start) { steps_.reserve(kUsual); }
  /// Until `end`, if there is time in between.
  void step(const PartId& on, const char* what, Time end);
  /// The links of a message, until it arrived; `what` tells its sender.
  void message(const char* what, const MessageTimes& times);
  /// Its handling, and before that waiting for what the processor had to handle first.
  void handling(const PartId& processor, Time latency, Time handled);
  std::vector<WayStep> take() { return std::move(steps_); }

 private:
  static constexpr std::size_t kUsual = 16;  // steps
  const Fabric& fabric_;
  Time at_;
  std::vector<WayStep> steps_;
};

}  // namespace kernbench::hardware
