// Atomic operations on device memory: read, modify and write in one instant, at the memory.
#pragma once

#include <cstdint>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// How an atomic orders the program's other memory accesses. release: it starts when all earlier ones have finished;
/// acquire: later ones start when it has finished; acq_rel: both.
enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };
/// Among whom. All memories here are coherent at once, so the scope is recorded (for reports and race detection) and
/// changes no time.
enum class Scope : std::uint8_t { pe, cube, sip, system };

struct AtomicOptions {
  Tile mask = {};  // boolean; lanes that are false change nothing, and their old value is invalid
  MemoryOrder order = MemoryOrder::acq_rel;
  Scope scope = Scope::sip;
};

/// Each yields the values from before it. `value` is broadcast to the lanes and cast to the tensor's element type, in
/// which the operation is done (integers wrap). A lane is one indivisible step; lanes that name one element act in
/// row-major order. add, max, min: i32, i64, f32 (add: f16 and bf16 too). and, or, xor: integers and bool.
/// xchg, cas: every type. cas writes `value` where memory equals `compare`, bit for bit.
Tile atomic_add(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_max(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_min(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_and(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_or(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
               Where where = Where::current());
Tile atomic_xor(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_xchg(const PointerTile& pointers, const Operand& value, AtomicOptions options = {},
                 Where where = Where::current());
Tile atomic_cas(const PointerTile& pointers, const Operand& compare, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());

/// The same on one element (a tile of shape {}).
Tile atomic_add(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_max(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_min(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_and(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_or(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
               Where where = Where::current());
Tile atomic_xor(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());
Tile atomic_xchg(const Pointer& pointer, const Operand& value, AtomicOptions options = {},
                 Where where = Where::current());
Tile atomic_cas(const Pointer& pointer, const Operand& compare, const Operand& value, AtomicOptions options = {},
                Where where = Where::current());

}  // namespace kernbench::tl
