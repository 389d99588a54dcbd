// Tensors in the MX formats.
#include "kernbench/torch/mx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernbench/float4.h"
#include "kernbench/float8.h"
#include "kernbench/torch/factories.h"
#include "kernbench/torch/operations.h"
#include "numerics/scaled.h"
#include "tensor/functions/dispatch.h"
#include "tensor/host_call.h"

namespace kernbench::torch::ahbm {

namespace {

using numerics::largest_exponent;
using numerics::ScaledFormat;

constexpr std::int64_t kBlock = numerics::scale_block(kByte);

/// One of the formats of elements.
struct MxFormat {
  ScalarType type;
  std::int64_t in_a_byte;  // elements
  int largest_exponent;
  std::uint8_t (*code)(float value);
  float (*value)(std::uint8_t code);
};

constexpr MxFormat kE2m1{kByte, 2, *largest_exponent(ScaledFormat::e2m1),
                         [](float value) { return float4_e2m1(value).bits; },
                         [](std::uint8_t code) { return static_cast<float>(float4_e2m1::from_bits(code)); }};
constexpr MxFormat kE4m3{kFloat8_e4m3fn, 1, *largest_exponent(ScaledFormat::e4m3),
                         [](float value) { return float8_e4m3(value).bits; },
                         [](std::uint8_t code) { return static_cast<float>(float8_e4m3::from_bits(code)); }};
constexpr MxFormat kE5m2{kFloat8_e5m2, 1, *largest_exponent(ScaledFormat::e5m2),
                         [](float value) { return float8_e5m2(value).bits; },
                         [](std::uint8_t code) { return static_cast<float>(float8_e5m2::from_bits(code)); }};

const MxFormat& format_of(const char* call, std::string_view name) {
  if (name == "e2m1") return kE2m1;
  if (name == "e4m3") return kE4m3;
  if (name == "e5m2") return kE5m2;
  tensor::fail(call, fmt::format("the format is \"{}\"; it must be e2m1, e4m3 or e5m2", name));
}

void check_on_host(const char* call, const Tensor& tensor) {
  if (!tensor.device().is_cpu())
    tensor::fail(call, fmt::format("{} is not on the host; take it there with .cpu()", tensor::describe(tensor)));
}

std::vector<std::int64_t> with_last(const Tensor& like, std::int64_t size) {
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes.back() = size;
  return sizes;
}

/// The scale of a block whose largest magnitude is `largest`.
std::uint8_t scale_of(float largest, const MxFormat& format) {
  constexpr int kBias = 127;
  if (!std::isfinite(largest)) return 255;
  if (largest == 0) return 0;
  return static_cast<std::uint8_t>(std::clamp(std::ilogb(largest) - format.largest_exponent, -kBias, kBias) + kBias);
}

/// The largest magnitude of a block, or the first that is not finite.
float largest_of(const float* values) {
  float largest = 0;
  for (std::int64_t i = 0; i < kBlock; ++i) {
    if (!std::isfinite(values[i])) return values[i];
    largest = std::max(largest, std::abs(values[i]));
  }
  return largest;
}

}  // namespace

std::tuple<Tensor, Tensor> to_mx(const Tensor& x, std::string_view format, Where where) {
  const char* const name = "to_mx";
  const tensor::HostCall here(name, where);
  const MxFormat& how = format_of(name, format);
  tensor::check_floats(name, x);
  check_on_host(name, x);
  if (x.dim() == 0 || x.size(-1) % kBlock != 0) {
    tensor::fail(
        name, fmt::format("blocks of {} elements must divide the last dimension of {}", kBlock, tensor::describe(x)));
  }
  const Tensor values = x.to(kFloat).contiguous();
  const Tensor codes = zeros(with_last(x, x.size(-1) / how.in_a_byte), dtype(how.type)),
               scales = zeros(with_last(x, x.size(-1) / kBlock), dtype(kByte));
  const float* in = values.data_ptr<float>();
  auto* const out = static_cast<std::uint8_t*>(codes.data_ptr());
  auto* const out_scales = scales.data_ptr<std::uint8_t>();
  for (std::int64_t block = 0; block < scales.numel(); ++block, in += kBlock) {
    const std::uint8_t scale = scale_of(largest_of(in), how);
    out_scales[block] = scale;
    if (scale == 255) continue;
    for (std::int64_t i = 0; i < kBlock; ++i) {
      const std::uint8_t code = how.code(std::ldexp(in[i], 127 - scale));
      const std::int64_t place = block * kBlock + i;
      out[place / how.in_a_byte] |= static_cast<std::uint8_t>(place % how.in_a_byte == 1 ? code << 4 : code);
    }
  }
  return {codes, scales};
}

Tensor from_mx(const Tensor& elements, const Tensor& scales, std::string_view format, Where where) {
  const char* const name = "from_mx";
  const tensor::HostCall here(name, where);
  const MxFormat& how = format_of(name, format);
  check_on_host(name, elements);
  check_on_host(name, scales);
  if (elements.scalar_type() != how.type && elements.scalar_type() != kByte)
    tensor::fail_type(name, elements.scalar_type(), "elements have the format's type, or Byte with its bits");
  if (scales.scalar_type() != kByte) tensor::fail_type(name, scales.scalar_type(), "scales are Byte");
  const bool fits = elements.dim() > 0 && elements.size(-1) * how.in_a_byte % kBlock == 0 &&
                    scales.sizes().vec() == with_last(elements, elements.size(-1) * how.in_a_byte / kBlock);
  if (!fits) {
    tensor::fail(name, fmt::format("{} are no scales of blocks of {} for elements {}", tensor::describe(scales), kBlock,
                                   tensor::describe(elements)));
  }
  const Tensor codes = elements.contiguous(), factors = scales.contiguous();
  const Tensor result = zeros(with_last(elements, elements.size(-1) * how.in_a_byte), dtype(kFloat));
  const auto* const in = static_cast<const std::uint8_t*>(codes.data_ptr());
  const auto* const in_scales = factors.data_ptr<std::uint8_t>();
  auto* const out = result.data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const std::uint8_t byte = in[i / how.in_a_byte];
    const auto code = static_cast<std::uint8_t>(i % how.in_a_byte == 1 ? byte >> 4 : byte);
    out[i] = how.value(code) * static_cast<float>(float8_e8m0::from_bits(in_scales[i / kBlock]));
  }
  return result;
}

}  // namespace kernbench::torch::ahbm
