// Random numbers of lanes: functions of a seed and an offset alone, as Triton's, whatever program asks.
#pragma once

#include <array>
#include <cstdint>

#include "kernbench/tl/types.h"

namespace kernbench::tl {

/// Philox4x32 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11) with the key `seed`
/// and the counter `offset`, integers of any shape. Triton's bits; where it yields unsigned numbers, these are the i32
/// with the same bits.
inline constexpr int kPhiloxRounds = 10;

/// Random i32 of offset's shape.
Tile randint(std::int64_t seed, const Tile& offset, int rounds = kPhiloxRounds, Where where = Where::current());
/// Four of them for each offset, at hardly more cost: all that one counter yields.
std::array<Tile, 4> randint4x(std::int64_t seed, const Tile& offset, int rounds = kPhiloxRounds,
                              Where where = Where::current());
/// Uniform f32 in [0, 1).
Tile rand(std::int64_t seed, const Tile& offset, int rounds = kPhiloxRounds, Where where = Where::current());
std::array<Tile, 4> rand4x(std::int64_t seed, const Tile& offset, int rounds = kPhiloxRounds,
                           Where where = Where::current());
/// Standard normal f32, by Box and Muller's transformation of two uniform ones.
Tile randn(std::int64_t seed, const Tile& offset, int rounds = kPhiloxRounds, Where where = Where::current());
std::array<Tile, 4> randn4x(std::int64_t seed, const Tile& offset, int rounds = kPhiloxRounds,
                            Where where = Where::current());

}  // namespace kernbench::tl
