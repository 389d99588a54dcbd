// Elementwise work on strided host arrays: chunks of the operands are brought into a computation type (f32, f64 or
// 64-bit integers), a plain loop works on them, and the result is converted once to its own type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernbench/dtype.h"
#include "tensor/device_backend.h"
#include "tensor/device_operations.h"
#include "tensor/strided.h"

namespace kernbench::tensor {

/// The type that arithmetic of `compute` is done in: f64, f32 (for all narrower floats) or i64 (integers that wrap when
/// they are stored, and bool as 0 and 1).
DType arithmetic_type(DType compute);

/// One operand: an array of `dtype` that appears with `strides` (in elements), or a number, whose strides are 0.
struct HostArray {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  Extents strides;
  /// A number is rounded to the arithmetic type only; elements are first converted to the type that they are promoted
  /// to.
  bool is_number = false;
  std::array<std::byte, 8> number{};
  const std::byte* at(std::int64_t offset) const {
    return is_number ? number.data() : data + offset * item_size(dtype);
  }
};
/// `operand` as it appears when expanded to `sizes`. The operand must outlive it.
HostArray host_array(const DeviceOperand& operand, std::span<const std::int64_t> sizes);
/// The same but for where a tensor's elements are, so that they need not be anywhere.
HostArray array_without_data(const DeviceOperand& operand, std::span<const std::int64_t> sizes);

/// The most elements that a loop is called for at once; the buffers fit on a fiber's stack.
inline constexpr std::int64_t kHostChunk = 256;
/// Works on `count` elements, all of one arithmetic type but for what the operation says.
using HostLoop = std::function<void(std::span<const std::byte* const> inputs, std::byte* output, std::int64_t count)>;

/// out = loop(inputs), element by element. Input i is brought to the promoted type computes[i], then to its arithmetic
/// type; the loop's output has the arithmetic type of `produced`. `out` may be one of the inputs, exactly.
void run_host_loop(const torch::Tensor& out, DType produced, std::span<const HostArray> inputs,
                   std::span<const DType> computes, const HostLoop& loop);

/// Elements loop(inputs) of type `result`, made when they are asked for: `source` makes those of the inputs that are no
/// numbers, all of which are one tensor of `type`.
ElementSource later(ElementSource source, DType type, std::vector<HostArray> inputs, std::vector<DType> computes,
                    DType produced, DType result, HostLoop loop);

/// Strides that PyTorch gives the result of an elementwise function: the order of the dimensions in memory follows the
/// operands'.
Extents elementwise_strides(std::span<const std::int64_t> sizes, std::span<const HostArray> inputs);

}  // namespace kernbench::tensor
