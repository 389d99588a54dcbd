// One queue of a PE's DMA engine: moves strided ranges between HBM slices and the PE's TCM.
#pragma once

#include <cstdint>
#include <string>

#include "base/coordinates.h"
#include "hardware/pe/command_queue.h"
#include "hardware/transport.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Executes one descriptor (an operation) at a time. See README.md for the law.
class DmaQueue : public CommandQueue {
 public:
  /// `pe_name` must outlive the queue.
  DmaQueue(event::Scheduler& scheduler, Transport& transport, const topology::DmaSpec& spec, PeCoordinate pe,
           const std::string& pe_name, std::int32_t index);

  std::string wait_name() const override { return pe_name_ + ".dma.queue" + std::to_string(index_); }

 private:
  void begin(Operation& operation) override;
  void start_legs(std::uint64_t);
  void start_read(std::uint64_t leg);
  void start_write(std::uint64_t leg);
  void left_memory(std::uint64_t leg);
  void landed(std::uint64_t leg);
  void leg_done(std::uint64_t leg);
  void memory_accessed();
  Sender sender(std::uint64_t leg);

  Transport& transport_;
  const topology::DmaSpec& spec_;
  PeCoordinate pe_;
  const std::string& pe_name_;
  std::int32_t index_;
  std::size_t accesses_ = 0;  // legs whose memory access has not taken effect
  std::size_t open_legs_ = 0;
};

}  // namespace kernbench::hardware
