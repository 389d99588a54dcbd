// Library kernel: blocks of random numbers, those that the host draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tile/library/view.h"

namespace kernbench::tile::library {

enum class RandomLaw : std::uint8_t { uniform, normal, integers };

/// What the elements of a tensor become. In row-major order element i comes from number offset + i of a stream of
/// Philox4x32-10, in which a counter yields four numbers, or two integers (numerics/philox.h). It is not the stream of
/// tl::rand, which makes one number of each counter.
struct RandomNumbers {
  RandomLaw law = RandomLaw::uniform;
  bool scaled = false;  // to a range, or by a mean and a deviation
  std::uint64_t offset = 0;
  DType dtype = DType::f32;
  /// Writes elements [first, first + count) as `dtype`: what the host has at these places.
  std::function<void(std::int64_t first, std::int64_t count, std::byte* out)> elements = {};
};

/// The elements of `block` of a tensor of `sizes`. Cost: one fuse, of what makes numbers on the vector engine, with the
/// operations of tl::randint4x for each counter that the block needs; a row's first and last counter are made for it
/// alone. Each number: uniform a copy, a shift, a cast and a product, with a range an fma and a minimum besides; normal
/// a copy, a cast, an fma and a product, half of Box and Muller's log, product, root, product, cosine and sine, and
/// with a mean an fma; an integer a copy, and four products and four sums of 32 bits. Then a cast to the type.
tl::Tile random_tile(const RandomNumbers& numbers, const tl::Extents& sizes, const Box& block,
                     tl::Where where = tl::Where::current());

}  // namespace kernbench::tile::library
