// Random numbers of the host API: a function of (seed, position), so that neither device nor placement matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernbench/dtype.h"

namespace kernbench::tensor {

/// Writes elements [first, first + count) of a tensor, in row-major order, in its dtype, to `out`.
using ElementSource = std::function<void(std::int64_t first, std::int64_t count, std::byte* out)>;

/// The state of one fiber's generator: how many numbers of the stream of `seed` have been used.
class Generator {
 public:
  /// PyTorch's default seed.
  static constexpr std::uint64_t kDefaultSeed = 67280421310721u;
  explicit Generator(std::uint64_t seed = kDefaultSeed) : seed_(seed) {}
  void set_seed(std::uint64_t seed) { *this = Generator(seed); }
  std::uint64_t seed() const { return seed_; }

  /// A run of consecutive numbers: those of one tensor.
  struct Draw {
    std::uint64_t seed = 0, offset = 0;
  };
  /// Takes the next `count` numbers.
  Draw take(std::int64_t count) {
    const Draw draw{seed_, offset_};
    offset_ += static_cast<std::uint64_t>(count);
    return draw;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t offset_ = 0;
};

enum class Distribution : std::uint8_t { uniform, normal, integers };

/// What the elements of a tensor become, for whoever makes them: the host, or a device.
struct RandomNumbers {
  const char* name;  // of the launch
  Distribution distribution = Distribution::uniform;
  bool scaled = false;  // to a range, or by a mean and a deviation
  Generator::Draw draw;
  ElementSource elements;
};
/// Uniform numbers in [0, 1), as rand has them.
RandomNumbers uniform_numbers(const char* name, Generator::Draw draw, DType dtype);

/// Elements [first, first + count) of a draw, written as `dtype` (floating-point). Uniform numbers have as many random
/// bits as the type has digits, at most 24, so that none is rounded up to the end of the range.
void fill_uniform(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out);
/// In [from, to), computed in double and rounded once; REQUIRES: from <= to. A range in which the type has no number
/// gives the nearest.
void fill_uniform(Generator::Draw draw, double from, double to, DType dtype, std::int64_t first, std::int64_t count,
                  std::byte* out);
void fill_normal(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out);
/// Whole numbers in [low, high), as any dtype.
void fill_integers(Generator::Draw draw, std::int64_t low, std::int64_t high, DType dtype, std::int64_t first,
                   std::int64_t count, std::byte* out);

}  // namespace kernbench::tensor
