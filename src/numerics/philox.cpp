#include "numerics/philox.h"

#include <cassert>
#include <cmath>

#include "numerics/portable_math.h"

namespace kernbench::numerics {

namespace {

/// Counter words 2 and 3 say what the numbers are for, so that streams of one seed never share a block.
enum class Purpose : std::uint32_t { uniform, normal, integers };

/// Calls `use(word_index_in_block, block)` for each number of the stream from `offset`, four (or two) to a block.
template <class Use>
void for_each_number(std::size_t count, std::uint64_t seed, std::uint64_t offset, unsigned numbers_per_block,
                     Purpose purpose, const Use& use) {
  const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  PhiloxCounter block{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t position = offset + i;
    const auto lane = static_cast<unsigned>(position % numbers_per_block);
    if (i == 0 || lane == 0) {
      const std::uint64_t index = position / numbers_per_block;
      block = philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                          static_cast<std::uint32_t>(purpose), 0},
                         key);
    }
    use(i, lane, block);
  }
}

}  // namespace

void fill_uniform(std::span<float> out, std::uint64_t seed, std::uint64_t offset) {
  for_each_number(out.size(), seed, offset, 4, Purpose::uniform,
                  [&](std::size_t i, unsigned lane, const PhiloxCounter& block) {
                    out[i] = static_cast<float>(block[lane] >> 8) * 0x1p-24f;
                  });
}

void fill_normal(std::span<float> out, std::uint64_t seed, std::uint64_t offset) {
  for_each_number(out.size(), seed, offset, 4, Purpose::normal,
                  [&](std::size_t i, unsigned lane, const PhiloxCounter& block) {
                    const std::size_t pair = lane & ~1u;
                    const double uniform = (block[pair] + 1.0) * 0x1p-32;  // in (0, 1], so that its logarithm exists
                    const double radius = std::sqrt(-2 * portable_log(uniform));
                    const CosineSine direction = portable_cosine_sine(block[pair + 1] * 0x1p-32);
                    out[i] = static_cast<float>(radius * ((lane & 1) == 0 ? direction.cosine : direction.sine));
                  });
}

void fill_integers(std::span<std::int64_t> out, std::int64_t low, std::int64_t high, std::uint64_t seed,
                   std::uint64_t offset) {
  assert(low < high);
  __extension__ using uint128 = unsigned __int128;
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  for_each_number(out.size(), seed, offset, 2, Purpose::integers,
                  [&](std::size_t i, unsigned lane, const PhiloxCounter& block) {
                    const std::uint64_t word = std::uint64_t{block[2 * lane]} << 32 | block[2 * lane + 1];
                    const auto scaled = static_cast<std::uint64_t>(static_cast<uint128>(word) * range >> 64);
                    out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + scaled);
                  });
}

}  // namespace kernbench::numerics
