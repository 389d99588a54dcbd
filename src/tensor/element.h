// The bytes of one element.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kernbench/dtype.h"
#include "kernbench/torch/types.h"

namespace kernbench::tensor {

struct Element {
  std::array<std::byte, 8> bytes{};
  std::int64_t size = 0;
  std::span<const std::byte> span() const { return {bytes.data(), static_cast<std::size_t>(size)}; }
};

/// `value` as an element of `dtype`; ValueError when it does not fit.
Element element_of(DType dtype, const torch::Scalar& value);

}  // namespace kernbench::tensor
