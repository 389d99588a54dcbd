// Queues between PEs: which PEs have channels to which, and what the channels are like.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernbench/coordinates.h"
#include "kernbench/units.h"

namespace kernbench {

/// Where a channel's slots lie: in the receiver's queue memory behind the port of its TCM, in its HBM slice, or in the
/// SRAM of its cube.
enum class BufferKind : std::uint8_t { tcm, hbm, sram };

/// What a sender without a free slot does: sleep until a credit wakes it (which takes `pe.ipcq.wake`), or look every
/// `pe.ipcq.poll_interval`.
enum class Backpressure : std::uint8_t { sleep, poll };

/// The figures of a channel.
struct QueueParameters {
  BufferKind buffer_kind = BufferKind::tcm;
  Backpressure backpressure = Backpressure::sleep;
  std::int32_t n_slots = 4;         // assumption: two segments under way and two being taken out
  Bytes slot_size{16384};           // assumption: a tile of 64 x 128 f16; a larger one takes several slots
  Bytes vc_chunk_size{1024};        // largest unit on the way; assumption: that of the network
  Bytes ipcq_credit_size_bytes{8};  // of the message that returns a credit; assumption: the slot's address
  bool operator==(const QueueParameters&) const = default;
};

/// Between which members channels lead; members are counted in their order (of a launch: its programs, ascending).
enum class QueueTopology : std::uint8_t {
  none,       // no channels but those named
  ring_1d,    // member i to i + 1 and to i - 1, and around
  mesh_2d,    // to the neighbours in a mesh of `mesh`
  torus_2d,   // likewise, and around
  all_pairs,  // each to each
};

/// Memory of every member that the others write and read by themselves (tl::put, tl::get), and signal words, which they
/// set or add to and on which it waits (tl::signal, tl::wait_until). All members have as much of both.
struct WindowOptions {
  Bytes bytes{0};                            // of each member's memory; nobody has written it yet at a launch's start
  std::int32_t signals = 0;                  // signal words of each member: 64 bits, 0 at a launch's start
  BufferKind buffer_kind = BufferKind::tcm;  // where the bytes lie
  bool operator==(const WindowOptions&) const = default;
};

/// A set of channels, and a window.
struct QueueOptions {
  QueueTopology topology = QueueTopology::none;
  MeshExtent mesh = {0, 0};  // of mesh_2d and torus_2d; 0 x 0: the mesh in which the members stand
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs = {};  // further channels: from member, to member
  QueueParameters parameters = {};           // of the window: the backpressure says how its programs wait for signals
  std::optional<WindowOptions> window = {};  // none: no one-sided accesses, and no tl::barrier
  bool operator==(const QueueOptions&) const = default;
};

}  // namespace kernbench
