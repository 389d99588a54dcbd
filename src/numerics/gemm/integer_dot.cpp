#include "numerics/gemm/integer_dot.h"

#include <algorithm>

#include "numerics/conversion.h"
#include "numerics/memory/storage.h"

namespace kernbench::numerics {

namespace {

/// Blocks of columns, so that a block of c's row stays in the first-level cache.
constexpr std::int64_t kPanelColumns = 1024;

/// Unsigned, so that it wraps; the bits are those of signed integers.
template <class T>
inline __attribute__((always_inline)) void multiply_rows(std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                                                         const T* b, T* c) {
  for (std::int64_t column = 0; column < n; column += kPanelColumns) {
    const std::int64_t columns = std::min(kPanelColumns, n - column);
    for (std::int64_t i = 0; i < m; ++i) {
      T* __restrict sums = c + i * n + column;
      for (std::int64_t p = 0; p < k; ++p) {
        const T factor = a[i * k + p];
        const T* row = b + p * n + column;
        for (std::int64_t j = 0; j < columns; ++j) sums[j] += factor * row[j];
      }
    }
  }
}

// The same loop: AVX2 multiplies eight 32-bit integers at a time, the baseline has no such instruction.
__attribute__((target("avx2"))) void multiply_rows_avx2(std::int64_t m, std::int64_t n, std::int64_t k,
                                                        const std::uint32_t* a, const std::uint32_t* b,
                                                        std::uint32_t* c) {
  multiply_rows(m, n, k, a, b, c);
}

/// The elements as i32, in `space` unless they are i32 already.
const std::uint32_t* widened(DType type, const std::byte* elements, std::int64_t count, AlignedBytes& space) {
  if (type != DType::i32) {
    space = AlignedBytes(count * item_size(DType::i32));
    convert(DType::i32, space.data(), type, elements, count);
    elements = space.data();
  }
  return reinterpret_cast<const std::uint32_t*>(elements);
}

}  // namespace

void multiply_integers(std::int64_t m, std::int64_t n, std::int64_t k, DType a_type, const std::byte* a, DType b_type,
                       const std::byte* b, std::byte* c) {
  if (a_type == DType::i64) {
    multiply_rows(m, n, k, reinterpret_cast<const std::uint64_t*>(a), reinterpret_cast<const std::uint64_t*>(b),
                  reinterpret_cast<std::uint64_t*>(c));
    return;
  }
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  AlignedBytes a_space, b_space;
  const std::uint32_t* left = widened(a_type, a, m * k, a_space);
  const std::uint32_t* right = widened(b_type, b, k * n, b_space);
  auto* sums = reinterpret_cast<std::uint32_t*>(c);
  if (has_avx2)
    multiply_rows_avx2(m, n, k, left, right, sums);
  else
    multiply_rows(m, n, k, left, right, sums);
}

}  // namespace kernbench::numerics
