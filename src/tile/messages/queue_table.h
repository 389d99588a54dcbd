// The channels among the programs of a launch (or of several): who is a member, and which channel leads to whom.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ring.h"
#include "hardware/ipcq/channel.h"
#include "kernbench/coordinates.h"
#include "kernbench/queues.h"
#include "kernbench/tl/queues.h"
#include "tile/messages/window_table.h"
#include "topology/spec.h"

namespace kernbench::tile {

/// A channel from one member to another, and what each calls the other.
struct QueueRow {
  std::int32_t from = 0, to = 0;
  tl::Peer::Kind as_receiver = tl::Peer::Kind::member;  // what the sender calls the receiver
  tl::Peer::Kind as_sender = tl::Peer::Kind::member;    // what the receiver calls the sender
  hardware::Channel channel;                            // whoever installs it gives it entries and slots
};

/// A line of a program, good for as long as somebody may ask.
struct Site {
  std::shared_ptr<const std::string> launch;  // its name
  PeCoordinate pe;
  std::int64_t program = 0;
  tl::Where where;
  /// "kernel ring#0 on sip0.cube0.pe1 (program 1), ring.cpp:12"
  std::string text() const;
};

/// A message that nobody has received.
struct SentMessage {
  hardware::CommandName send;
  Site site;
  std::uint64_t tag = 0;
};

class QueueTable {
 public:
  /// The rows that `options` ask for among `members`, in a fixed order: the ring forward and backward, meshes row by
  /// row (east, west, south, north), all pairs by sender, then the named pairs. ValueError for options that do not fit
  /// the members, and members that come twice.
  QueueTable(std::vector<PeCoordinate> members, const QueueOptions& options, const topology::Topology& topology);

  const std::vector<PeCoordinate>& members() const { return members_; }
  std::optional<std::int32_t> index_of(PeCoordinate pe) const;
  const QueueOptions& options() const { return options_; }
  std::vector<QueueRow>& rows() { return rows_; }
  const std::vector<QueueRow>& rows() const { return rows_; }

  /// Null when the set has no window.
  WindowTable* windows() { return windows_ ? &*windows_ : nullptr; }
  /// Whom the member `self` calls `peer`, with or without a channel; absent when nobody is.
  std::optional<std::int32_t> member_called(std::int32_t self, const tl::Peer& peer) const;

  /// The row from (to) the member `self` to (from) `peer`; null when there is none.
  const QueueRow* sending(std::int32_t self, const tl::Peer& peer) const;
  const QueueRow* receiving(std::int32_t self, const tl::Peer& peer) const;
  /// "to ring_next (sip0.cube0.pe1), to member 3 (sip0.cube0.pe3)"; "none".
  std::string text_of(std::int32_t self, bool sends) const;

  /// The place of one of rows().
  std::size_t index_of(const QueueRow& row) const { return static_cast<std::size_t>(&row - rows_.data()); }
  // Messages that have been sent along a row and that no receive has taken.
  void note_sent(std::size_t row, const SentMessage& message) { unreceived_[row].push_back(message); }
  void note_received(std::size_t row, const hardware::CommandName& send);
  void forget_unreceived();
  /// ProgramError ("UnreceivedMessageError") that lists them, if there are any. `receive` is the call that is missing.
  void check_all_received(const char* receive = "tl::recv") const;

 private:
  void add(std::int32_t from, std::int32_t to, tl::Peer::Kind as_receiver, tl::Peer::Kind as_sender);
  void add_ring();
  void add_mesh(const topology::Topology& topology, bool around);
  std::vector<std::int32_t> mesh_order(MeshExtent mesh, const topology::Topology& topology) const;
  MeshExtent mesh_extent(const topology::Topology& topology) const;
  const QueueRow* find(std::int32_t self, const tl::Peer& peer, bool sends) const;
  std::optional<std::int32_t> member_of(std::int32_t self, const tl::Peer& peer) const;

  std::vector<PeCoordinate> members_;
  QueueOptions options_;
  std::map<PeCoordinate, std::int32_t> indices_;
  std::vector<QueueRow> rows_;
  std::optional<WindowTable> windows_;
  std::vector<std::vector<std::size_t>> sends_, receives_;  // rows by member
  std::vector<Ring<SentMessage>> unreceived_;               // by row, in the order in which they were sent
};

/// "ring_next", "member 3", "sip0.cube0.pe1".
std::string to_text(const tl::Peer& peer);

}  // namespace kernbench::tile
