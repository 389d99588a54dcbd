// The loops of the functions that take numbers of their own.
#include <array>
#include <type_traits>

#include "numerics/compositions.h"
#include "numerics/kernel_loops.h"

namespace kernbench::numerics {

namespace {

template <class T, Composition kKind>
ComposedKernel loop_of(const std::array<double, 3>& numbers) {
  return [numbers](std::span<const std::byte* const> inputs, std::byte* out, std::int64_t count) {
    constexpr std::size_t kOperands = operand_count(kKind);
    auto* result = reinterpret_cast<T*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
      std::array<T, kOperands> x;
      for (std::size_t k = 0; k < kOperands; ++k) x[k] = reinterpret_cast<const T*>(inputs[k])[i];
      result[i] = canonical(composed<NumberMath<T>, kKind>(numbers, x.data()));
    }
  };
}

}  // namespace

ComposedKernel composed_kernel(const ComposedOperation& operation, DType computation) {
  // Products of integers wrap, which unsigned ones do.
  if (computation == DType::i64 && operation.kind == Composition::power)
    return loop_of<std::uint64_t, Composition::power>(operation.numbers);
  return visit_composition(operation.kind, [&](auto kind) -> ComposedKernel {
    if (computation == DType::f32) return loop_of<float, kind.value>(operation.numbers);
    if (computation == DType::f64) return loop_of<double, kind.value>(operation.numbers);
    return nullptr;
  });
}

}  // namespace kernbench::numerics
