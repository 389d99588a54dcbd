// What the GEMM and the vector engine share: one command at a time, on the PE's clock, after a law of its model.
#pragma once

#include <string>
#include <string_view>

#include "hardware/pe/command_queue.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// The law of a compute engine: when a command ends that starts at `start`. Later than `start`.
using ComputeLaw = Time (*)(const topology::PeSpec& pe, const Operation& operation, Time start);

/// A model that a topology file can name.
struct ComputeModel {
  std::string_view name;
  ComputeLaw law;
};

class ComputeEngine : public CommandQueue {
 public:
  /// `pe` and `pe_name` must outlive the engine; `suffix` is a literal: ".gemm".
  ComputeEngine(event::Scheduler& scheduler, ComputeLaw law, std::int32_t depth, const topology::PeSpec& pe,
                const std::string& pe_name, const char* suffix)
      : CommandQueue(scheduler, depth), law_(law), pe_(pe), pe_name_(pe_name), suffix_(suffix) {}

  std::string wait_name() const override { return pe_name_ + suffix_; }

 private:
  void begin(Operation& operation) override;
  void complete(std::uint64_t);

  ComputeLaw law_;
  const topology::PeSpec& pe_;
  const std::string& pe_name_;
  const char* suffix_;
};

}  // namespace kernbench::hardware
