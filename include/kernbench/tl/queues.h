// Messages between PEs: a program sends a tile over a channel to another member of its launch's channels.
//
// Which channels there are says torch::LaunchOptions::queues (or, for collectives over several devices, the process
// group). A message is the value of a tile, its element type, and a tag; messages of one channel and tag are received
// in the order in which they were sent. docs/model-engines.md has the laws: a send needs a free slot at the receiver
// for every `slot_size` bytes, and waits for one; a receive waits for its message.
#pragma once

#include <cstdint>

#include "kernbench/coordinates.h"
#include "kernbench/tl/memory.h"
#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// Another member of the channels, as seen by the calling program.
struct Peer {
  enum class Kind : std::uint8_t { member, coordinate, ring_next, ring_previous, north, south, east, west, self };
  Kind kind = Kind::member;
  std::int64_t index = 0;     // of a member
  PeCoordinate coordinate{};  // of its PE
};

/// How many members the channels have, and which of them this program is: its position in their order. ProgramError
/// when the launch has no channels.
std::int64_t num_members(Where where = Where::current());
std::int64_t member_index(Where where = Where::current());

/// A member by its index; the first channel between the two.
Peer member(std::int64_t index);
/// The member on a PE.
Peer peer_at(std::int64_t device, std::int64_t cube, std::int64_t pe);
/// The neighbours in the order of members, and around: in a ring of two both are the same PE, and yet two channels.
/// What is sent to ring_next is received from ring_previous.
Peer ring_next();
Peer ring_previous();
/// The neighbours in a mesh or torus: east is +x, south is +y. What is sent to the east is received from the west.
Peer north();
Peer south();
Peer east();
Peer west();
/// The calling program: nobody has a channel to itself, but a window of its own (tl/windows.h).
Peer self();

/// Sends `value` and returns when it has left this PE (it may still be on its way). It waits for `value`, and for
/// slots. ProgramError when there is no channel to `peer`.
void send(const Tile& value, const Peer& peer, std::uint64_t tag = 0, Where where = Where::current());
/// The same without waiting: the token is done when the message has left. Every token must be waited for.
Token isend(const Tile& value, const Peer& peer, std::uint64_t tag = 0, Where where = Where::current());

/// Receives the first message from `peer` with `tag` and returns when it is in the TCM. Its element type must be
/// `dtype` and its size that of `shape`, else the run ends with a MessageMismatchError that names this line and the
/// send's.
Tile recv(DType dtype, Extents shape, const Peer& peer, std::uint64_t tag = 0, Where where = Where::current());
/// The same without waiting: what uses the tile starts when the message is there.
Tile recv_async(DType dtype, Extents shape, const Peer& peer, std::uint64_t tag = 0, Where where = Where::current());
/// Likewise, but the tile may be used only after its token has been waited for: `auto [tile, token] = irecv(…)`.
AsyncLoad irecv(DType dtype, Extents shape, const Peer& peer, std::uint64_t tag = 0, Where where = Where::current());
/// Receives into a box of a buffer instead, whose element type the message must have. What touches the same elements
/// later starts when the message is there; the token must be waited for all the same.
Token irecv(const Buffer& into, Extents offsets, Extents shape, const Peer& peer, std::uint64_t tag = 0,
            Where where = Where::current());

}  // namespace kernbench::tl
