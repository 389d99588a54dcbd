// One copy from SIP to SIP under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/copy/copy_engine.h"
#include "hardware/copy/lone_copy.h"
#include "hardware/copy/parts.h"
#include "hardware/copy/read_window.h"

namespace kernbench::hardware {

/// The engine of the source's IO chiplet asks the source slices for the parts of the legs, as many as the window has
/// room for; they go straight to the slices of the destination, which acknowledge each to the engine.
class CopyEngine::PeerCopy final : public PartReader, public LoneCopy::Reader {
 public:
  PeerCopy(CopyEngine& engine, PeerCopyRequest request, std::uint64_t number);
  void send_command(std::uint64_t);
  std::uint64_t owner() const { return request_.owner; }
  void drop_payload() { request_.read = request_.written = nullptr; }

  Parts& parts() override { return parts_; }
  std::span<const Stage> route(std::uint64_t leg) override;
  Sender first_sender() const override { return engine_.sender(number_, 0); }
  void append_state(std::vector<std::int64_t>& state) const override;
  bool has_more() const override { return !parts_.all_taken(); }
  bool may_ask() const override { return parts_.has_slot(); }
  Bytes ask() override;

 private:
  void start(std::uint64_t);
  void move(std::uint64_t slot);
  void left_memory(std::uint64_t);
  void landed(std::uint64_t slot);
  void acknowledged(std::uint64_t slot);
  void leg_done(std::uint64_t slot);
  void give_back(std::uint64_t slot);

  Sender sender(std::uint64_t slot) const { return engine_.sender(number_, parts_.at(slot).name); }
  topology::Endpoint io() const { return topology::Endpoint::io_cpu(engine_.sip_); }
  const PeerLeg& leg(std::uint64_t slot) const { return request_.legs[parts_.at(slot).leg]; }

  CopyEngine& engine_;
  PeerCopyRequest request_;
  std::uint64_t number_;
  ReadWindow& window_;  // to the SIP of all destinations
  Parts parts_;
  LoneCopy lone_;
  std::size_t unread_ = 0, unwritten_ = 0;  // parts that are asked for
  std::vector<std::uint32_t> unanswered_;   // by leg: its parts that are asked for, one more until all are
  std::size_t open_legs_;
};

}  // namespace kernbench::hardware
