#include "tensor/random.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "numerics/conversion.h"
#include "numerics/philox.h"

namespace kernbench::tensor {

namespace {

/// Draws in blocks of `T` and converts each block to `dtype`.
template <class T, class Fill>
void fill_blocks(DType type_of_block, DType dtype, std::int64_t first, std::int64_t count, std::byte* out,
                 const Fill& fill) {
  std::array<T, 1024> block;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t n = std::min<std::int64_t>(count - done, static_cast<std::int64_t>(block.size()));
    fill(std::span(block).first(static_cast<std::size_t>(n)), static_cast<std::uint64_t>(first + done));
    numerics::convert(dtype, out + done * item_size(dtype), type_of_block,
                      reinterpret_cast<const std::byte*>(block.data()), n);
    done += n;
  }
}

}  // namespace

void fill_uniform(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out) {
  fill_blocks<float>(DType::f32, dtype, first, count, out, [&](std::span<float> block, std::uint64_t at) {
    numerics::fill_uniform(block, draw.seed, draw.offset + at);
  });
}

void fill_normal(Generator::Draw draw, DType dtype, std::int64_t first, std::int64_t count, std::byte* out) {
  fill_blocks<float>(DType::f32, dtype, first, count, out, [&](std::span<float> block, std::uint64_t at) {
    numerics::fill_normal(block, draw.seed, draw.offset + at);
  });
}

void fill_integers(Generator::Draw draw, std::int64_t low, std::int64_t high, DType dtype, std::int64_t first,
                   std::int64_t count, std::byte* out) {
  fill_blocks<std::int64_t>(DType::i64, dtype, first, count, out, [&](std::span<std::int64_t> block, std::uint64_t at) {
    numerics::fill_integers(block, low, high, draw.seed, draw.offset + at);
  });
}

}  // namespace kernbench::tensor
