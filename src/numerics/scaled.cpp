#include "numerics/scaled.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include "kernbench/float4.h"
#include "kernbench/float8.h"
#include "kernbench/half.h"
#include "numerics/memory/storage.h"

namespace kernbench::numerics {

namespace {

std::uint8_t byte_at(const Operand& operand, std::int64_t lane) {
  return std::to_integer<std::uint8_t>(operand.data()[lane]);
}

std::uint16_t word_at(const Operand& operand, std::int64_t lane) {
  std::uint16_t word = 0;
  std::memcpy(&word, operand.data() + 2 * lane, sizeof(word));
  return word;
}

struct ScaledElementsTask {
  ScaledOperand how;
  Shape shape;  // of the result: a batch, rows and columns
  Operand elements;
  std::optional<Operand> scales;

  void operator()(TileContents& out) const {
    const std::size_t rank = shape.rank();
    const std::int64_t high = shape[rank - 2], wide = shape[rank - 1], batch = shape.numel() / (high * wide);
    const bool masked = elements.has_mask() || (scales && scales->has_mask());
    if (masked) out.sources.assign(static_cast<std::size_t>(shape.numel()), kValid);
    auto* const result = out.as<float>();
    std::int64_t lane = 0;
    for (std::int64_t g = 0; g < batch; ++g) {
      for (std::int64_t i = 0; i < high; ++i) {
        for (std::int64_t j = 0; j < wide; ++j, ++lane) {
          const Place place = place_of(g, i, j, high, wide);
          const std::int64_t scale = scales ? scale_of(g, i, j, high, wide) : 0;
          result[lane] = scales ? element(place) * factor(scale) : element(place);
          if (!masked) continue;
          const SourceId source = elements.source(place.lane);
          out.sources[static_cast<std::size_t>(lane)] = scales ? first_invalid(source, scales->source(scale)) : source;
        }
      }
    }
  }

 private:
  struct Place {
    std::int64_t lane;
    bool second;  // of the two in a byte
  };

  Place place_of(std::int64_t g, std::int64_t i, std::int64_t j, std::int64_t high, std::int64_t wide) const {
    if (!how.packed_along_k) return {(g * high + i) * wide + j, false};
    if (how.packed_along_columns()) return {((g * high + i) * wide + j) / 2, j % 2 == 1};
    return {(g * (high / 2) + i / 2) * wide + j, i % 2 == 1};
  }

  std::int64_t scale_of(std::int64_t g, std::int64_t i, std::int64_t j, std::int64_t high, std::int64_t wide) const {
    const std::int64_t row = how.rows_first ? i : j, k = how.rows_first ? j : i;
    const std::int64_t rows = how.rows_first ? high : wide, length = how.rows_first ? wide : high;
    const std::int64_t block = scale_block(scales->dtype);
    return (g * rows + row) * (length / block) + k / block;
  }

  float element(const Place& place) const {
    switch (how.format) {
      case ScaledFormat::e2m1: {
        const std::uint8_t both = byte_at(elements, place.lane);
        return static_cast<float>(
            float4_e2m1::from_bits(static_cast<std::uint8_t>(place.second ? both >> 4 : both & 15)));
      }
      case ScaledFormat::e4m3:
        return static_cast<float>(float8_e4m3::from_bits(byte_at(elements, place.lane)));
      case ScaledFormat::e5m2:
        return static_cast<float>(float8_e5m2::from_bits(byte_at(elements, place.lane)));
      case ScaledFormat::bf16:
        return static_cast<float>(bfloat16::from_bits(word_at(elements, place.lane)));
      case ScaledFormat::fp16:
        break;
    }
    return static_cast<float>(half::from_bits(word_at(elements, place.lane)));
  }

  float factor(std::int64_t lane) const {
    const std::uint8_t bits = byte_at(*scales, lane);
    if (scales->dtype == DType::u8) return static_cast<float>(float8_e8m0::from_bits(bits));
    return static_cast<float>(float8_e4m3::from_bits(bits));
  }
};

}  // namespace

std::optional<ScaledFormat> scaled_format(std::string_view name) {
  constexpr std::pair<std::string_view, ScaledFormat> kNames[]{{"e2m1", ScaledFormat::e2m1},
                                                               {"e4m3", ScaledFormat::e4m3},
                                                               {"e5m2", ScaledFormat::e5m2},
                                                               {"bf16", ScaledFormat::bf16},
                                                               {"fp16", ScaledFormat::fp16}};
  for (const auto& [known, format] : kNames)
    if (known == name) return format;
  return {};
}

Value scaled_elements(Executor& executor, const Value& x, const Value& scales, const ScaledOperand& operand) {
  Shape shape = x.shape();
  assert(shape.rank() >= 2 && operand.packed_along_k.has_value() == (operand.format == ScaledFormat::e2m1));
  if (operand.packed_along_k) shape[shape.rank() - (operand.packed_along_columns() ? 1 : 2)] *= 2;
  if (left_out(executor, DType::f32, {&x, &scales})) return without_data(DType::f32, shape);
  std::optional<Operand> factors;
  if (scales.defined()) factors.emplace(scales);
  return calculate(executor, DType::f32, shape, {&x, &scales},
                   ScaledElementsTask{operand, shape, Operand(x), std::move(factors)});
}

}  // namespace kernbench::numerics
