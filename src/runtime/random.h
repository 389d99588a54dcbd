// Random numbers of the host API: a function of (seed, call, element), so that neither device nor placement matters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernbench/dtype.h"

namespace kernbench::runtime {

/// A stream of draws: one per call of a random factory. Element i of draw d depends on (seed, d, i) only.
class Generator {
 public:
  /// PyTorch's default seed.
  static constexpr std::uint64_t kDefaultSeed = 67280421310721u;
  explicit Generator(std::uint64_t seed = kDefaultSeed) : seed_(seed) {}
  void set_seed(std::uint64_t seed) { *this = Generator(seed); }
  std::uint64_t seed() const { return seed_; }

  struct Draw {
    std::uint64_t seed = 0, number = 0;
  };
  /// The next draw; advances the state.
  Draw next() { return {seed_, next_draw_++}; }

 private:
  std::uint64_t seed_;
  std::uint64_t next_draw_ = 0;
};

/// Elements [first, first + count) of a draw, written as `dtype` (floating-point).
void fill_uniform(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out);
void fill_normal(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out);
/// Whole numbers in [low, high), as any dtype.
void fill_integers(Generator::Draw draw, std::int64_t low, std::int64_t high, DType dtype, std::int64_t first,
                   std::int64_t count, std::byte* out);

}  // namespace kernbench::runtime
