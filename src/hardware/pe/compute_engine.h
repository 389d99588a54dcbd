// Common part of the GEMM and the vector engine: commands one after the other, on the PE's clock, timed by the model.
#pragma once

#include <functional>
#include <utility>

#include "hardware/models.h"
#include "hardware/pe/command_queue.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// When a command ends that starts at a time, by a model of the caller's own.
using OwnLaw = std::function<Time(const Command& command, Time start)>;

class ComputeEngine : public CommandQueue {
 public:
  /// Either a built-in `law`, or `own`. `pe` must outlive the engine.
  ComputeEngine(sim::Scheduler& scheduler, const PartId& part, ComputeLaw law, OwnLaw own, std::int32_t depth,
                const topology::PeSpec& pe)
      : CommandQueue(scheduler, part, depth), law_(law), own_(std::move(own)), pe_(pe) {}

 private:
  void begin(Command& command) override;
  bool takes(const Command& next) override;
  void let_next_start(std::uint64_t);
  void complete(std::uint64_t command);
  Time own_end(const Command& command) const;

  ComputeLaw law_;
  OwnLaw own_;
  const topology::PeSpec& pe_;
  Time end_;   // of the command that started last
  Time wake_;  // when let_next_start() comes
};

}  // namespace kernbench::hardware
