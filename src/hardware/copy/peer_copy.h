// One copy from SIP to SIP under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/copy/copy_engine.h"

namespace kernbench::hardware {

/// The engine of the source's IO chiplet asks every source slice for its bytes at once; they go straight to the slices
/// of the destination, which acknowledge to the engine.
class CopyEngine::PeerCopy {
 public:
  PeerCopy(CopyEngine& engine, PeerCopyRequest request, std::uint64_t number);
  void send_command(std::uint64_t);
  std::uint64_t owner() const { return request_.owner; }
  void drop_payload() { request_.read = request_.written = nullptr; }

 private:
  void start_legs(std::uint64_t);
  void move(std::uint64_t leg);
  void left_memory(std::uint64_t);
  void landed(std::uint64_t leg);
  void acknowledged(std::uint64_t leg);
  void leg_done(std::uint64_t);

  Sender sender(std::uint64_t leg) const;
  topology::Endpoint io() const { return topology::Endpoint::io_cpu(engine_.sip_); }
  topology::Endpoint source(std::uint64_t leg) const;
  topology::Endpoint destination(std::uint64_t leg) const;

  CopyEngine& engine_;
  PeerCopyRequest request_;
  std::uint64_t number_;
  std::size_t unread_, unwritten_, open_legs_;
};

}  // namespace kernbench::hardware
