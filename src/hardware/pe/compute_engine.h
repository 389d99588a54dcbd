// Common part of the GEMM and the vector engine: one command at a time, on the PE's clock, timed by the model.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "hardware/models.h"
#include "hardware/pe/command_queue.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// When a command ends that starts at a time, by a model of the caller's own.
using OwnLaw = std::function<Time(const Operation& operation, Time start)>;

class ComputeEngine : public CommandQueue {
 public:
  /// Either a built-in `law`, or `own`. `pe` and `pe_name` must outlive the engine; `suffix` is a literal: ".gemm".
  ComputeEngine(sim::Scheduler& scheduler, ComputeLaw law, OwnLaw own, std::int32_t depth, const topology::PeSpec& pe,
                const std::string& pe_name, const char* suffix)
      : CommandQueue(scheduler, depth), law_(law), own_(std::move(own)), pe_(pe), pe_name_(pe_name), suffix_(suffix) {}

  std::string wait_name() const override { return pe_name_ + suffix_; }

 private:
  void begin(Operation& operation) override;
  void complete(std::uint64_t);
  Time own_end(const Operation& operation) const;

  ComputeLaw law_;
  OwnLaw own_;
  const topology::PeSpec& pe_;
  const std::string& pe_name_;
  const char* suffix_;
};

}  // namespace kernbench::hardware
