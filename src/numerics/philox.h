// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
// 3", SC'11). Every element of a tensor is a function of (seed, position) alone, so that results do not depend on how
// the work is split.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace kernbench::numerics {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox4x32, of ten rounds unless told otherwise.
constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key, int rounds = 10) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Fills with uniform numbers in [0, 1): multiples of 2^-24. Element i is number `offset + i` of the stream of `seed`.
void fill_uniform(std::span<float> out, std::uint64_t seed, std::uint64_t offset);
/// Fills with standard normal numbers (Box-Muller, in double, rounded to f32). Element i is number `offset + i` of the
/// stream of `seed`.
void fill_normal(std::span<float> out, std::uint64_t seed, std::uint64_t offset);
/// Fills with integers uniform in [low, high). REQUIRES: low < high. The bias is below 2^-32 times the range.
void fill_integers(std::span<std::int64_t> out, std::int64_t low, std::int64_t high, std::uint64_t seed,
                   std::uint64_t offset);

}  // namespace kernbench::numerics
