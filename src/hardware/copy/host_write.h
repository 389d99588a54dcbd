// One copy from the host under way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hardware/copy/copy_engine.h"

namespace kernbench::hardware {

/// All legs travel together once the command has reached the IO chiplet: they begin at the slow link.
class CopyEngine::HostWrite {
 public:
  HostWrite(CopyEngine& engine, CopyRequest request, std::uint64_t number);
  void send_command(std::uint64_t);
  std::uint64_t owner() const { return request_.owner; }
  void drop_payload() { request_.effect = nullptr; }

 private:
  void start(std::uint64_t);
  void write(std::uint64_t leg);
  void landed(std::uint64_t leg);
  void acknowledged(std::uint64_t leg);
  void leg_done(std::uint64_t);

  Sender sender(std::uint64_t leg) const { return engine_.sender(number_, leg); }
  topology::Endpoint io() const { return topology::Endpoint::io_cpu(engine_.sip_); }
  PeCoordinate slice(std::uint64_t leg) const { return request_.legs[leg].slice; }

  CopyEngine& engine_;
  CopyRequest request_;
  std::uint64_t number_;
  std::size_t unwritten_;
  std::size_t open_legs_;
};

}  // namespace kernbench::hardware
