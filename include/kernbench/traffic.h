// Bytes that a part of a program moves, and the part of the machine that it keeps busiest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace kernbench::torch::ahbm {

/// Bytes are counted at each link or memory that they pass: a byte over three links of a class counts three times, and
/// headers of requests count too. Of all devices.
struct Traffic {
  std::int64_t noc_bytes = 0;   // links between the routers of one cube
  std::int64_t cube_bytes = 0;  // links between cubes
  std::int64_t sip_bytes = 0;   // links between SIPs, and between these and a switch
  std::int64_t host_bytes = 0;  // PCIe
  std::int64_t hbm_bytes = 0;   // HBM channels, read and written
  std::string busiest;          // the server that was busy longest ("sip0.cube1.pe3.router.east"); empty: none was
  std::string busiest_kind;     // "NoC link", "cube link", "SIP link", "host link", "HBM channel", "IO link", "port",
                                // "TCM port", "SRAM"
  double utilisation = 0;       // of the busiest: busy time / time since the meter was made
};

/// Counts from its making. Takes no simulated time; the same with and without --no-data and --exact-events.
/// ProgramError outside of a simulation or inside a kernel.
class TrafficMeter {
 public:
  TrafficMeter();
  /// What has passed until now. Work that is under way counts as far as it has got.
  Traffic read() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace kernbench::torch::ahbm
