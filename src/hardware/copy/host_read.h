// One copy to the host under way.
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

/// The engine asks the slices for the parts of the legs, as many as the window has room for.
class CopyEngine::HostRead final : public PartReader, public LoneCopy::Reader {
 public:
  HostRead(CopyEngine& engine, CopyRequest request, std::uint64_t number);
  void send_command(std::uint64_t);
  std::uint64_t owner() const { return request_.owner; }
  void drop_payload() { request_.effect = nullptr; }

  Parts& parts() override { return parts_; }
  std::span<const Stage> route(std::uint64_t leg) override;
  Sender first_sender() const override { return engine_.sender(number_, 0); }
  void append_state(std::vector<std::int64_t>& state) const override;
  bool has_more() const override { return !parts_.all_taken(); }
  bool may_ask() const override { return parts_.has_slot(); }
  Bytes ask() override;

 private:
  void start(std::uint64_t);
  void read(std::uint64_t slot);
  void left_memory(std::uint64_t);
  void arrived(std::uint64_t slot);

  Sender sender(std::uint64_t slot) const { return engine_.sender(number_, parts_.at(slot).name); }
  PeCoordinate slice(std::uint64_t slot) const { return request_.legs[parts_.at(slot).leg].slice; }

  CopyEngine& engine_;
  CopyRequest request_;
  std::uint64_t number_;
  ReadWindow& window_;
  Parts parts_;
  LoneCopy lone_;
  std::size_t unread_ = 0, under_way_ = 0;  // parts that are asked for
};

}  // namespace kernbench::hardware
