// One queue of a PE's DMA engine: moves strided ranges between HBM slices, or the cube's SRAM, and the PE's TCM.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/mmu/tlb.h"
#include "hardware/models.h"
#include "hardware/pe/command_queue.h"
#include "hardware/transport.h"
#include "kernbench/coordinates.h"
#include "topology/spec.h"

namespace kernbench::hardware {

/// Sets up one descriptor (a command) after the other and has up to `outstanding` of them under way. See README.md
/// for the law.
class DmaQueue : public CommandQueue {
 public:
  /// `tlb` is the PE's, which all of its queues share and which must outlive them. `model` is one of the caller's own,
  /// or null.
  DmaQueue(sim::Scheduler& scheduler, Transport& transport, const topology::Topology& topology, PeCoordinate pe,
           std::int32_t index, Tlb& tlb, std::unique_ptr<DmaModel> model);

  void needs(const Command& command, std::vector<sim::WaitEdge>& edges) const override;

 private:
  friend class Multicast;
  // A descriptor under way.
  struct Flight {
    Command* command = nullptr;  // none: the place is free
    std::size_t accesses = 0;    // legs whose memory access has not taken effect
    std::size_t open_legs = 0;
    bool reports = false;  // of a multicast: its report is on its way
    bool set_up = false;
    std::vector<TransferLog> logs;  // by leg
  };
  // What the callbacks of one leg carry.
  static constexpr std::uint64_t part(std::size_t flight, std::uint64_t leg) { return (flight << kPartBits) | leg; }
  static constexpr std::uint32_t kPartBits = 16;
  Flight& flight_of(std::uint64_t part) { return flights_[part >> kPartBits]; }
  const DmaLeg& leg_of(std::uint64_t part) { return flight_of(part).command->dma().legs[leg_index(part)]; }
  static constexpr std::uint64_t leg_index(std::uint64_t part) { return part & ((std::uint64_t{1} << kPartBits) - 1); }
  /// Null for a command that nobody watches.
  TransferLog* log_of(std::uint64_t part) {
    Flight& flight = flight_of(part);
    return flight.command->watched ? &flight.logs[leg_index(part)] : nullptr;
  }
  Sender sender(std::uint64_t part);
  TransferEnd memory_of(const DmaLeg& leg) const { return transport_.memory(leg.memory, leg.slice); }
  Command& command_of(std::uint64_t flight) { return *flights_[flight].command; }
  Time now() { return scheduler().now(); }

  Time setup_of(const Command& command);
  void begin(Command& command) override;
  bool abort(Command& command) override;
  bool takes(const Command& /*next*/) override { return !setting_up_ && active().size() < flights_.size(); }
  void start_legs(std::uint64_t flight);
  void count(std::uint64_t part, std::span<const Stage> route);
  void start_read(std::uint64_t part);
  void report(std::uint64_t flight);
  void reported(std::uint64_t flight);
  void ask_slices(std::uint64_t flight);
  void slice_asked(std::uint64_t part);
  void start_write(std::uint64_t part);
  void left_memory(std::uint64_t part);
  void landed(std::uint64_t part);
  void leg_done(std::uint64_t part);
  void memory_accessed(std::uint64_t part);
  void respond(std::uint64_t part);
  void end(Flight& flight);

  Transport& transport_;
  const topology::DmaSpec& spec_;
  Time atomic_;
  PeCoordinate pe_;
  Tlb& tlb_;
  std::unique_ptr<DmaModel> model_;
  std::vector<Flight> flights_;
  bool setting_up_ = false;
};

}  // namespace kernbench::hardware
