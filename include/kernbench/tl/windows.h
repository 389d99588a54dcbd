// One-sided accesses: a program writes and reads the memory of another member of its launch's channels, and signals it,
// without the other one taking part.
//
// torch::LaunchOptions::queues.window gives every member a window: so many bytes, and signal words. The accesses of one
// program go out in program order; without a fence only those that touch the same bytes, one of them writing, keep it
// to their end. docs/model-engines.md has the laws.
#pragma once

#include <cstdint>

#include "kernbench/tl/atomics.h"
#include "kernbench/tl/memory.h"
#include "kernbench/tl/queues.h"
#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// A place in the window of a member.
struct WindowPlace {
  Peer peer;                // any member, self() too
  std::int64_t offset = 0;  // in bytes from the beginning of the window; a multiple of the element's size
};
/// So many bytes from the beginning of the window of `peer`, for which no channel is needed.
WindowPlace window(const Peer& peer, std::int64_t offset = 0);

/// What a signal does to the word.
enum class SignalOperation : std::uint8_t { set, add };
/// What tl::wait_until compares a signal word with, and how: equal, not equal, greater, …
enum class Comparison : std::uint8_t { eq, ne, gt, ge, lt, le };

/// Writes `value` at `to`, row-major and without gaps, and goes on at once; it takes effect when its last byte lands.
/// The room of the tile is free again when that has been acknowledged. OutOfBoundsError when it leaves the window.
void put(const WindowPlace& to, const Tile& value, Where where = Where::current());
/// Reads a tile; what uses it starts when it is there. Bytes that nobody has written are invalid.
Tile get(const WindowPlace& from, DType dtype, Extents shape, Where where = Where::current());
/// A put, and then an update of a signal word of the same member: who sees it sees the bytes (see signal()).
void put_signal(const WindowPlace& to, const Tile& value, std::int64_t index, std::int64_t signal,
                SignalOperation operation = SignalOperation::set, Where where = Where::current());
/// Updates a signal word of `peer`, atomically, behind the loads and stores before it; of earlier puts see fence().
void signal(const Peer& peer, std::int64_t index, std::int64_t value = 1,
            SignalOperation operation = SignalOperation::add, Where where = Where::current());

/// Waits until the own signal word `index` compares with `value`, and returns what it was then. What was put before the
/// signal is there. A wait that nobody can end is a DeadlockError that says who could have.
std::int64_t wait_until(std::int64_t index, Comparison comparison, std::int64_t value, Where where = Where::current());
/// The own signal word now. A program that does nothing but look for ever is found (LivelockError).
std::int64_t signal_value(std::int64_t index, Where where = Where::current());

/// Orders: what this program puts to a member, or signals to it, after the fence starts when all that it has put or
/// signalled to that member before has been acknowledged. It waits for nothing itself.
void fence(Where where = Where::current());
/// Waits until all that this program has put or signalled has been acknowledged, and all its gets are there.
void quiet(Where where = Where::current());

/// A quiet, and then a wait until all members have come here that are on the same PE, cube, SIP, or anywhere, and their
/// stores are done. Members call it equally often for each scope. Who never comes is named by the DeadlockError.
void barrier(Scope scope = Scope::system, Where where = Where::current());

}  // namespace kernbench::tl
